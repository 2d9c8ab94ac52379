"""What an implementation of the Gateway API would do, as the flows were recorded: all are accepted within 2 s."""

import asyncio

from conformance.operator.administrator import Administrator
from conformance.operator.foreign_kinds import GATEWAY, HTTP_ROUTE
from heliostat.kube.conditions import build_condition, get_condition
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.errors import ApiError

LOOK_SECONDS = 1.0
CONTROLLER = "tests.heliostat.dev/gateway"
_SINCE = "2027-01-01T00:00:00Z"


async def serve_gateways(admin: Administrator) -> None:
    """For ever."""
    while True:
        for resource in (GATEWAY, HTTP_ROUTE):
            for tree in await admin.items(resource):
                if not _is_seen(tree):
                    await _accept(admin, resource, tree)
        await asyncio.sleep(LOOK_SECONDS)


def _is_seen(tree: JsonObject) -> bool:
    status = tree.get("status") or {}
    parents = status.get("parents") or [status]
    accepted = get_condition(parents[0].get("conditions"), "Accepted") or {}
    return bool(accepted.get("observedGeneration") == tree["metadata"]["generation"])


async def _accept(admin: Administrator, resource: ResourceType, tree: JsonObject) -> None:
    metadata = tree["metadata"]
    second = "Programmed" if resource == GATEWAY else "ResolvedRefs"
    conditions = [
        build_condition(type_, "True", type_, "", metadata["generation"]) | {"lastTransitionTime": _SINCE}
        for type_ in ("Accepted", second)
    ]
    status: JsonObject = {"conditions": conditions}
    if resource == HTTP_ROUTE:
        parents = tree["spec"]["parentRefs"]
        status = {
            "parents": [
                {"parentRef": parent, "controllerName": CONTROLLER, "conditions": conditions} for parent in parents
            ]
        }
    try:
        await admin.merge(resource, metadata["namespace"], metadata["name"], {"status": status}, "status")
    except ApiError:
        return  # its namespace is going, or it changed meanwhile; the next look tells
