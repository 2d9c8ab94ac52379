"""Services: ports, types, policies and addresses, and what of them stays once it is given.

Differs from kube-apiserver: one address family (IPv4), as in a cluster that is not configured for two.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.network.service_address_validation import address_causes, kept_address_causes
from heliostat.embedded.kinds.network.service_defaults import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    is_headless,
    is_reachable_from_outside,
    needs_health_check,
)
from heliostat.embedded.kinds.pods.probe_validation import port_causes
from heliostat.embedded.kinds.rules.address_rules import endpoint_ip_causes, ip_causes, range_causes
from heliostat.embedded.kinds.rules.causes import (
    duplicate,
    each_invalid,
    forbidden,
    inner,
    invalid,
    not_supported,
    required,
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

_TYPES = (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
_POLICIES = ("Cluster", "Local")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_LONGEST_AFFINITY = 86400


def new_service_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _service_causes(tree["spec"])


def changed_service_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    spec, before = tree["spec"], old["spec"]
    yield from kept_address_causes(spec, before)
    both_balanced = spec.get("type") == before.get("type") == LOAD_BALANCER
    if both_balanced and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), "may not change once set")
    if (
        needs_health_check(before)
        and needs_health_check(spec)
        and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort")
    ):
        yield forbidden("spec.healthCheckNodePort", "field is immutable")
    yield from _service_causes(spec)


def _service_causes(spec: JsonObject) -> Iterator[Cause]:
    kind, ports = spec.get("type"), spec.get("ports") or []
    if not ports and not is_headless(spec) and kind != EXTERNAL_NAME:
        yield required("spec.ports")
    yield from _type_causes(spec)
    yield from _port_list_causes(ports)
    yield from label_causes(spec.get("selector"), "spec.selector")
    yield from _affinity_causes(spec)
    if kind != EXTERNAL_NAME:
        yield from address_causes(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        yield from ip_causes(path, address) or endpoint_ip_causes(path, address)
    if kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    yield from _port_conflicts(ports, kind)
    yield from _balancer_causes(spec)
    yield from _policy_causes(spec)


def _type_causes(spec: JsonObject) -> Iterator[Cause]:
    kind = spec.get("type")
    if kind in (LOAD_BALANCER, NODE_PORT) and is_headless(spec):
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != EXTERNAL_NAME:
        return
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
    host = spec.get("externalName", "").removesuffix(".")
    if host:
        yield from each_invalid("spec.externalName", host, dns1123_subdomain_problems(host))
    else:
        yield required("spec.externalName")


def _port_list_causes(ports: list[JsonObject]) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        elif name:
            yield from each_invalid(f"{path}.name", name, dns1123_label_problems(name))
            if name in names:
                yield duplicate(f"{path}.name", name)
            names.add(name)
        yield from each_invalid(f"{path}.port", port.get("port", 0), port_number_problems(port.get("port", 0)))
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
        yield from port_causes(port.get("targetPort", 0), f"{path}.targetPort")
        if port.get("appProtocol") is not None:
            yield from each_invalid(f"{path}.appProtocol", port["appProtocol"], label_key_problems(port["appProtocol"]))


def _affinity_causes(spec: JsonObject) -> Iterator[Cause]:
    affinity = spec.get("sessionAffinity")
    if affinity not in ("ClientIP", "None"):
        yield not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    elif affinity == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _LONGEST_AFFINITY:
            why = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            yield invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)


def _port_conflicts(ports: list[JsonObject], kind: str | None) -> Iterator[Cause]:
    if kind == CLUSTER_IP:
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    taken: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in taken:
            yield duplicate(f"spec.ports[{index}].nodePort", key[1])
        taken.add(key)
    served: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in served:
            shown = inner(Name="", Protocol=key[0], AppProtocol=None, Port=key[1], TargetPort=0, NodePort=0)
            yield duplicate(f"spec.ports[{index}]", shown)
        served.add(key)


def _balancer_causes(spec: JsonObject) -> Iterator[Cause]:
    kind = spec.get("type")
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges and kind != LOAD_BALANCER:
        yield forbidden("spec.LoadBalancerSourceRanges", _ONLY_BALANCED)
    for index, text in enumerate(ranges):
        yield from range_causes(f"spec.LoadBalancerSourceRanges[{index}]", text.strip())
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != LOAD_BALANCER:
        yield forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED)
    balancer = spec.get("loadBalancerClass")
    if balancer is None:
        return
    if kind == LOAD_BALANCER:
        yield from each_invalid("spec.loadBalancerClass", balancer, label_key_problems(balancer))
    else:
        yield forbidden("spec.loadBalancerClass", _ONLY_BALANCED)


def _policy_causes(spec: JsonObject) -> Iterator[Cause]:
    outside = spec.get("externalTrafficPolicy", "")
    if not is_reachable_from_outside(spec):
        if outside:
            yield invalid("spec.externalTrafficPolicy", outside, "may only be set for externally-accessible services")
    elif outside not in _POLICIES:
        yield not_supported("spec.externalTrafficPolicy", outside, _POLICIES)
    port = spec.get("healthCheckNodePort", 0)
    if not needs_health_check(spec):
        if port:
            why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid("spec.healthCheckNodePort", port, why)
    elif port:
        yield from each_invalid("spec.healthCheckNodePort", port, port_number_problems(port))
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in _POLICIES:
        yield not_supported("spec.internalTrafficPolicy", inside, _POLICIES)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)
