"""How a Gateway is reached: the Service that gives it an address and a name in the cluster, and the port of the machine
that its annotation asks for. Pure.

The Service has no selector: the gateway itself listens at its address. It is called what the Gateway API asks for
(GEP-1762), so a Gateway that changes its class gets another one.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.gateway.conditions import wanted_ports
from heliostat.embedded.gateway.definitions import API_VERSION, GATEWAY
from heliostat.embedded.gateway.feed import GATEWAY_LABEL, SERVICE, NodeService
from heliostat.embedded.gateway.objects import Gateway
from heliostat.kube.counts import read_count
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Action, Create, Delete, Patch, Ref
from heliostat.kube.suffixes import derive_suffix

HOST_PORT = "heliostat.dev/host-port"  # an annotation: listen at this port of 127.0.0.1 too; 0: any free one
LOOPBACK = "127.0.0.1"
_SUFFIX = "heliostat"
_MOST_LABEL = 63
_MOST = _MOST_LABEL - len(_SUFFIX) - 1


class HostWish(Struct, frozen=True):
    port: int | None = None  # None: it is not asked for
    problem: str = ""


def service_name(gateway: Gateway) -> str:
    """By Gateway and class, as those do who look for it. Both may be called what no Service may be."""
    name = gateway.metadata.name
    whole = f"{name}-{gateway.spec.gateway_class_name}"
    if "." not in whole and len(whole) <= _MOST_LABEL and name[0].isalpha():
        return whole
    return f"gateway-{name.replace('.', '-')[: _MOST - 14].rstrip('-')}-{derive_suffix(name)}-{_SUFFIX}"


def plan_service(gateway: Gateway, known: NodeService | None, former: Iterable[NodeService]) -> Iterable[Action]:
    """``former`` are others that it has, under names of other classes."""
    for each in former:
        yield Delete(_ref(each), each.metadata.uid, "the Gateway is of another class now")
    ports = _build_ports(gateway)
    if not ports:
        return
    if known is None:
        yield Create(_build_service(gateway, ports), "a Gateway has an address in the cluster")
    elif is_of(gateway, known) and {port.port for port in known.spec.ports} != {port["port"] for port in ports}:
        metadata, changes = known.metadata, {"spec": {"ports": ports}}
        yield Patch(_ref(known), metadata.uid, metadata.resource_version, changes, "the listeners have other ports")


def _ref(service: NodeService) -> Ref:
    return Ref(SERVICE.api_version, SERVICE.kind, service.metadata.namespace, service.metadata.name)


def is_of(gateway: Gateway, service: NodeService) -> bool:
    controller = service.metadata.controller
    return controller is not None and controller.uid == gateway.metadata.uid


def _build_ports(gateway: Gateway) -> list[JsonObject]:
    return [{"name": f"http-{port}", "port": port, "protocol": "TCP"} for port in sorted(wanted_ports(gateway))]


def _build_service(gateway: Gateway, ports: list[JsonObject]) -> JsonObject:
    metadata = gateway.metadata
    owner = {
        "apiVersion": API_VERSION,
        "kind": GATEWAY.kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {GATEWAY_LABEL: "", "gateway.networking.k8s.io/gateway-name": metadata.name[:63].rstrip(".-")}
    return {
        "apiVersion": SERVICE.api_version,
        "kind": SERVICE.kind,
        "metadata": {
            "name": service_name(gateway),
            "namespace": metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": {"type": "ClusterIP", "ports": ports},
    }


def read_host_wish(gateway: Gateway) -> HostWish:
    text = gateway.metadata.annotations.get(HOST_PORT)
    if text is None:
        return HostWish()
    port = read_count(text)
    if port is not None and port <= 65535:
        return HostWish(port)
    return HostWish(problem=f"annotation {HOST_PORT}: {text!r} is no port; give one from 0 to 65535")
