"""How many Pods answer for a RayService: what its EndpointSlices say (rayservice.md §10)."""

from collections.abc import Iterable
from typing import Any

from heliostat.api.markers import JsonObject

SERVICE_OF_SLICE = "kubernetes.io/service-name"


def count_ready(slices: Iterable[Iterable[JsonObject]]) -> int:
    """Each Pod once, whatever addresses it has; one that nobody called ready is not. Takes the endpoints of slices."""
    uids = {_uid_of(endpoint) for endpoints in slices for endpoint in endpoints if _is_ready(endpoint)}
    return len(uids - {""})


def _is_ready(endpoint: JsonObject) -> bool:
    conditions: Any = endpoint.get("conditions") or {}
    return conditions.get("ready") is True


def _uid_of(endpoint: JsonObject) -> str:
    return str((endpoint.get("targetRef") or {}).get("uid") or "")
