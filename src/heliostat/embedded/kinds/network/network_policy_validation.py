"""NetworkPolicies: ports and peers that packets can be judged by."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.address_rules import range_causes, read_range
from heliostat.embedded.kinds.rules.causes import each_invalid, forbidden, invalid, not_supported, required
from heliostat.embedded.kinds.rules.label_rules import selector_causes
from heliostat.embedded.kinds.rules.text_rules import port_name_problems, port_number_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_PROTOCOLS = ("TCP", "UDP", "SCTP")


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
