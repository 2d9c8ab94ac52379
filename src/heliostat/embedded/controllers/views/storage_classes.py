"""StorageClasses: who provides volumes, and when."""

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

STORAGE_CLASS = ResourceType("storage.k8s.io/v1", "StorageClass", "storageclasses", is_namespaced=False)


class StorageClass(Object, frozen=True, rename="camel"):
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"

    @property
    def waits_for_consumer(self) -> bool:
        return self.volume_binding_mode == "WaitForFirstConsumer"


STORAGE_CLASSES: CachedKind[StorageClass] = CachedKind(STORAGE_CLASS, StorageClass)
