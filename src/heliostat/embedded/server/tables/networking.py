"""The columns of Services and what surrounds them: endpoints, Ingresses, policies, address ranges."""

from typing import Any

from heliostat.embedded.server.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Column,
    Columns,
    computed,
    items,
    look,
    text,
)
from heliostat.embedded.server.tables.phrases import first_few, labels_column, selector_text
from heliostat.kube.jsontree import JsonObject


def _external_ip(service: JsonObject) -> str:
    given = ",".join(items(service, "spec.externalIPs"))
    kind = look(service, "spec.type") or "ClusterIP"
    if kind == "ExternalName":
        return str(look(service, "spec.externalName") or "")
    if kind == "LoadBalancer":
        balanced = _balancer_addresses(service)
        return ",".join(part for part in (balanced, given) if part) or "<pending>"
    return given or NONE


def _balancer_addresses(tree: JsonObject) -> str:
    ingress = items(tree, "status.loadBalancer.ingress")
    addresses = {str(point.get("ip") or point.get("hostname") or "") for point in ingress}
    return ",".join(sorted(addresses - {""}))


def _ports(service: JsonObject) -> str:
    return ",".join(_port(port) for port in items(service, "spec.ports")) or NONE


def _port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol') or 'TCP'}"


def _endpoint_addresses(endpoints: JsonObject) -> str:
    found = [address for subset in items(endpoints, "subsets") for address in _subset_addresses(subset)]
    return first_few(found) or NONE


def _subset_addresses(subset: JsonObject) -> list[str]:
    addresses = [str(address.get("ip") or "") for address in items(subset, "addresses")]
    ports = items(subset, "ports")
    if not ports:
        return addresses
    return [f"{_bracketed(address)}:{port.get('port')}" for port in ports for address in addresses]


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _slice_ports(endpoint_slice: JsonObject) -> str:
    ports = [_slice_port(port) for port in items(endpoint_slice, "ports")]
    return first_few(ports) or UNSET


def _slice_port(port: JsonObject) -> str:
    return str(port["port"]) if port.get("port") is not None else str(port.get("name") or "*")


def _slice_addresses(endpoint_slice: JsonObject) -> str:
    found = [address for endpoint in items(endpoint_slice, "endpoints") for address in items(endpoint, "addresses")]
    return first_few(found) or UNSET


def _hosts(ingress: JsonObject) -> str:
    return first_few([rule["host"] for rule in items(ingress, "spec.rules") if rule.get("host")]) or "*"


def _parameters(ingress_class: JsonObject) -> str:
    reference: Any = look(ingress_class, "spec.parameters")
    if not reference:
        return NONE
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind')}{group}/{reference.get('name')}"


def _parent(address: JsonObject) -> str:
    reference: Any = look(address, "spec.parentRef")
    if not reference:
        return NONE
    group = f".{reference['group']}" if reference.get("group") else ""
    place = f"{reference['namespace']}/" if reference.get("namespace") else ""
    return f"{reference.get('resource')}{group}/{place}{reference.get('name')}"


NETWORKING: dict[str, Columns] = {
    "services": (
        NAME,
        text("Type", "spec.type"),
        text("Cluster-IP", "spec.clusterIP", NONE),
        computed("External-IP", _external_ip),
        computed("Port(s)", _ports),
        AGE,
        labels_column("Selector", "spec.selector", priority=1),
    ),
    "endpoints": (NAME, computed("Endpoints", _endpoint_addresses), AGE),
    "endpointslices.discovery.k8s.io": (
        NAME,
        text("AddressType", "addressType"),
        computed("Ports", _slice_ports),
        computed("Endpoints", _slice_addresses),
        AGE,
    ),
    "ingresses.networking.k8s.io": (
        NAME,
        text("Class", "spec.ingressClassName", NONE),
        computed("Hosts", _hosts),
        computed("Address", _balancer_addresses),
        computed("Ports", lambda tree: "80, 443" if items(tree, "spec.tls") else "80"),
        AGE,
    ),
    "ingressclasses.networking.k8s.io": (
        NAME,
        text("Controller", "spec.controller"),
        computed("Parameters", _parameters),
        AGE,
    ),
    "networkpolicies.networking.k8s.io": (
        NAME,
        Column("Pod-Selector", lambda tree, _now: selector_text(look(tree, "spec.podSelector") or {})),
        AGE,
    ),
    "ipaddresses.networking.k8s.io": (NAME, computed("ParentRef", _parent)),
    "servicecidrs.networking.k8s.io": (
        NAME,
        computed("CIDRs", lambda tree: ",".join(items(tree, "spec.cidrs"))),
        AGE,
    ),
}
