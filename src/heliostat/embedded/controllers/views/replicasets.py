"""ReplicaSets as their controller and that of Deployments see them."""

from typing import Any

from msgspec import Struct

from heliostat.embedded.controllers.views.workload_conditions import Conditions
from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

REPLICA_SET = ResourceType("apps/v1", "ReplicaSet", "replicasets")


class ReplicaSetSpec(Struct, frozen=True, rename="camel"):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: dict[str, Any] | None = None
    template: dict[str, Any] = {}


class ReplicaSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: Conditions = ()


class ReplicaSet(Object, frozen=True, rename="camel"):
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


REPLICA_SETS: CachedKind[ReplicaSet] = CachedKind(REPLICA_SET, ReplicaSet)
