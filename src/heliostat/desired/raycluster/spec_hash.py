"""The spec hash: has anything changed that running Pods do not have? (raycluster.md §6)

The hash is taken of a canonical projection with a version of its own: fields that scale or schedule a running
cluster are left out, absent and empty mean the same, as do absent and zero where Kubernetes' own types make no
difference, keys are sorted, quantities are compared by value. It does not reproduce KubeRay's bytes;
``ray.io/kuberay-version`` differs between the two operators, and a different version re-stamps instead of recreating.

It has two halves. The first is of what only new Pods can take up: the cluster's own part, then each worker group. The
second is of what the operator brings about under Pods that run, or never puts into one. Any other half means another
hash, which is what Recreate asks; whether an edit is still to be taken up (``raycluster.unapplied``) the first
half alone tells. A group behind the others leaves the digest of those before it as it was, so the halves of all
beginnings of the list are by-products of one pass.
"""

import hashlib
from base64 import b32hexencode
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.kube.quantity import Quantity, QuantityError

PROJECTION_VERSION = 2
HALF = 16  # characters
_HALF_BYTES = 10

_MUTED_IN_SPEC = ("upgradeStrategy",)
_MUTED_IN_GROUP = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
_MUTED_IN_POD_SPEC = ("tolerations", "schedulingGates")  # Kueue writes these
_QUANTITY_MAPS = ("limits", "requests")
_QUANTITIES = ("sizeLimit",)
# KubeRay: R6-3, plain fields of the API types, which lose false, 0 and "" whenever a typed client writes the object. In
# other fields these say something: runAsNonRoot may be false although it is true of the Pod.
_UNSET_WHEN_ZERO = frozenset({
    "rayVersion", "value", "subPath", "hostNetwork", "hostPID", "hostIPC", "readOnly", "stdin", "stdinOnce", "tty",
    "initialDelaySeconds", "hostPort", "nodePort", "targetPort", "publishNotReadyAddresses",
})  # fmt: skip
# Their keys are anybody's words.
_FREE_MAPS = frozenset({
    "annotations", "labels", "rayStartParams", "headServiceAnnotations", "matchLabels", "nodeSelector", "selector",
    "volumeAttributes", "options",
})  # fmt: skip

# Followed under running Pods, or in no Pod at all: R10-1, R7-51 (the autoscaler reads its fields from the RayCluster).
_FOLLOWED_IN_SPEC = (
    ("suspend",),
    ("managedBy",),
    ("networkPolicy",),
    ("headGroupSpec", "enableIngress"),
    ("headGroupSpec", "ingressOptions"),
    ("autoscalerOptions", "idleTimeoutSeconds"),
    ("autoscalerOptions", "upscalingMode"),
    *(("gcsFaultToleranceOptions", "storage", key) for key in ("size", "storageClassName", "accessModes")),
    ("gcsFaultToleranceOptions", "storage", "deletionPolicy"),
)
_FOLLOWED_IN_GROUP = (("suspend",), ("idleTimeoutSeconds",), ("priority",))


class Projection(Struct, frozen=True):
    """What counts of a spec, in canonical form."""

    cluster: JsonObject  # without the groups
    groups: tuple[JsonObject, ...]
    followed: JsonObject


class SpecHash(Struct, frozen=True):
    """``in_force`` holds the first half of every hash whose Pods lack nothing that this spec asks of them."""

    text: str
    in_force: frozenset[str]


def project_spec(spec: RayClusterSpec, *, mute_suspend: bool = False) -> Projection:
    tree: JsonObject = msgspec.to_builtins(spec)
    for key in (*_MUTED_IN_SPEC, *(("suspend",) if mute_suspend else ())):
        tree.pop(key, None)
    groups: list[JsonObject] = tree.pop("workerGroupSpecs", None) or []
    for group in groups:
        for key in _MUTED_IN_GROUP:
            group.pop(key, None)
    for group in (tree["headGroupSpec"], *groups):
        pod_spec = dict(group["template"].get("spec") or {})
        for key in _MUTED_IN_POD_SPEC:
            pod_spec.pop(key, None)
        group["template"] = {**group["template"], "spec": pod_spec}
    followed = _take(tree, _FOLLOWED_IN_SPEC) | {"groups": [_take(group, _FOLLOWED_IN_GROUP) for group in groups]}
    return Projection(_canonical(tree), tuple(map(_canonical, groups)), _canonical(followed))


def _take(tree: JsonObject, paths: tuple[tuple[str, ...], ...]) -> JsonObject:
    """Takes these fields out of the tree."""
    return {".".join(path): _pop(tree, path) for path in paths}


def _pop(tree: JsonObject, path: tuple[str, ...]) -> Any:
    for key in path[:-1]:
        tree = tree.get(key) or {}
    return tree.pop(path[-1], None)


def hash_spec(spec: RayClusterSpec, *, mute_suspend: bool = False) -> SpecHash:
    """A RayService mutes ``suspend`` too: Kueue may suspend its cluster without asking for a new one."""
    projection = project_spec(spec, mute_suspend=mute_suspend)
    digest = _sha1([PROJECTION_VERSION, projection.cluster])
    halves = [_half(digest)]
    for group in projection.groups:
        digest.update(msgspec.json.encode(group))
        halves.append(_half(digest))
    return SpecHash(halves[-1] + _half(_sha1([PROJECTION_VERSION, projection.followed])), frozenset(halves))


def _sha1(value: Any) -> Any:
    return hashlib.sha1(msgspec.json.encode(value), usedforsecurity=False)


def _half(digest: Any) -> str:
    """Of what was fed so far; more may follow."""
    return b32hexencode(digest.digest()[:_HALF_BYTES]).decode()


def _canonical(value: Any, *, is_free: bool = False) -> Any:
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if not isinstance(value, dict):
        return value
    canonical: JsonObject = {}
    for key in sorted(value):
        item = value[key]
        if not is_free and not item and key in _UNSET_WHEN_ZERO:
            continue
        item = _canonical(item) if is_free else _canonical_field(key, item)
        if item is not None and item != {} and item != []:
            canonical[key] = item
    return canonical


def _canonical_field(key: str, value: Any) -> Any:
    if key in _QUANTITIES:
        return _canonical_quantity(value)
    if key in _QUANTITY_MAPS and isinstance(value, dict):
        return _canonical_quantities(value)
    return _canonical(value, is_free=key in _FREE_MAPS)


def _canonical_quantities(quantities: JsonObject) -> JsonObject:
    return {name: _canonical_quantity(quantities[name]) for name in sorted(quantities)}


def _canonical_quantity(value: Any) -> Any:
    try:
        return str(Quantity.parse(value))
    except QuantityError:
        return value
