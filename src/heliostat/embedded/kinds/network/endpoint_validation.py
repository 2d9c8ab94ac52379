"""EndpointSlices and the older Endpoints: addresses that traffic can be sent to."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.address_rules import endpoint_ip_causes, ip_causes, read_ip
from heliostat.embedded.kinds.rules.causes import (
    changed,
    duplicate,
    each_invalid,
    invalid,
    not_supported,
    required,
    too_many,
)
from heliostat.embedded.kinds.rules.label_rules import label_causes
from heliostat.embedded.kinds.rules.name_rules import (
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
)
from heliostat.embedded.kinds.rules.text_rules import port_number_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS = 1000, 100, 20000


def endpoint_slice_causes(tree: JsonObject, old: JsonObject | None = None) -> Iterator[Cause]:
    kind = tree.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    yield from _slice_port_causes(tree.get("ports") or [])
    endpoints = tree.get("endpoints") or []
    if old is not None and endpoints == (old.get("endpoints") or []):
        return  # what was acceptable once stays
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _endpoint_causes(endpoint, kind, f"endpoints[{index}]")


def changed_endpoint_slice_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from endpoint_slice_causes(tree, old)
    yield from changed("addressType", tree.get("addressType", ""), old.get("addressType", ""))


def _slice_port_causes(ports: list[JsonObject]) -> Iterator[Cause]:
    if len(ports) > _MOST_PORTS:
        yield too_many("ports", len(ports), _MOST_PORTS)
        return
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name") or ""
        if name:
            yield from each_invalid(f"{path}.name", name, dns1123_label_problems(name))
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
        if port.get("appProtocol") is not None:
            yield from each_invalid(f"{path}.appProtocol", port["appProtocol"], label_key_problems(port["appProtocol"]))


def _endpoint_causes(endpoint: JsonObject, kind: str, path: str) -> Iterator[Cause]:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    for index, address in enumerate(addresses):
        yield from _endpoint_address_causes(address, kind, f"{path}.addresses", index)
    if endpoint.get("nodeName") is not None:
        node = endpoint["nodeName"]
        yield from each_invalid(f"{path}.nodeName", node, dns1123_subdomain_problems(node))
    yield from label_causes(endpoint.get("deprecatedTopology"), f"{path}.deprecatedTopology")
    if endpoint.get("hostname") is not None:
        host = endpoint["hostname"]
        yield from each_invalid(f"{path}.hostname", host, dns1123_label_problems(host))


def _endpoint_address_causes(address: str, kind: str, path: str, index: int) -> Iterator[Cause]:
    at = f"{path}[{index}]"
    if kind == "FQDN":
        if problems := dns1123_subdomain_problems(address.removesuffix(".")):
            yield invalid(at, address, ",".join(problems))
        elif "." not in address.removesuffix("."):
            yield invalid(at, address, "should be a domain with at least two segments separated by dots")
        return
    if kind not in _ADDRESS_TYPES:
        return
    if wrong := ip_causes(at, address):
        yield from wrong
        return
    read = read_ip(address)
    if read is not None and f"IPv{read.version}" != kind:
        yield invalid(path, address, f"must be an {kind} address")
    yield from endpoint_ip_causes(at, address)


def endpoints_causes(tree: JsonObject) -> Iterator[Cause]:
    for index, subset in enumerate(tree.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(part) or ()):
                yield from _old_address_causes(address, f"{path}.{part}[{position}]")
        ports = subset.get("ports") or []
        for position, port in enumerate(ports):
            yield from _old_port_causes(port, f"{path}.ports[{position}]", needs_name=len(ports) > 1)


def _old_address_causes(address: JsonObject, path: str) -> Iterator[Cause]:
    text = address.get("ip", "")
    yield from ip_causes(f"{path}.ip", text)
    if address.get("hostname"):
        yield from each_invalid(f"{path}.hostname", address["hostname"], dns1123_label_problems(address["hostname"]))
    if address.get("nodeName") is not None:
        node = address["nodeName"]
        yield from each_invalid(f"{path}.nodeName", node, dns1123_subdomain_problems(node))
    yield from endpoint_ip_causes(f"{path}.ip", text)


def _old_port_causes(port: JsonObject, path: str, *, needs_name: bool) -> Iterator[Cause]:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        yield from each_invalid(f"{path}.name", name, dns1123_label_problems(name))
    elif needs_name:
        yield required(f"{path}.name")
    yield from each_invalid(f"{path}.port", number, port_number_problems(number))
    if port.get("protocol") not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
    if port.get("appProtocol") is not None:
        yield from each_invalid(f"{path}.appProtocol", port["appProtocol"], label_key_problems(port["appProtocol"]))
