"""What an update of a Service keeps from before without being asked.

Rules: addresses and ports that were given out stay unless the client names others; a client that knows only
``clusterIP`` means ``clusterIPs`` too; a field of the former type goes with it if the client left it as it was.
"""

from heliostat.embedded.kinds.network.service_defaults import (
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    is_reachable_from_outside,
    needs_health_check,
    needs_node_ports,
)
from heliostat.kube.jsontree import JsonObject


def pair_new_addresses(spec: JsonObject) -> None:
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def keep_given_out(new: JsonObject, old: JsonObject) -> None:
    if _has_address(old) and _has_address(new):
        for name in ("clusterIP", "clusterIPs"):
            if not new.get(name) and old.get(name):
                new[name] = old[name]
    if _draws_node_ports(old) and _draws_node_ports(new):
        _keep_node_ports(new, old)
    if needs_health_check(old) and needs_health_check(new) and not new.get("healthCheckNodePort"):
        new["healthCheckNodePort"] = old.get("healthCheckNodePort", 0)


def _has_address(spec: JsonObject) -> bool:
    return spec.get("type") != EXTERNAL_NAME


def _draws_node_ports(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind == NODE_PORT or (kind == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts", True))


def _keep_node_ports(new: JsonObject, old: JsonObject) -> None:
    taken = node_ports(old) & node_ports(new)
    before = {port.get("name", ""): port.get("nodePort", 0) for port in old.get("ports") or ()}
    for port in new.get("ports") or ():
        given = before.get(port.get("name", ""), 0)
        if not port.get("nodePort") and given and given not in taken:
            port["nodePort"] = given


def pair_changed_addresses(new: JsonObject, old: JsonObject) -> None:
    single, before = new.get("clusterIP", ""), old.get("clusterIP", "")
    if old.get("clusterIPs") and not new.get("clusterIPs") and single == before:
        new["clusterIPs"] = list(old["clusterIPs"])
    if single != before and (new.get("clusterIPs") or []) == (old.get("clusterIPs") or []):
        if single:
            new["clusterIPs"] = [single]
        else:
            new.pop("clusterIPs", None)


def forget_former_type(new: JsonObject, old: JsonObject) -> None:
    if _has_address(old) and not _has_address(new):
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            _drop_if_same(name, new, old)
    if needs_node_ports(old) and not needs_node_ports(new) and node_ports(new) <= node_ports(old):
        for port in new.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(old) and not needs_health_check(new):
        _drop_if_same("healthCheckNodePort", new, old)
    if old.get("type") == LOAD_BALANCER and new.get("type") != LOAD_BALANCER:
        _drop_if_same("allocateLoadBalancerNodePorts", new, old)
        _drop_if_same("loadBalancerClass", new, old)
    if is_reachable_from_outside(old) and not is_reachable_from_outside(new):
        _drop_if_same("externalTrafficPolicy", new, old)


def _drop_if_same(name: str, new: JsonObject, old: JsonObject) -> None:
    if new.get(name) == old.get(name):
        new.pop(name, None)


def node_ports(spec: JsonObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
