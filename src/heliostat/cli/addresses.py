"""A local port that is forwarded to a Pod, and who serves it: this process until Ctrl-C, or one in the
background until what it leads to is gone."""

import asyncio
import errno
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from msgspec import Struct

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.forwarding import HOST, FindPort, forwarded
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.local.state import State
from heliostat.local.ways import WayKind, log_file, note_way, open_way
from heliostat.runtime.errors import ApiError, NotFoundError

_LOOK_SECONDS = 2.0


class Lead(Struct, frozen=True, kw_only=True):
    """To what an address leads."""

    resource: ResourceType
    tree: JsonObject
    find: FindPort
    usual_port: int
    way: WayKind

    @property
    def name(self) -> str:
        return str(self.tree["metadata"]["name"])


@asynccontextmanager
async def at_an_address(
    cluster: Cluster, find: FindPort, usual_port: int, wanted: int | None = None
) -> AsyncIterator[int]:
    """The port that leads there for so long: the usual one, or any free one if that is taken. Raises CommandError."""
    async with AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(forwarded(cluster, find, usual_port if wanted is None else wanted))
        except OSError as error:
            if wanted is not None or error.errno != errno.EADDRINUSE:
                why = os.strerror(error.errno) if error.errno else str(error)
                raise CommandError(f"cannot listen on {HOST}:{wanted}: {why}; --port names another", 1) from None
            port = await stack.enter_async_context(forwarded(cluster, find, 0))
        yield port


async def open_in_background(cluster: Cluster, lead: Lead) -> str:
    """The address. Raises CommandError."""
    state = cluster.local
    if state is None:
        raise CommandError("--background is for a local cluster; without it the address lasts until Ctrl-C", 1)
    way = await asyncio.to_thread(open_way, state, cluster.namespace, lead.name, lead.way)
    if way is None:
        raise CommandError(f"the address could not be opened; see {log_file(state, lead.way)}", 1)
    return way.address


async def stay(cluster: Cluster, state: State, lead: Lead, port: int) -> int:
    """Until what it leads to or the supervisor is gone, whichever is first."""
    status = state.read_status()
    file = note_way(state, cluster.namespace, lead.name, port, lead.way)
    gone = asyncio.create_task(wait_until_gone(cluster, lead))
    stopped = asyncio.create_task(_wait_for_end(status.pid if status is not None else 0))
    await asyncio.wait((gone, stopped), return_when=asyncio.FIRST_COMPLETED)
    with suppress(OSError):
        file.unlink()
    return 0


async def _wait_for_end(pid: int) -> None:
    """Of a process that is not our child."""
    ended = asyncio.Event()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    asyncio.get_running_loop().add_reader(descriptor, ended.set)
    await ended.wait()


async def wait_until_gone(cluster: Cluster, lead: Lead) -> int:
    while await _is_there(cluster, lead):
        await asyncio.sleep(_LOOK_SECONDS)
    print(f"{lead.resource.kind} {lead.name} is gone", file=sys.stderr)
    return 0


async def _is_there(cluster: Cluster, lead: Lead) -> bool:
    try:
        found = await cluster.client.get(lead.resource, cluster.namespace, lead.name)
    except NotFoundError:
        return False
    except ApiError:
        return True  # a server that is away says nothing about it
    return str(lead.tree["metadata"]["uid"]).encode() in found
