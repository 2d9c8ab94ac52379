"""When a failed Pod fails its Job: the rules of ``podFailurePolicy``."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import (
    duplicate,
    each_invalid,
    invalid,
    invalid_without_value,
    not_supported,
    required,
    too_many,
)
from heliostat.embedded.kinds.rules.name_rules import label_key_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MOST_RULES, _MOST_VALUES, _MOST_CONDITIONS = 20, 255, 20


def failure_policy_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {container.get("name") for part in ("containers", "initContainers") for container in pod.get(part) or ()}
    for index, rule in enumerate(rules):
        at = f"{path}.rules[{index}]"
        yield from _action_causes(rule.get("action", ""), spec, f"{at}.action")
        if "onExitCodes" in rule:
            yield from _exit_code_causes(rule["onExitCodes"], names, f"{at}.onExitCodes")
        conditions = rule.get("onPodConditions") or []
        yield from _condition_causes(conditions, f"{at}.onPodConditions")
        if "onExitCodes" in rule and conditions:
            yield invalid_without_value(at, "specifying both OnExitCodes and OnPodConditions is not supported")
        if "onExitCodes" not in rule and not conditions:
            yield invalid_without_value(at, "specifying one of OnExitCodes and OnPodConditions is required")


def _quoted(choices: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(f'{chr(34)}{choice}{chr(34)}' for choice in choices)}]"


def _action_causes(action: str, spec: JsonObject, path: str) -> Iterator[Cause]:
    if not action:
        yield required(path, _quoted(_ACTIONS))
    elif action == "FailIndex":
        if "backoffLimitPerIndex" not in spec:
            yield invalid(path, action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(path, action, _ACTIONS)


def _condition_causes(patterns: list[JsonObject], path: str) -> Iterator[Cause]:
    if len(patterns) > _MOST_CONDITIONS:
        yield too_many(path, len(patterns), _MOST_CONDITIONS)
    for index, pattern in enumerate(patterns):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        yield from each_invalid(f"{path}[{index}].type", kind, label_key_problems(kind))
        if status not in _STATUSES:
            yield not_supported(f"{path}[{index}].status", status, _STATUSES)


def _exit_code_causes(requirement: JsonObject, names: set[str | None], path: str) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if not operator:
        yield required(f"{path}.operator", _quoted(_OPERATORS))
    elif operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    container = requirement.get("containerName")
    if container is not None and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", container, why)
    if not values:
        yield invalid(f"{path}.values", requirement.get("values"), "at least one value is required")
    elif len(values) > _MOST_VALUES:
        yield too_many(f"{path}.values", len(values), _MOST_VALUES)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(f"{path}.values[{index}]", value)
        seen.add(value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")
