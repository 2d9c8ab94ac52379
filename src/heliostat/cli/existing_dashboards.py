"""The dashboards of RayClusters that are there when ``heliostat up`` has started, at addresses of this machine."""

import asyncio
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.local.session import open_session
from heliostat.local.state import State
from heliostat.local.ways import open_way
from heliostat.operator.kinds import RAY_CLUSTER
from heliostat.runtime.connection import AccessError
from heliostat.runtime.errors import ApiError

_SECONDS = 10.0
_MOST = 5  # each is a process


def open_dashboards(state: State) -> Iterator[tuple[str, str]]:
    """Name and address, or the command that opens it."""
    clusters = asyncio.run(_fetch_clusters(state))
    for number, cluster in enumerate(clusters):
        namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
        way = open_way(state, namespace, name) if number < _MOST else None
        yield name, way.address if way is not None else f"heliostat dashboard {name} -n {namespace}"


async def _fetch_clusters(state: State) -> list[JsonObject]:
    try:
        async with open_session(state.kubeconfig, _SECONDS) as session:
            found = await session.list_in(RAY_CLUSTER, "")
    except (ApiError, AccessError):
        return []
    return [cluster for cluster in found if not cluster["spec"].get("suspend")]
