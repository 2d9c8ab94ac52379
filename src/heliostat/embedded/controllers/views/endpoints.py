"""Endpoints of the core group: the older form of what EndpointSlices tell."""

from typing import Any

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

ENDPOINTS_TYPE = ResourceType("v1", "Endpoints", "endpoints")


class Endpoints(Object, frozen=True, rename="camel"):
    subsets: tuple[dict[str, Any], ...] | None = None


ENDPOINTS: CachedKind[Endpoints] = CachedKind(ENDPOINTS_TYPE, Endpoints)
