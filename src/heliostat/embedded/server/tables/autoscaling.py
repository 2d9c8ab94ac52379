"""The columns of autoscalers, disruption budgets and the scale of anything."""

from typing import Any

from heliostat.embedded.server.tables.columns import AGE, NAME, UNSET, Column, Columns, computed, items, look, number
from heliostat.embedded.server.tables.durations import UNKNOWN
from heliostat.embedded.server.tables.phrases import first_few, text_of
from heliostat.kube.jsontree import JsonObject

_MOST_METRICS = 2
_NAMED = ("Resource", "ContainerResource")  # these say the resource first
_NOT_GIVEN = "N/A"


def _target(autoscaler: JsonObject) -> str:
    return f"{look(autoscaler, 'spec.scaleTargetRef.kind')}/{look(autoscaler, 'spec.scaleTargetRef.name')}"


def _metrics(autoscaler: JsonObject) -> str:
    specs, current = _specs(autoscaler), _current(autoscaler)
    texts = [_metric(spec, current[index] if index < len(current) else {}) for index, spec in enumerate(specs)]
    return first_few(texts, _MOST_METRICS, ", ") or "<none>"


def _specs(autoscaler: JsonObject) -> list[Any]:
    """Version 1 knows the processor's load alone; it is written the way version 2 would."""
    percent = look(autoscaler, "spec.targetCPUUtilizationPercentage")
    return _load("target", percent) if percent is not None else items(autoscaler, "spec.metrics")


def _current(autoscaler: JsonObject) -> list[Any]:
    percent = look(autoscaler, "status.currentCPUUtilizationPercentage")
    return _load("current", percent) if percent is not None else items(autoscaler, "status.currentMetrics")


def _load(what: str, percent: int) -> list[Any]:
    return [{"type": "Resource", "resource": {"name": "cpu", what: {"averageUtilization": percent}}}]


def _metric(spec: JsonObject, status: JsonObject) -> str:
    kind = str(spec.get("type"))
    field = kind[:1].lower() + kind[1:]
    target, current = look(spec, f"{field}.target") or {}, look(status, f"{field}.current") or {}
    name = f"{look(spec, f'{field}.name')}: " if kind in _NAMED else ""
    if "averageValue" in target:
        suffix = " (avg)" if kind in ("External", "Object") else ""
        return f"{name}{text_of(current.get('averageValue'), UNKNOWN)}/{target['averageValue']}{suffix}"
    if kind in _NAMED:
        return f"{name}{_percent(current, UNKNOWN)}/{_percent(target, '<auto>')}"
    return f"{text_of(current.get('value'), UNKNOWN)}/{target.get('value')}"


def _percent(part: JsonObject, missing: str) -> str:
    percent = part.get("averageUtilization")
    return missing if percent is None else f"{percent}%"


AUTOSCALING: dict[str, Columns] = {
    "horizontalpodautoscalers.autoscaling": (
        NAME,
        computed("Reference", _target),
        computed("Targets", _metrics),
        computed("MinPods", lambda tree: text_of(look(tree, "spec.minReplicas"), UNSET)),
        computed("MaxPods", lambda tree: look(tree, "spec.maxReplicas") or 0),
        computed("Replicas", lambda tree: look(tree, "status.currentReplicas") or 0),
        AGE,
    ),
    "poddisruptionbudgets.policy": (
        NAME,
        computed("Min Available", lambda tree: text_of(look(tree, "spec.minAvailable"), _NOT_GIVEN)),
        computed("Max Unavailable", lambda tree: text_of(look(tree, "spec.maxUnavailable"), _NOT_GIVEN)),
        number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
}

SCALE_COLUMNS: Columns = (
    Column("Name", NAME.cell),
    number("Desired", "spec.replicas"),
    number("Available", "status.replicas"),
    AGE,
)
