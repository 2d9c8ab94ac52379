"""The kinds whose rules are few: Lease, PriorityClass, ResourceQuota, Node, Namespace, PodDisruptionBudget."""

from collections.abc import Iterator

from heliostat.embedded.kinds.object_metadata import finalizer_name_causes
from heliostat.embedded.kinds.pods.scheduling_validation import EFFECTS
from heliostat.embedded.kinds.quotas.priorities import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES, SYSTEM_PREFIX
from heliostat.embedded.kinds.rules.address_rules import range_causes, read_range
from heliostat.embedded.kinds.rules.causes import (
    changed,
    duplicate,
    each_invalid,
    forbidden,
    inner,
    invalid,
    not_supported,
    required,
)
from heliostat.embedded.kinds.rules.label_rules import selector_causes
from heliostat.embedded.kinds.rules.name_rules import label_key_problems, label_value_problems
from heliostat.embedded.kinds.rules.resource_rules import QUOTA_RESOURCES, amount_causes, quota_resource_causes
from heliostat.embedded.kinds.rules.text_rules import path_segment_problems
from heliostat.embedded.kinds.workloads.rollout_validation import amount_or_percent_causes, at_most_all_causes
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject


def lease_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def priority_class_causes(tree: JsonObject) -> Iterator[Cause]:
    name, value = tree["metadata"].get("name", ""), tree.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        problem = _system_class_problem(tree, name, value)
        if problem:
            why = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"
            )
            yield forbidden("metadata.name", why)
    elif value > HIGHEST_USER_PRIORITY:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}")
    policy = tree.get("preemptionPolicy")
    if policy not in ("PreemptLowerPriority", "Never"):
        yield not_supported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def _system_class_problem(tree: JsonObject, name: str, value: int) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if tree.get("globalDefault") else ""


def changed_priority_class_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    if tree.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    yield from changed("preemptionPolicy", tree.get("preemptionPolicy"), old.get("preemptionPolicy"))


_SCOPES = frozenset({"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
                     "VolumeAttributesClass", "CrossNamespacePodAffinity"})  # fmt: skip
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_COMPUTE = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_SCOPED = {"BestEffort": frozenset({"pods"}),
           "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"})}  # fmt: skip


def quota_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    for name, value in (spec.get("hard") or {}).items():
        yield from quota_resource_causes(name, f"spec.hard[{name}]")
        yield from amount_causes(name, value, f"spec.hard[{name}]")
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(spec.get("hard") or {}):
            if name in QUOTA_RESOURCES and scope in _SCOPES and name not in _SCOPED.get(scope, _COMPUTE):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(set(pair) <= set(scopes) for pair in _CONFLICTS):
        yield invalid("spec.scopes", scopes, "conflicting scopes")
    for expression in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield from _scope_causes(expression)


def _scope_causes(expression: JsonObject) -> Iterator[Cause]:
    path = "spec.scopeSelector.matchExpressions"
    scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
    values = expression.get("values") or []
    if scope not in _SCOPES:
        yield invalid(f"{path}.scopeName", scope, "unsupported scope")
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", why)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, why)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def changed_quota_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from quota_causes(tree)
    scopes, before = ((part.get("spec") or {}).get("scopes") or [] for part in (tree, old))
    if set(scopes) != set(before):
        yield invalid("spec.scopes", scopes, "field is immutable")


def node_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _taint_and_amount_causes(tree)
    ranges = (tree.get("spec") or {}).get("podCIDRs") or []
    for index, text in enumerate(ranges):
        yield from range_causes(f"spec.podCIDRs[{index}]", text)
    if len(ranges) > 1 and sorted(_family_of(text) for text in ranges) != [4, 6]:
        yield invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")


def _family_of(text: str) -> int:
    network = read_range(text)
    return network.version if network is not None else 0


def _taint_and_amount_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _taint_causes((tree.get("spec") or {}).get("taints") or [])
    status = tree.get("status") or {}
    for part in ("capacity", "allocatable"):
        for name, value in (status.get(part) or {}).items():
            yield from amount_causes(name, value, f"status.{part}.{name}")


def _taint_causes(taints: list[JsonObject]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        yield from each_invalid(f"{path}.key", key, label_key_problems(key))
        if problems := label_value_problems(value):
            yield invalid(f"{path}.value", value, ";".join(problems))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in EFFECTS:
            yield not_supported(f"{path}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            shown = inner(Key=key, Value=value, Effect=effect, TimeAdded=taint.get("timeAdded"))
            yield duplicate(path, shown, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def changed_node_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from node_causes(tree)
    yield from _taint_and_amount_causes(tree)  # judged as a new one and then once more
    spec, before = tree.get("spec") or {}, old.get("spec") or {}
    for name, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(name) and spec.get(name) != before[name]:
            yield forbidden(f"spec.{name}", f'node updates may not change {shown} except from "" to valid')


def namespace_causes(tree: JsonObject) -> Iterator[Cause]:
    finalizers = (tree.get("spec") or {}).get("finalizers") or []
    for name in finalizers:
        yield from each_invalid("spec.finalizers", name, label_key_problems(name))
        if "/" not in name:
            yield from (
                Cause(cause.reason, cause.message, "spec.finalizers") for cause in finalizer_name_causes([name], "")
            )


def namespace_status_causes(tree: JsonObject, _old: JsonObject) -> Iterator[Cause]:
    phase = (tree.get("status") or {}).get("phase", "")
    is_going = "deletionTimestamp" in tree["metadata"]
    wanted, when = ("Terminating", "is not empty") if is_going else ("Active", "is empty")
    if phase != wanted:
        yield invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` {when}")


def disruption_budget_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = inner(
            MinAvailable=least,
            Selector=spec.get("selector"),
            MaxUnavailable=most,
            UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
        )
        yield invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            yield from amount_or_percent_causes(spec[name], f"spec.{name}")
            yield from at_most_all_causes(spec[name], f"spec.{name}")
    yield from selector_causes(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy not in (None, "IfHealthyBudget", "AlwaysAllow"):
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))


def autoscaler_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    least, most, target = spec.get("minReplicas"), spec.get("maxReplicas", 0), spec.get("scaleTargetRef") or {}
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        yield invalid("spec.maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for name in ("kind", "name"):
        text = target.get(name, "")
        if not text:
            yield required(f"spec.scaleTargetRef.{name}")
        else:
            yield from each_invalid(f"spec.scaleTargetRef.{name}", text, path_segment_problems(text))
    version = target.get("apiVersion", "")
    if "/" not in version and version != "v1":
        yield invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")
