"""What objects use of a ResourceQuota, and whether one more fits.

Rules: every object counts as ``count/RESOURCE.GROUP``, some also under an older name; Pods use what they request and
limit until they are over; a quota with scopes is only about the Pods in them. A quota that limits processor or memory
takes no Pod that does not say what it needs.
"""

from msgspec import Struct

from heliostat.embedded.kinds.pods.pod_resources import (
    Amounts,
    add_amounts,
    pod_amounts,
    quality_of_service,
    read_amounts,
)
from heliostat.embedded.kinds.rules.resource_rules import is_native
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity
from heliostat.kube.timestamps import parse_timestamp

ONE = Quantity(10**9)
_LEGACY = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets", "services", "pods",
                     "persistentvolumeclaims"})  # fmt: skip
_BOTH = ("cpu", "memory", "ephemeral-storage")
_MUST_SAY = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


class Refusal(Struct, frozen=True):
    why: str


def object_usage(tree: JsonObject, storage_name: str, now: float) -> Amounts:
    usage: Amounts = {f"count/{storage_name}": ONE}
    if storage_name == "pods":
        return usage | _pod_usage(tree, now)
    if storage_name in _LEGACY:
        usage[storage_name] = ONE
    if storage_name == "services":
        usage |= _service_usage(tree["spec"])
    elif storage_name == "persistentvolumeclaims":
        usage |= _claim_usage(tree["spec"])
    return usage


def _pod_usage(pod: JsonObject, now: float) -> Amounts:
    if _is_over(pod, now):
        return {}
    return {"pods": ONE} | _compute_usage(pod_amounts(pod["spec"], "requests"), pod_amounts(pod["spec"], "limits"))


def _is_over(pod: JsonObject, now: float) -> bool:
    metadata = pod["metadata"]
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return True
    grace = metadata.get("deletionGracePeriodSeconds")
    return grace is not None and now > parse_timestamp(metadata["deletionTimestamp"]) + grace


def _compute_usage(requests: Amounts, limits: Amounts) -> Amounts:
    usage: Amounts = {}
    for name, quantity in requests.items():
        if name in _BOTH or name.startswith("hugepages-"):
            usage[name] = usage[f"requests.{name}"] = quantity
        elif not is_native(name):
            usage[f"requests.{name}"] = quantity
    return usage | {f"limits.{name}": limits[name] for name in _BOTH if name in limits}


def _service_usage(spec: JsonObject) -> Amounts:
    kind, ports = spec.get("type"), spec.get("ports") or []
    usage: Amounts = {}
    if kind == "LoadBalancer":
        usage["services.loadbalancers"] = ONE
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    if kind in ("LoadBalancer", "NodePort"):
        usage["services.nodeports"] = ONE * len(ports)
    return usage


def _claim_usage(spec: JsonObject) -> Amounts:
    storage = read_amounts((spec.get("resources") or {}).get("requests")).get("storage")
    if storage is None:
        return {}
    usage = {"requests.storage": storage}
    name = spec.get("storageClassName")
    if name:
        prefix = f"{name}.storageclass.storage.k8s.io"
        usage |= {f"{prefix}/requests.storage": storage, f"{prefix}/persistentvolumeclaims": ONE}
    return usage


def is_in_scope(quota: JsonObject, tree: JsonObject, storage_name: str) -> bool:
    """A quota with scopes says nothing about objects outside them."""
    spec = quota.get("spec") or {}
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    terms += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not terms:
        return True
    return storage_name == "pods" and all(_matches_scope(term, tree) for term in terms)


def _matches_scope(term: JsonObject, pod: JsonObject) -> bool:
    spec = pod["spec"]
    match term.get("scopeName"):
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return quality_of_service(spec) == "BestEffort"
        case "NotBestEffort":
            return quality_of_service(spec) != "BestEffort"
        case "PriorityClass":
            return _matches_class(term, spec.get("priorityClassName", ""))
    return False


def _matches_class(term: JsonObject, name: str) -> bool:
    values = term.get("values") or []
    match term.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def unsaid_needs(hard: Amounts, pod: JsonObject) -> str:
    """What a quota wants every container to say; empty when all is said."""
    spec = pod["spec"]
    if spec.get("resources"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        said = _compute_usage(read_amounts(resources.get("requests")), read_amounts(resources.get("limits")))
        for name in hard.keys() & _MUST_SAY - said.keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    if not missing:
        return ""
    return "must specify " + "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def used_after(name: str, hard: Amounts, used: Amounts, more: Amounts) -> Amounts | Refusal:
    """A quota's use when so much more is used, or why it cannot be."""
    asked = {resource: quantity for resource, quantity in more.items() if resource in hard and quantity.nano > 0}
    after = add_amounts(used, asked)
    over = sorted(resource for resource in asked if after[resource] > hard[resource])
    if not over:
        return after
    zero = Quantity(0)
    shown = [
        ",".join(f"{resource}={amounts.get(resource, zero)}" for resource in over) for amounts in (asked, used, hard)
    ]
    return Refusal(f"exceeded quota: {name}, requested: {shown[0]}, used: {shown[1]}, limited: {shown[2]}")


def growth(new: Amounts, old: Amounts) -> Amounts:
    """What a changed object uses more than before."""
    more = {name: quantity - old[name] if name in old else quantity for name, quantity in new.items()}
    return {name: quantity for name, quantity in more.items() if quantity.nano > 0}
