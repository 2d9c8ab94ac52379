"""PersistentVolumes: what there is, and who has it."""

from typing import Any

from msgspec import Struct

from heliostat.kube.objects import Key, Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

VOLUME = ResourceType("v1", "PersistentVolume", "persistentvolumes", is_namespaced=False)


class ClaimRef(Struct, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class VolumeSpec(Struct, frozen=True, rename="camel"):
    capacity: dict[str, str | int] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimRef | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    host_path: dict[str, Any] | None = None


class VolumeStatus(Struct, frozen=True):
    phase: str = ""
    message: str = ""


class Volume(Object, frozen=True, rename="camel"):
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


VOLUMES: CachedKind[Volume] = CachedKind(VOLUME, Volume)
