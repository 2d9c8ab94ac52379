"""Namespaces as their controller sees them."""

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

NAMESPACE = ResourceType("v1", "Namespace", "namespaces", is_namespaced=False)


class NamespaceSpec(Struct, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class NamespaceStatus(Struct, frozen=True):
    phase: str = ""
    conditions: tuple[NamespaceCondition, ...] = ()


class Namespace(Object, frozen=True):
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


NAMESPACES: CachedKind[Namespace] = CachedKind(NAMESPACE, Namespace)
