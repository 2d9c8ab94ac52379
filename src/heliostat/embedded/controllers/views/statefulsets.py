"""StatefulSets as their controller sees them."""

from typing import Any

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

STATEFUL_SET = ResourceType("apps/v1", "StatefulSet", "statefulsets")


class Ordinals(Struct, frozen=True):
    start: int = 0


class RollingUpdate(Struct, frozen=True):
    partition: int = 0


class UpdateStrategy(Struct, frozen=True, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class StatefulSetSpec(Struct, frozen=True, rename="camel"):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: dict[str, Any] | None = None
    template: dict[str, Any] = {}
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy()
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[dict[str, Any], ...] = ()


class StatefulSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: int = 0


class StatefulSet(Object, frozen=True, rename="camel"):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


STATEFUL_SETS: CachedKind[StatefulSet] = CachedKind(STATEFUL_SET, StatefulSet)
