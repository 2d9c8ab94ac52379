"""``heliostat expose``: a RayService, or a Gateway of the local node, at an address of this machine.

Behind a Gateway of the local node it is the Gateway that listens there. Otherwise each connection goes to a Pod that
the serve Service would send it to at that moment, so during an upgrade new ones follow the service to its next cluster.
Where requests move in steps there is no such Service, but one for each cluster: then it is a Pod of the cluster that
gets most of them.
"""

import argparse
import itertools

from heliostat.cli import exposed_gateways
from heliostat.cli.addresses import Lead, at_an_address, open_in_background, stay, wait_until_gone
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.forwarding import HOST, FindPort, PodPort
from heliostat.cli.objects_meant import add_file_flag, take_words
from heliostat.cli.tcp_ports import parse_port
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.desired.rayservice.names import cluster_serve_service_name
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.local.gateway_address import find_gateway, open_gateway_address
from heliostat.local.session import Session
from heliostat.local.ways import SERVICE
from heliostat.operator.kinds import RAY_SERVICE
from heliostat.plan.rayservice.endpoints import SERVICE_OF_SLICE
from heliostat.plan.rayservice.observed import ACTIVE, PENDING

USUAL_PORT = 8000
PORT_NAME = "serve"
ENDPOINT_SLICE = ResourceType("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
_KINDS = ("rayservice", "rayservices", "rayservice.ray.io", "rayservices.ray.io")


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    options.target = "/".join(take_words(options, (RAY_SERVICE.kind, "Gateway")))
    options.name = _name_of(options.target)
    if _kind_of(options.target) in exposed_gateways.KINDS:
        stays = options.background
        return run_on_cluster(
            options, lambda cluster: exposed_gateways.expose_gateway(cluster, options.name, options.port, stays=stays)
        )
    return run_on_cluster(options, lambda cluster: _expose(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat expose",
        description="Make a RayService, or a Gateway of the local node, reachable at an address of this machine"
        " until Ctrl-C. On a local cluster, --background lets the address stay for as long as the service does.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "target", nargs="*", metavar="TARGET", help="a name, rayservice/NAME, gateway/NAME, or a file with one"
    )
    add_file_flag(parser)
    parser.add_argument(
        "--port", type=parse_port, help=f"the port on {HOST} ({USUAL_PORT}, or any free one if it is taken)"
    )
    parser.add_argument("--background", action="store_true", help="do not wait here; the address stays")
    parser.add_argument("--stay", action="store_true", help=argparse.SUPPRESS)  # what --background starts
    add_cluster_flags(parser)
    return parser.parse_args(arguments)


def _name_of(target: str) -> str:
    kind, slash, name = target.rpartition("/")
    if (slash and kind.lower() not in (*_KINDS, *exposed_gateways.KINDS)) or not name:
        raise CommandError(
            f"{target!r}: a RayService or a Gateway can be exposed; write NAME, rayservice/NAME or gateway/NAME"
        )
    return name


def _kind_of(target: str) -> str:
    return target.rpartition("/")[0].lower()


async def _expose(cluster: Cluster, options: argparse.Namespace) -> int:
    tree = await cluster.fetch_object(RAY_SERVICE, options.name)
    if cluster.local is not None and not options.stay:
        session = Session(cluster.transport, cluster.client)
        gateway = await find_gateway(session, tree)
        if gateway is not None:
            return _tell(options, await open_gateway_address(session, gateway, options.port or 0))
    lead = Lead(
        resource=RAY_SERVICE,
        tree=tree,
        find=build_service_finder(cluster, tree),
        usual_port=USUAL_PORT,
        way=SERVICE,
    )
    if options.background:
        print(f"RayService {options.name} answers at {await open_in_background(cluster, lead)}", flush=True)
        return 0
    if not options.stay:
        await lead.find()  # raises what is in the way
    async with at_an_address(cluster, lead.find, USUAL_PORT, options.port) as port:
        if options.stay and cluster.local is not None:
            return await stay(cluster, cluster.local, lead, port)
        print(f"RayService {options.name} answers at http://{HOST}:{port} (until Ctrl-C)", flush=True)
        return await wait_until_gone(cluster, lead)


def _tell(options: argparse.Namespace, address: str | None) -> int:
    """Of an address that its Gateway listens at."""
    if address is None:
        gateway = f"gateway/{options.name}-gateway"
        raise CommandError(f"the Gateway has opened no address; heliostat get {gateway} -o yaml tells why", 1)
    print(f"RayService {options.name} answers at {address} (for as long as its Gateway is there)", flush=True)
    return 0


def build_service_finder(cluster: Cluster, service: JsonObject) -> FindPort:
    """Pods that are ready for requests take turns."""
    namespace, name = service["metadata"]["namespace"], service["metadata"]["name"]
    users = ((service["spec"].get("serveService") or {}).get("metadata") or {}).get("name")
    turns = itertools.count()

    async def find_behind(serve_service: str) -> list[tuple[str, int]]:
        selector = f"{SERVICE_OF_SLICE}={serve_service}"
        slices = await cluster.fetch_list(ENDPOINT_SLICE, namespace, label_selector=selector)
        return sorted({place for each in slices for place in _places(each)})

    async def find() -> PodPort:
        found = await find_behind(users or f"{name}-serve-svc")
        if not found:
            busiest = _find_busiest(await cluster.fetch_object(RAY_SERVICE, name, namespace))
            found = await find_behind(cluster_serve_service_name(busiest)) if busiest else []
        if not found:
            raise CommandError(
                f"no Pod of RayService {name} takes requests now; heliostat explain rayservice/{name} tells why", 1
            )
        pod, port = found[next(turns) % len(found)]
        return PodPort(namespace, pod, port)

    return find


def _find_busiest(service: JsonObject) -> str:
    """The cluster that gets most requests; empty without one that gets some."""
    slots = ((service.get("status") or {}).get(slot) or {} for slot in (ACTIVE, PENDING))
    shares = {str(slot.get("rayClusterName")): slot.get("trafficRoutedPercent") or 0 for slot in slots}
    busiest = max(shares, key=lambda cluster: shares[cluster])
    return busiest if shares[busiest] else ""


def _places(slice_: JsonObject) -> list[tuple[str, int]]:
    ports = sorted(slice_.get("ports") or (), key=lambda port: port.get("name") != PORT_NAME)
    ready = (each for each in slice_.get("endpoints") or () if (each.get("conditions") or {}).get("ready"))
    names = [(each.get("targetRef") or {}).get("name") for each in ready]
    return [(str(name), int(ports[0]["port"])) for name in names if name and ports]
