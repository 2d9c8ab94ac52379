"""Where a Pod may run: tolerations, affinities, spreading and gates."""

from collections import Counter
from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import duplicate, each_invalid, forbidden, invalid, not_supported, required
from heliostat.embedded.kinds.rules.label_rules import selector_causes
from heliostat.embedded.kinds.rules.name_rules import (
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
    label_value_problems,
)
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_HONOUR = ("Honor", "Ignore")


def scheduling_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    affinity = spec.get("affinity") or {}
    if "nodeAffinity" in affinity:
        yield from _node_affinity_causes(affinity["nodeAffinity"], f"{path}.affinity.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if name in affinity:
            yield from _pod_affinity_causes(affinity[name], f"{path}.affinity.{name}")


def gate_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        yield from each_invalid(f"{path}.readinessGates[{index}].conditionType", kind, label_key_problems(kind))
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, at = gate.get("name", ""), f"{path}.schedulingGates[{index}]"
        yield from each_invalid(at, name, label_key_problems(name))
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)


def toleration_causes(tolerations: list[JsonObject], path: str) -> Iterator[Cause]:
    for index, toleration in enumerate(tolerations):
        yield from _toleration_causes(toleration, f"{path}[{index}]")


def _toleration_causes(toleration: JsonObject, path: str) -> Iterator[Cause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        yield from each_invalid(f"{path}.key", key, label_key_problems(key))
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        if problems := label_value_problems(value):
            yield invalid(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield not_supported(f"{path}.effect", effect, EFFECTS)


def _node_affinity_causes(affinity: JsonObject, path: str) -> Iterator[Cause]:
    if _REQUIRED in affinity:
        at = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        terms = affinity[_REQUIRED].get("nodeSelectorTerms") or []
        if not terms:
            yield required(at, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _node_term_causes(term, f"{at}[{index}]", checks_values=True)
    for index, preference in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight_causes(preference, at)
        yield from _node_term_causes(preference.get("preference") or {}, f"{at}.preference", checks_values=False)


def _weight_causes(term: JsonObject, path: str) -> Iterator[Cause]:
    if not 1 <= term.get("weight", 0) <= 100:
        yield invalid(f"{path}.weight", term.get("weight", 0), "must be in the range 1-100")


def _node_term_causes(term: JsonObject, path: str, *, checks_values: bool) -> Iterator[Cause]:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _node_label_causes(requirement, f"{path}.matchExpressions[{index}]", checks_values=checks_values)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        yield from _node_field_causes(requirement, f"{path}.matchFields[{index}]")


def _node_label_causes(requirement: JsonObject, path: str, *, checks_values: bool) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    yield from each_invalid(f"{path}.key", key, label_key_problems(key))
    for index, value in enumerate(values if checks_values else ()):
        yield from each_invalid(f"{path}.values[{index}]", value, label_value_problems(value))


def _node_field_causes(requirement: JsonObject, path: str) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", why)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from each_invalid(f"{path}.values[{index}]", value, dns1123_subdomain_problems(value))


def _pod_affinity_causes(affinity: JsonObject, path: str) -> Iterator[Cause]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        yield from _pod_term_causes(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight_causes(weighted, at)
        yield from _pod_term_causes(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def _pod_term_causes(term: JsonObject, path: str) -> Iterator[Cause]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from selector_causes(term.get(name), f"{path}.{name}")
    for namespace in term.get("namespaces") or ():
        yield from each_invalid(f"{path}.namespace", namespace, dns1123_label_problems(namespace))
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from each_invalid(f"{path}.topologyKey", key, label_key_problems(key))


def spread_causes(constraints: list[JsonObject], path: str) -> Iterator[Cause]:
    left = Counter((each.get("topologyKey", ""), each.get("whenUnsatisfiable")) for each in constraints)
    for index, constraint in enumerate(constraints):
        at, action = f"{path}[{index}]", constraint.get("whenUnsatisfiable", "")
        left[constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable")] -= 1
        if constraint.get("maxSkew", 0) <= 0:
            yield invalid(f"{at}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield required(f"{at}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS)
        pair = (constraint.get("topologyKey", ""), action)
        if left[pair]:  # among those that follow
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
        yield from _domain_causes(constraint, at)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(name, "Honor") not in _HONOUR:
                yield not_supported(f"{at}.{name}", constraint[name], _HONOUR)
        yield from selector_causes(constraint.get("labelSelector"), f"{at}.labelSelector")


def _domain_causes(constraint: JsonObject, path: str) -> Iterator[Cause]:
    least, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable", "")
    if least is None:
        return
    if least <= 0:
        yield invalid(f"{path}.minDomains", least, "must be greater than zero")
    if action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(f"{path}.minDomains", least, why)
