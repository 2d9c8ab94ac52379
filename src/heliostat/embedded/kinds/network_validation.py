"""Ingresses, NetworkPolicies and EndpointSlices: hosts, paths, ports and peers that traffic can go by."""

from collections.abc import Iterator

from heliostat.embedded.access.refusals import Cause
from heliostat.embedded.kinds.address_rules import endpoint_ip_causes, ip_causes, range_causes, read_ip, read_range
from heliostat.embedded.kinds.causes import (
    changed,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from heliostat.embedded.kinds.label_rules import label_causes, selector_causes
from heliostat.embedded.kinds.name_rules import (
    dns1035_label_problems,
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
)
from heliostat.embedded.kinds.text_rules import host_problems, port_name_problems, port_number_problems
from heliostat.kube.jsontree import JsonObject

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_CLASS = "kubernetes.io/ingress.class"
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS = 1000, 100, 20000


def new_ingress_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from ingress_causes(tree)
    annotation = (tree["metadata"].get("annotations") or {}).get(_CLASS)
    name = (tree.get("spec") or {}).get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        why = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS}", annotation, why)


def ingress_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend_causes(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _ingress_rule_causes(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for position, host in enumerate(tls.get("hosts") or ()):
            yield from each_invalid(f"spec.tls[{index}].hosts[{position}]", host, host_problems(host))
        secret = tls.get("secretName", "")
        if secret:
            yield from each_invalid(f"spec.tls[{index}].secretName", secret, dns1123_subdomain_problems(secret))
    name = spec.get("ingressClassName")
    if name is not None:
        yield from each_invalid("spec.ingressClassName", name, dns1123_subdomain_problems(name))


def _ingress_rule_causes(rule: JsonObject, path: str) -> Iterator[Cause]:
    host = rule.get("host", "")
    if host:
        if read_ip(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from each_invalid(f"{path}.host", host, host_problems(host))
    if "http" not in rule:
        return
    paths = rule["http"].get("paths") or []
    if not paths:
        yield required(f"{path}.http.paths")
    for index, entry in enumerate(paths):
        yield from _ingress_path_causes(entry, f"{path}.http.paths[{index}]")


def _ingress_path_causes(entry: JsonObject, path: str) -> Iterator[Cause]:
    kind, text = entry.get("pathType"), entry.get("path", "")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            yield invalid(f"{path}.path", text, "must be an absolute path")
        for sequence in _BAD_SEQUENCES:
            if sequence in text:
                yield invalid(f"{path}.path", text, f"must not contain '{sequence}'")
        for end in _BAD_ENDS:
            if text.endswith(end):
                yield invalid(f"{path}.path", text, f"cannot end with '{end}'")
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            yield invalid(f"{path}.path", text, "must be an absolute path")
    else:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    yield from _backend_causes(entry.get("backend") or {}, f"{path}.backend")


def _backend_causes(backend: JsonObject, path: str) -> Iterator[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        for name in ("kind", "name"):
            if not resource.get(name):
                yield required(f"{path}.resource.{name}")
    elif service is not None:
        yield from _service_backend_causes(service, path)
    else:
        yield invalid(path, "", "resource or service backend is required")


def _service_backend_causes(service: JsonObject, path: str) -> Iterator[Cause]:
    name, port = service.get("name", ""), service.get("port") or {}
    if not name:
        yield required(f"{path}.service.name")
    else:
        yield from each_invalid(f"{path}.service.name", name, dns1035_label_problems(name))
    if port.get("name") and port.get("number"):
        yield invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        yield from each_invalid(f"{path}.service.port.name", port["name"], port_name_problems(port["name"]))
    elif port.get("number"):
        yield from each_invalid(f"{path}.service.port.number", port["number"], port_number_problems(port["number"]))
    else:
        yield required(path, "port name or number is required")


def network_policy_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    yield from selector_causes(spec.get("podSelector"), "spec.podSelector")
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            at = f"spec.{direction}[{index}]"
            for position, port in enumerate(rule.get("ports") or ()):
                yield from _policy_port_causes(port, f"{at}.ports[{position}]")
            for position, peer in enumerate(rule.get(side) or ()):
                yield from _peer_causes(peer, f"{at}.{side}[{position}]")
    kinds = spec.get("policyTypes") or []
    if len(kinds) > 2:
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            yield not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port_causes(port: JsonObject, path: str) -> Iterator[Cause]:
    if port.get("protocol", "TCP") not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    number, last = port.get("port"), port.get("endPort")
    if number is None:
        if last is not None:
            yield invalid(f"{path}.endPort", last, "may not be specified when `port` is not specified")
    elif isinstance(number, str):
        if last is not None:
            yield invalid(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
        yield from each_invalid(f"{path}.port", number, port_name_problems(number))
    else:
        yield from each_invalid(f"{path}.port", number, port_number_problems(number))
        if last is not None:
            if last < number:
                yield invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
            yield from each_invalid(f"{path}.endPort", last, port_number_problems(last))


def _peer_causes(peer: JsonObject, path: str) -> Iterator[Cause]:
    for name in ("podSelector", "namespaceSelector"):
        yield from selector_causes(peer.get(name), f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block_causes(block, f"{path}.ipBlock")
    if not peer:
        yield required(path, "must specify a peer")
    elif block is not None and len(peer) > 1:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _block_causes(block: JsonObject, path: str) -> Iterator[Cause]:
    text = block.get("cidr", "")
    if not text:
        yield required(f"{path}.cidr")
        return
    yield from range_causes(f"{path}.cidr", text)
    whole = read_range(text)
    if whole is None:
        return
    for index, excepted in enumerate(block.get("except") or ()):
        at = f"{path}.except[{index}]"
        yield from range_causes(at, excepted)
        part = read_range(excepted)
        if part is not None and (
            part.network_address not in whole or whole.prefixlen >= part.prefixlen or part.version != whole.version
        ):
            yield invalid(at, excepted, "must be a strict subset of `cidr`")


def endpoint_slice_causes(tree: JsonObject) -> Iterator[Cause]:
    kind = tree.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    yield from _slice_port_causes(tree.get("ports") or [])
    endpoints = tree.get("endpoints") or []
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _endpoint_causes(endpoint, kind, f"endpoints[{index}]")


def changed_endpoint_slice_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from endpoint_slice_causes(tree)
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
            yield not_supported(f"{path}.protocol", port.get("protocol", ""), sorted(_PROTOCOLS))
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
