"""The ``Scale`` of an object: how many replicas are wanted and how many there are, the same for every kind.

A built-in kind has them in ``spec.replicas`` and ``status.replicas``; a custom one says where in its definition.
"""

from typing import Any

from heliostat.embedded.kinds.rules.causes import NOT_NEGATIVE
from heliostat.embedded.kinds.rules.causes import invalid as invalid_value
from heliostat.embedded.refusals import RefusedError, invalid
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.selectors import SelectorError, selector_of

SCALE_DEFINITION = "autoscaling.v1.Scale"
_BUILT_IN: JsonObject = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def build_scale(tree: JsonObject, paths: JsonObject | None) -> JsonObject:
    metadata, where = tree["metadata"], paths or _BUILT_IN
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec = {"replicas": wanted} if (wanted := _at(tree, where["specReplicasPath"])) else {}
    status: JsonObject = {"replicas": _at(tree, where["statusReplicasPath"]) or 0}
    selector = _selector_text(tree, paths)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": spec,
        "status": status,
    }


def _selector_text(tree: JsonObject, paths: JsonObject | None) -> str:
    if paths is not None:
        path = paths.get("labelSelectorPath")
        return str(_at(tree, path) or "") if path else ""
    selector = (tree.get("spec") or {}).get("selector") or {}
    try:
        is_plain = all(isinstance(value, str) for value in selector.values())
        return str(selector_of({"matchLabels": selector} if is_plain else selector))
    except SelectorError:
        return ""


def _at(tree: JsonObject, path: str) -> Any:
    value: Any = tree
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def scaled(tree: JsonObject, scale: JsonObject, paths: JsonObject | None) -> JsonObject:
    """The object with the replicas that the scale asks for."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0 and paths is None:  # a custom object is judged itself
        raise _refuse(tree, replicas)
    changed: JsonObject = copy_tree(tree)
    *parents, last = (paths or _BUILT_IN)["specReplicasPath"].strip(".").split(".")
    node = changed
    for part in parents:
        node = node.setdefault(part, {})
    node[last] = replicas
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        changed["metadata"]["resourceVersion"] = version
    return changed


def _refuse(tree: JsonObject, replicas: int) -> RefusedError:
    causes = [invalid_value("spec.replicas", replicas, NOT_NEGATIVE)]
    return invalid("Scale", "autoscaling", tree["metadata"]["name"], causes)
