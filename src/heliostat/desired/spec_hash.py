"""The spec hash: has anything changed that only new Pods can take up? (raycluster.md §6)

The hash is taken of a canonical projection with a version of its own: fields that scale or schedule a running
cluster are left out, absent and empty mean the same, keys are sorted, quantities are compared by value. It does not
reproduce KubeRay's bytes; ``ray.io/kuberay-version`` differs between the two operators, and a different version
re-stamps instead of recreating.
"""

import hashlib
from base64 import b32hexencode
from typing import Any

import msgspec

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.kube.quantity import Quantity, QuantityError

PROJECTION_VERSION = 1

_MUTED_IN_SPEC = ("upgradeStrategy",)
_MUTED_IN_GROUP = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
_MUTED_IN_POD_SPEC = ("tolerations", "schedulingGates")  # Kueue writes these
_QUANTITY_MAPS = ("limits", "requests")


def project_spec(spec: RayClusterSpec, *, mute_suspend: bool = False) -> JsonObject:
    tree: JsonObject = msgspec.to_builtins(spec)
    for key in (*_MUTED_IN_SPEC, *(("suspend",) if mute_suspend else ())):
        tree.pop(key, None)
    groups = tree.get("workerGroupSpecs") or []
    for group in groups:
        for key in _MUTED_IN_GROUP:
            group.pop(key, None)
    for group in (tree["headGroupSpec"], *groups):
        pod_spec = dict(group["template"].get("spec") or {})
        for key in _MUTED_IN_POD_SPEC:
            pod_spec.pop(key, None)
        group["template"] = {**group["template"], "spec": pod_spec}
    canonical: JsonObject = _canonical(tree)
    return canonical


def hash_spec(spec: RayClusterSpec, *, mute_suspend: bool = False) -> str:
    """A RayService mutes ``suspend`` too: Kueue may suspend its cluster without asking for a new one."""
    encoded = msgspec.json.encode([PROJECTION_VERSION, project_spec(spec, mute_suspend=mute_suspend)])
    return b32hexencode(hashlib.sha1(encoded, usedforsecurity=False).digest()).decode()


def _canonical(value: Any) -> Any:
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if not isinstance(value, dict):
        return value
    canonical: JsonObject = {}
    for key in sorted(value):
        item = value[key]
        if isinstance(item, dict):
            item = _canonical_quantities(item) if key in _QUANTITY_MAPS else _canonical(item)
        elif isinstance(item, list):
            item = _canonical(item)
        if item is not None and item != {} and item != []:
            canonical[key] = item
    return canonical


def _canonical_quantities(quantities: JsonObject) -> JsonObject:
    return {name: _canonical_quantity(quantities[name]) for name in sorted(quantities)}


def _canonical_quantity(value: Any) -> Any:
    try:
        return str(Quantity.parse(value))
    except QuantityError:
        return value
