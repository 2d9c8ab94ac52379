"""The spec of a Pod or of a Pod template, part by part and in kube-apiserver's order.

A template differs in little: it may leave host ports open, and its name is not known, so claims made from it are not
judged by their names.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.pods.container_validation import PodFacts, container_causes, host_port_causes
from heliostat.embedded.kinds.pods.probe_validation import PROBES, container_probe_causes
from heliostat.embedded.kinds.pods.scheduling_validation import (
    gate_causes,
    scheduling_causes,
    spread_causes,
    toleration_causes,
)
from heliostat.embedded.kinds.pods.security_validation import pod_security_causes
from heliostat.embedded.kinds.rules.address_rules import ip_causes
from heliostat.embedded.kinds.rules.causes import (
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from heliostat.embedded.kinds.rules.label_rules import label_causes
from heliostat.embedded.kinds.rules.name_rules import dns1123_label_problems, dns1123_subdomain_problems
from heliostat.embedded.kinds.rules.resource_rules import pod_resource_causes, requirement_causes
from heliostat.embedded.kinds.volumes.volume_validation import volume_causes
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_LARGEST_INT = 2147483647
_ALIKE = (  # field, which names it may have
    ("serviceAccountName", dns1123_subdomain_problems),
    ("nodeName", dns1123_subdomain_problems),
    ("hostname", dns1123_label_problems),
    ("subdomain", dns1123_label_problems),
    ("priorityClassName", dns1123_subdomain_problems),
    ("runtimeClassName", dns1123_subdomain_problems),
)


def pod_spec_causes(spec: JsonObject, path: str, *, pod_name: str = "", is_pod: bool = False) -> Iterator[Cause]:
    volumes, causes = volume_causes(spec.get("volumes") or [], pod_name, f"{path}.volumes")
    yield from causes
    facts = PodFacts(
        volumes=volumes,
        claims=frozenset(claim.get("name", "") for claim in spec.get("resourceClaims") or ()),
        grace=spec.get("terminationGracePeriodSeconds", 0),
        restart_policy=spec.get("restartPolicy", ""),
        uses_host_users=spec.get("hostUsers") is not False,
    )
    yield from _claim_name_causes(spec, path)
    yield from _container_list_causes(spec.get("containers") or [], facts, f"{path}.containers")
    if "initContainers" in spec:
        yield from _init_container_causes(spec, facts, f"{path}.initContainers")
    if "ephemeralContainers" in spec:
        yield from _ephemeral_container_causes(spec, facts, f"{path}.ephemeralContainers")
    if spec.get("resources"):
        yield from requirement_causes(spec["resources"], facts.claims, f"{path}.resources", pod_resource_causes)
    if spec.get("hostNetwork"):
        yield from _host_network_causes(spec, f"{path}.containers", is_pod=is_pod)
    yield from _policy_causes(spec, path)
    yield from label_causes(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from pod_security_causes(spec, path)
    yield from scheduling_causes(spec, path)
    if spec.get("dnsPolicy") == "None" or "dnsConfig" in spec:
        yield from _dns_causes(spec, f"{path}.dnsConfig")
    yield from gate_causes(spec, path)
    if "topologySpreadConstraints" in spec:
        yield from spread_causes(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    yield from _name_and_number_causes(spec, path)


def _claim_name_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        name, at = claim.get("name", ""), f"{path}.resourceClaims[{index}]"
        if not name:
            yield required(f"{at}.name")
        elif name in seen:
            yield duplicate(f"{at}.name", name)
        else:
            yield from each_invalid(f"{at}.name", name, dns1123_label_problems(name))
        seen.add(name)


def _container_list_causes(containers: list[JsonObject], facts: PodFacts, path: str) -> Iterator[Cause]:
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        at, name = f"{path}[{index}]", container.get("name", "")
        yield from container_causes(container, facts, at)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        yield from container_probe_causes(container, facts.grace, at)
    yield from host_port_causes(containers, path)


def _init_container_causes(spec: JsonObject, facts: PodFacts, path: str) -> Iterator[Cause]:
    names = {container.get("name", "") for container in spec.get("containers") or ()}
    for index, container in enumerate(spec["initContainers"]):
        at, name = f"{path}[{index}]", container.get("name", "")
        yield from container_causes(container, facts, at)
        policy = container.get("restartPolicy")
        if name in names:
            yield duplicate(f"{at}.name", name)
        if name:
            names.add(name)
        yield from host_port_causes([container], path)
        if policy == "Always":
            yield from container_probe_causes(container, facts.grace, at)
        else:
            for field in ("lifecycle", *PROBES):
                if field in container:
                    yield forbidden(f"{at}.{field}", _ONLY_SIDECARS)


_NOT_EPHEMERAL = (
    "ports",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
)


def _ephemeral_container_causes(spec: JsonObject, facts: PodFacts, path: str) -> Iterator[Cause]:
    others = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    names = {container.get("name", "") for container in others}
    seen: set[str] = set()
    for index, container in enumerate(spec["ephemeralContainers"]):
        at, name = f"{path}[{index}]", container.get("name", "")
        yield from container_causes(container, facts, at)
        if name in names or name in seen:
            yield duplicate(f"{at}.name", name)
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in names:
            yield not_found(f"{at}.targetContainerName", target)
        for field in _NOT_EPHEMERAL:
            if field in container:
                yield forbidden(f"{at}.{field}", "cannot be set for an Ephemeral Container")
        if container.get("resources"):
            yield forbidden(f"{at}.resources", "cannot be set for an Ephemeral Container")


def _host_network_causes(spec: JsonObject, path: str, *, is_pod: bool) -> Iterator[Cause]:
    for index, container in enumerate(spec.get("containers") or ()):
        for position, port in enumerate(container.get("ports") or ()):
            host, own = port.get("hostPort", 0), port.get("containerPort", 0)
            if (is_pod or host) and host != own:
                why = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}[{index}].ports[{position}].hostPort", host, why)


def _policy_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    if spec.get("restartPolicy") not in RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", spec.get("restartPolicy", ""), RESTART_POLICIES)
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        yield not_supported(f"{path}.dnsPolicy", spec.get("dnsPolicy", ""), _DNS_POLICIES)


def _dns_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", why)
            return
    if len(servers) > 3:
        yield invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        yield from ip_causes(f"{path}.nameservers[{index}]", server)
    searches = (config or {}).get("searches") or []
    if len(searches) > 32:
        yield invalid(f"{path}.searches", searches, "must not have more than 32 search paths")
    for index, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def _name_and_number_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    for field, problems in _ALIKE:
        if spec.get(field):
            yield from each_invalid(f"{path}.{field}", spec[field], problems(spec[field]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LARGEST_INT:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_LARGEST_INT}, inclusive")
    yield from toleration_causes(spec.get("tolerations") or [], f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_causes(f"{path}.hostAliases[{index}].ip", alias.get("ip", ""))
        for position, host in enumerate(alias.get("hostnames") or ()):
            at = f"{path}.hostAliases[{index}].hostnames[{position}]"
            yield from each_invalid(at, host, dns1123_subdomain_problems(host))
    if spec.get("preemptionPolicy", "Never") not in ("PreemptLowerPriority", "Never"):
        yield not_supported(f"{path}.preemptionPolicy", spec["preemptionPolicy"], ("PreemptLowerPriority", "Never"))
    if spec.get("overhead"):
        yield from requirement_causes({"limits": spec["overhead"]}, frozenset(), f"{path}.overhead")
    if "os" in spec:
        yield from _system_causes(spec["os"].get("name", ""), f"{path}.os")


def _system_causes(name: str, path: str) -> Iterator[Cause]:
    if not name:
        yield required(f"{path}.name")
    elif name not in ("linux", "windows"):
        yield not_supported(path, name, ("linux", "windows"))
