"""``heliostat get -w``: tables that follow what is there, and a RayService with both of its clusters.

On a terminal they are written over; elsewhere each line is written when it is new.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.get import Wish
from heliostat.cli.run_service import show_sides
from heliostat.local.service_following import ServiceWatcher
from heliostat.local.session import Session
from heliostat.local.view import View, open_view
from heliostat.operator.kinds import RAY_SERVICE
from heliostat.runtime.errors import UnavailableError

_POLL_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0  # a server that is away comes back


async def watch(cluster: Cluster, wishes: Sequence[Wish], fetch_lines: Callable[[], Awaitable[list[str]]]) -> int:
    """Until Ctrl-C, or until a RayService that is shown alone is gone."""
    view = open_view(sys.stdout)
    try:
        if len(wishes) == 1 and wishes[0].resource == RAY_SERVICE and len(wishes[0].names) == 1:
            return await _watch_service(cluster, wishes[0], view)
        return await _watch_lines(fetch_lines, view)
    finally:
        view.done()


async def _watch_service(cluster: Cluster, wish: Wish, view: View) -> int:
    service = await cluster.fetch_object(RAY_SERVICE, wish.names[0], wish.namespace)
    watcher = ServiceWatcher(Session(cluster.transport, cluster.client, _PATIENCE_SECONDS))
    show, shown = show_sides(view), None
    while (seen := await watcher.look(service)) is not None:
        if seen.picture != shown:
            shown = seen.picture
            show(shown)
        await asyncio.sleep(_POLL_SECONDS)
    view.done()
    view.note(f"RayService {wish.names[0]} is gone")
    return 0


async def _watch_lines(fetch_lines: Callable[[], Awaitable[list[str]]], view: View) -> int:
    """What cannot be reached for a while stays as it was."""
    shown: list[str] | None = None
    while True:
        try:
            lines = await fetch_lines()
        except UnavailableError:
            lines = shown if shown is not None else []
        if lines != shown:
            shown = lines
            view.show(lines or ["nothing is there yet"])
        await asyncio.sleep(_POLL_SECONDS)
