"""``heliostat dashboard``: the dashboard of a RayCluster at an address of this machine.

Ray itself prints an address inside the cluster, which a browser cannot reach.
"""

import argparse
import asyncio
import os
import sys

from heliostat.cli.addresses import Lead, at_an_address, open_in_background, stay, wait_until_gone
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.forwarding import HOST, FindPort, PodPort
from heliostat.cli.objects_meant import add_file_flag, take_words
from heliostat.cli.pods_meant import fetch_pod
from heliostat.cli.tcp_ports import parse_port
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.jsontree import JsonObject
from heliostat.local.ways import DASHBOARD, find_way
from heliostat.operator.kinds import RAY_CLUSTER

USUAL_PORT = 8265
PORT_NAME = "dashboard"
_KINDS = ("raycluster", "rayclusters", "raycluster.ray.io", "rayclusters.ray.io")


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    options.name = _name_of("/".join(take_words(options, (RAY_CLUSTER.kind,))))
    return run_on_cluster(options, lambda cluster: _open(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat dashboard",
        description="Open the dashboard of a RayCluster: an address on this machine leads to it until Ctrl-C, and a"
        " browser is opened where there is one. On a local cluster, --background lets the address stay for as long as"
        " the cluster does.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "target", nargs="*", metavar="RAYCLUSTER|FILE", help="a name, raycluster/NAME, or a file with one"
    )
    add_file_flag(parser)
    parser.add_argument(
        "--port", type=parse_port, help=f"the port on {HOST} ({USUAL_PORT}, or any free one if it is taken)"
    )
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
    lead = Lead(
        resource=RAY_CLUSTER,
        tree=await cluster.fetch_object(RAY_CLUSTER, options.name),
        find=build_finder(cluster, options.name),
        usual_port=USUAL_PORT,
        way=DASHBOARD,
    )
    if options.background:
        return _tell(await open_in_background(cluster, lead), options)
    if cluster.local is not None and not options.stay and options.port is None:
        way = await asyncio.to_thread(find_way, cluster.local, cluster.namespace, options.name)
        if way is not None:
            return _tell(way.address, options)
    return await _serve(cluster, lead, options)


def _tell(address: str, options: argparse.Namespace) -> int:
    """One that stays."""
    print(f"dashboard of RayCluster {options.name}: {address}", flush=True)
    _browse(address, options)
    return 0


async def _serve(cluster: Cluster, lead: Lead, options: argparse.Namespace) -> int:
    if not options.stay:
        await lead.find()  # raises what is in the way
    async with at_an_address(cluster, lead.find, USUAL_PORT, options.port) as port:
        if options.stay and cluster.local is not None:
            return await stay(cluster, cluster.local, lead, port)
        address = f"http://{HOST}:{port}"
        print(f"dashboard of RayCluster {options.name}: {address} (until Ctrl-C)", flush=True)
        _browse(address, options)
        return await wait_until_gone(cluster, lead)


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
