"""The older form of endpoints: subsets, in each of which every address serves at every port.

Rules: ports with the same addresses form a subset; who is not ready stands apart; above 1,000 addresses the list is
cut, not-ready ones first, each subset in proportion, and an annotation says so.
"""

from collections.abc import Iterable
from math import ceil

from msgspec import Struct

from heliostat.embedded.controllers.endpoints.members import addresses_of, hostname_of, is_member, resolve_ports
from heliostat.embedded.controllers.views.endpoint_slices import EndpointPort
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.services import Service
from heliostat.kube.jsontree import JsonObject

MOST_ADDRESSES = 1000


class _Member(Struct, frozen=True):
    address: JsonObject
    is_ready: bool

    @property
    def order(self) -> tuple[str, str]:
        return self.address["ip"], self.address["targetRef"]["uid"]


def build_subsets(service: Service, pods: Iterable[Pod]) -> list[JsonObject]:
    """In an order that depends on nothing but the contents."""
    by_port: dict[EndpointPort | None, list[_Member]] = {}
    for pod in pods:
        member = _build_member(service, pod)
        if member is not None:
            for port in _ports_of(service, pod):
                by_port.setdefault(port, []).append(member)
    by_members: dict[tuple[tuple[str, str], ...], list[EndpointPort]] = {}
    members_of: dict[tuple[tuple[str, str], ...], list[_Member]] = {}
    for port, found in by_port.items():
        members = sorted(found, key=lambda member: member.order)
        key = tuple(member.order for member in members)
        members_of[key] = members
        by_members.setdefault(key, []).extend([port] if port is not None else [])
    subsets = [_build_subset(by_members[key], members_of[key]) for key in by_members]
    return sorted(subsets, key=str)


def _ports_of(service: Service, pod: Pod) -> Iterable[EndpointPort | None]:
    """None: a headless Service without ports stands for the addresses alone."""
    if not service.spec.ports:
        return () if service.has_address else (None,)
    return resolve_ports(service, pod)


def _build_member(service: Service, pod: Pod) -> _Member | None:
    is_trusted = service.spec.publish_not_ready_addresses
    address = _build_address(service, pod) if is_member(pod, with_terminating=is_trusted) else None
    return _Member(address, is_trusted or pod.is_ready) if address is not None else None


def _build_address(service: Service, pod: Pod) -> JsonObject | None:
    family = service.spec.ip_families[0] if service.spec.ip_families else "IPv4"
    addresses = addresses_of(pod, family)
    if not addresses:
        return None
    metadata, hostname = pod.metadata, hostname_of(pod, service)
    target = {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
    node = {"nodeName": pod.spec.node_name} if pod.spec.node_name else {}
    return {"ip": addresses[0], **({"hostname": hostname} if hostname else {}), **node, "targetRef": target}


def _build_subset(ports: list[EndpointPort], members: list[_Member]) -> JsonObject:
    subset: JsonObject = {
        "addresses": [member.address for member in members if member.is_ready],
        "notReadyAddresses": [member.address for member in members if not member.is_ready],
        "ports": sorted(map(_build_port, ports), key=str),
    }
    return {key: value for key, value in subset.items() if value}


def _build_port(port: EndpointPort) -> JsonObject:
    tree = {"name": port.name, "port": port.port, "protocol": port.protocol, "appProtocol": port.app_protocol}
    return {key: value for key, value in tree.items() if value}


def cut_subsets(subsets: list[JsonObject], most: int = MOST_ADDRESSES) -> tuple[list[JsonObject], bool]:
    """The subsets that may be written, and whether anything is missing."""
    ready, not_ready = (
        sum(len(subset.get(key, ())) for subset in subsets) for key in ("addresses", "notReadyAddresses")
    )
    if ready + not_ready <= most:
        return subsets, False
    if ready > most:
        shortened = [{**subset, "notReadyAddresses": []} for subset in subsets]
        return _cut(shortened, "addresses", most, ready), True
    return _cut(subsets, "notReadyAddresses", most - ready, not_ready), True


def _cut(subsets: list[JsonObject], key: str, most: int, total: int) -> list[JsonObject]:
    """Each subset keeps its share, rounded up, until nothing is left to share."""
    left, shortened = most, []
    for subset in subsets:
        kept = subset.get(key, [])[: min(left, ceil(len(subset.get(key, [])) * most / total))]
        left -= len(kept)
        shortened.append({name: value for name, value in {**subset, key: kept}.items() if value})
    return shortened
