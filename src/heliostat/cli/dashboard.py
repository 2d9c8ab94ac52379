"""``heliostat dashboard``: the dashboard of a RayCluster at an address of this machine.

Ray itself prints an address inside the cluster, which a browser cannot reach.
"""

import argparse
import asyncio
import errno
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.forwarding import HOST, FindPort, PodPort, forwarded
from heliostat.cli.pods_meant import fetch_pod
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.jsontree import JsonObject
from heliostat.local.dashboards import find_way, note_way, open_way
from heliostat.local.state import State
from heliostat.operator.kinds import RAY_CLUSTER
from heliostat.runtime.errors import ApiError, NotFoundError

USUAL_PORT = 8265
PORT_NAME = "dashboard"
_KINDS = ("raycluster", "rayclusters", "raycluster.ray.io", "rayclusters.ray.io")
_LOOK_SECONDS = 2.0


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    options.name = _name_of(options.target)
    return run_on_cluster(options, lambda cluster: _open(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat dashboard",
        description="Open the dashboard of a RayCluster: an address on this machine leads to it until Ctrl-C, and a"
        " browser is opened where there is one. On a local cluster, --background lets the address stay for as long as"
        " the cluster does.",
        allow_abbrev=False,
    )
    parser.add_argument("target", metavar="RAYCLUSTER", help="a name, or raycluster/NAME")
    parser.add_argument("--port", type=int, help=f"the port on {HOST} ({USUAL_PORT}, or any free one if it is taken)")
    parser.add_argument("--no-browser", action="store_true", help="print the address alone")
    parser.add_argument("--background", action="store_true", help="do not wait here; the address stays")
    parser.add_argument("--stay", action="store_true", help=argparse.SUPPRESS)  # what --background starts
    add_cluster_flags(parser)
    return parser.parse_args(arguments)


def _name_of(target: str) -> str:
    kind, slash, name = target.rpartition("/")
    if (slash and kind.lower() not in _KINDS) or not name:
        raise CommandError(f"{target!r}: a RayCluster has a dashboard; write NAME or raycluster/NAME")
    return name


async def _open(cluster: Cluster, options: argparse.Namespace) -> int:
    tree = await cluster.fetch_object(RAY_CLUSTER, options.name)
    if options.background or (cluster.local is not None and not options.stay and options.port is None):
        return await _use_way(cluster, tree, options)
    return await _serve(cluster, tree, options)


async def _use_way(cluster: Cluster, tree: JsonObject, options: argparse.Namespace) -> int:
    """One that stays, if there is one or it is asked for; else serve it here."""
    state, place = cluster.local, (cluster.namespace, options.name)
    if state is None:
        raise CommandError("--background is for a local cluster; without it the address lasts until Ctrl-C", 1)
    way = await asyncio.to_thread(open_way if options.background else find_way, state, *place)
    if way is None and options.background:
        raise CommandError(f"the dashboard could not be opened; see {state.logs / 'dashboards.log'}", 1)
    if way is None:
        return await _serve(cluster, tree, options)
    print(f"dashboard of RayCluster {options.name}: {way.address}", flush=True)
    _browse(way.address, options)
    return 0


async def _serve(cluster: Cluster, tree: JsonObject, options: argparse.Namespace) -> int:
    find = build_finder(cluster, options.name)
    if not options.stay:
        await find()  # raises what is in the way
    async with at_an_address(cluster, find, options.port) as port:
        return await _wait(cluster, tree, options, port)


@asynccontextmanager
async def at_an_address(cluster: Cluster, find: FindPort, wanted: int | None = None) -> AsyncIterator[int]:
    """The port that leads there for so long: the usual one, or any free one if that is taken. Raises CommandError."""
    async with AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(forwarded(cluster, find, USUAL_PORT if wanted is None else wanted))
        except OSError as error:
            if wanted is not None or error.errno != errno.EADDRINUSE:
                why = os.strerror(error.errno) if error.errno else str(error)
                raise CommandError(f"cannot listen on {HOST}:{wanted}: {why}; --port names another", 1) from None
            port = await stack.enter_async_context(forwarded(cluster, find, 0))
        yield port


async def _wait(cluster: Cluster, tree: JsonObject, options: argparse.Namespace, port: int) -> int:
    if options.stay and cluster.local is not None:
        return await _stay(cluster, cluster.local, tree, port)
    address = f"http://{HOST}:{port}"
    print(f"dashboard of RayCluster {options.name}: {address} (until Ctrl-C)", flush=True)
    _browse(address, options)
    return await _wait_until_gone(cluster, tree)


async def _stay(cluster: Cluster, state: State, tree: JsonObject, port: int) -> int:
    """Until the cluster or the supervisor is gone, whichever is first."""
    status = state.read_status()
    file = note_way(state, cluster.namespace, tree["metadata"]["name"], port)
    gone = asyncio.create_task(_wait_until_gone(cluster, tree))
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


async def _wait_until_gone(cluster: Cluster, tree: JsonObject) -> int:
    name, uid = tree["metadata"]["name"], tree["metadata"]["uid"]
    while await _is_there(cluster, name, uid):
        await asyncio.sleep(_LOOK_SECONDS)
    print(f"RayCluster {name} is gone", file=sys.stderr)
    return 0


async def _is_there(cluster: Cluster, name: str, uid: str) -> bool:
    try:
        found = await cluster.client.get(RAY_CLUSTER, cluster.namespace, name)
    except NotFoundError:
        return False
    except ApiError:
        return True  # a server that is away says nothing about it
    return uid.encode() in found


def build_finder(cluster: Cluster, name: str) -> FindPort:
    async def find() -> PodPort:
        head = await fetch_pod(cluster, f"raycluster/{name}")
        return PodPort(head["metadata"]["namespace"], head["metadata"]["name"], _port_of(head))

    return find


def _port_of(head: JsonObject) -> int:
    ports = (port for container in head["spec"]["containers"] for port in container.get("ports") or ())
    return next((int(port["containerPort"]) for port in ports if port.get("name") == PORT_NAME), USUAL_PORT)


def _browse(address: str, options: argparse.Namespace) -> None:
    """Where somebody sits in front of a screen."""
    has_screen = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if has_screen and sys.stdout.isatty() and not options.no_browser:
        import webbrowser

        webbrowser.open(address)
