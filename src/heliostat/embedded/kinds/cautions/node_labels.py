"""Labels of nodes that have better names by now, wherever a selector mentions them."""

from collections.abc import Iterable, Iterator
from typing import Any

from heliostat.embedded.kinds.rules.name_rules import label_value_problems
from heliostat.kube.jsontree import JsonObject

DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def label_cautions(path: str, labels: Iterable[str]) -> Iterator[str]:
    """Of the keys of a map."""
    for key in labels:
        if key in DEPRECATED_LABELS:
            yield f"{path}[{key}]: {DEPRECATED_LABELS[key]}"


def key_cautions(path: str, key: str) -> Iterator[str]:
    """Of a field that holds one key."""
    if key in DEPRECATED_LABELS:
        yield f"{path}: {key} is {DEPRECATED_LABELS[key]}"


def expression_cautions(path: str, expressions: list[Any] | None, *, reads_values: bool = False) -> Iterator[str]:
    for index, expression in enumerate(expressions or ()):
        at = f"{path}.matchExpressions[{index}]"
        yield from key_cautions(f"{at}.key", expression.get("key", ""))
        for position, value in enumerate(expression.get("values") or () if reads_values else ()):
            for problem in label_value_problems(value):
                yield f"{at}.values[{position}]: {value} is invalid, {problem}"


def node_affinity_cautions(affinity: JsonObject | None, path: str) -> Iterator[str]:
    required = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    at = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        yield from expression_cautions(f"{at}[{index}]", term.get("matchExpressions"))
    at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate((affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        wished = term.get("preference") or {}
        where = f"{at}[{index}].preference"
        yield from expression_cautions(where, wished.get("matchExpressions"), reads_values=True)
