"""One HorizontalPodAutoscaler, two APIs: kept as ``autoscaling/v2``, served also as ``v1``.

The older one knows the processor's load alone: its target becomes one number and back. What else v2 can say travels in
annotations, so that a client of v1 that reads and writes loses nothing.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from heliostat.kube.jsontree import JsonObject, encode_json

AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
# annotation, the part of the object that holds it, its field
_CARRIED = (
    (f"{_PREFIX}metrics", "spec", "metrics"),
    (f"{_PREFIX}behavior", "spec", "behavior"),
    (f"{_PREFIX}current-metrics", "status", "currentMetrics"),
    (f"{_PREFIX}conditions", "status", "conditions"),
)
_DEFAULT_LOAD = 80


def to_v1(tree: JsonObject) -> JsonObject:
    """A kept autoscaler as v1 shows it."""
    spec, status = dict(tree.get("spec") or {}), dict(tree.get("status") or {})
    annotations = {key: value for key, value in _annotations(tree).items() if not _is_carrier(key)}
    for target in _loads(spec.get("metrics"), "target"):
        spec.setdefault("targetCPUUtilizationPercentage", target)
    for current in _loads(status.get("currentMetrics"), "current"):
        status["currentCPUUtilizationPercentage"] = current
    others = [metric for metric in spec.get("metrics") or () if not list(_loads([metric], "target"))]
    parts = {"spec": {**spec, "metrics": others}, "status": status}
    for annotation, part, field in _CARRIED:
        if parts[part].get(field):
            annotations[annotation] = encode_json(parts[part][field]).decode()
        spec.pop(field, None)
        status.pop(field, None)
    return _assembled(tree, annotations, spec, {"currentReplicas": 0, **status})


def to_v2(tree: JsonObject) -> JsonObject:
    """What a client of v1 wrote, in the form that is kept."""
    spec, status = dict(tree.get("spec") or {}), dict(tree.get("status") or {})
    parts = {"spec": spec, "status": status}
    for annotation, part, field in _CARRIED:
        carried = _read(_annotations(tree).get(annotation))
        if carried:
            parts[part][field] = carried
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is None and not spec.get("metrics"):
        target = _DEFAULT_LOAD
    if target is not None:
        spec["metrics"] = [*(spec.get("metrics") or ()), _load("target", {"type": "Utilization"}, target)]
    current = status.pop("currentCPUUtilizationPercentage", None)
    if current is not None and not status.get("currentMetrics"):
        status["currentMetrics"] = [_load("current", {}, current)]
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    annotations = {key: value for key, value in _annotations(tree).items() if not _is_carrier(key)}
    return _assembled(tree, annotations, spec, {"currentMetrics": None, "desiredReplicas": 0, **status})


def _annotations(tree: JsonObject) -> dict[str, str]:
    return tree["metadata"].get("annotations") or {}


def _is_carrier(key: str) -> bool:
    return any(key == annotation for annotation, _part, _field in _CARRIED)


def _loads(metrics: list[Any] | None, part: str) -> Iterator[int]:
    """The processor's utilization among metrics, if it is there."""
    for metric in metrics or ():
        resource = metric.get("resource") or {}
        load = (resource.get(part) or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and load is not None:
            yield load


def _load(part: str, amounts: JsonObject, percent: int) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", part: {**amounts, "averageUtilization": percent}}}


def _read(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None  # somebody else's text


def _assembled(tree: JsonObject, annotations: dict[str, str], spec: JsonObject, status: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in tree["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    whole = {**tree, "metadata": metadata, "spec": spec}
    return {**whole, "status": status} if "status" in tree else whole
