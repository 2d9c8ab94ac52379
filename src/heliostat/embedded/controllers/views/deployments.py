"""Deployments as their controller sees them."""

from typing import Any

from msgspec import Struct

from heliostat.embedded.controllers.views.workload_conditions import Conditions
from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

DEPLOYMENT = ResourceType("apps/v1", "Deployment", "deployments")


class RollingUpdate(Struct, frozen=True, rename="camel"):
    max_unavailable: int | str = 0
    max_surge: int | str = 0


class Strategy(Struct, frozen=True, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Struct, frozen=True, rename="camel"):
    replicas: int = 1
    selector: dict[str, Any] | None = None
    template: dict[str, Any] = {}
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    paused: bool = False
    progress_deadline_seconds: int | None = None


class DeploymentStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    conditions: Conditions = ()
    collision_count: int | None = None


class Deployment(Object, frozen=True, rename="camel"):
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


DEPLOYMENTS: CachedKind[Deployment] = CachedKind(DEPLOYMENT, Deployment)
