"""The metadata every object has: its names, labels, annotations, owners and finalizers, judged as for any kind.

Rules by kind are only in how a name may look (``NAMES``). What the server itself writes is not judged here, except
that nothing may be added to the finalizers of an object that is going away.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from heliostat.embedded.kinds.rules.causes import each_invalid, forbidden, invalid, required, show, too_long
from heliostat.embedded.kinds.rules.label_rules import label_causes
from heliostat.embedded.kinds.rules.name_rules import (
    dns1035_label_problems,
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
)
from heliostat.embedded.kinds.rules.text_rules import config_key_problems, path_segment_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

NameRule: TypeAlias = Callable[[str], Sequence[str]]

_RBAC = "rbac.authorization.k8s.io"
NAMES: dict[str, NameRule] = {
    "namespaces": dns1123_label_problems,
    "services": dns1035_label_problems,
    "statefulsets.apps": dns1123_label_problems,
    f"roles.{_RBAC}": path_segment_problems,
    f"rolebindings.{_RBAC}": path_segment_problems,
    f"clusterroles.{_RBAC}": path_segment_problems,
    f"clusterrolebindings.{_RBAC}": path_segment_problems,
    "events": path_segment_problems,
    "leasecandidates.coordination.k8s.io": config_key_problems,
}
# Built-in kinds whose finalizers need no domain, as those of custom resources.
FREE_FINALIZERS = frozenset(
    {"leases.coordination.k8s.io", "leasecandidates.coordination.k8s.io", "runtimeclasses.node.k8s.io"}
)
LARGEST_ANNOTATIONS = 256 * 1024
# How often kube-apiserver judges the metadata of a changed object again when it comes to its kind: as of a new one, and
# as of a changed one. It tells every problem each time.
_ONCE = (0, 1)
_JUDGED_AGAIN = {
    **dict.fromkeys(
        (
            "configmaps",
            "endpoints",
            "namespaces",
            "nodes",
            "pods",
            "replicationcontrollers",
            "secrets",
            "serviceaccounts",
            "jobs.batch",
            "ingressclasses.networking.k8s.io",
            "ingresses.networking.k8s.io",
            "networkpolicies.networking.k8s.io",
            "storageclasses.storage.k8s.io",
        ),
        (1, 1),
    ),
    **{f"{plural}.{_RBAC}": (2, 1) for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")},
    "endpointslices.discovery.k8s.io": (1, 0),
    "limitranges": (1, 0),
    "persistentvolumeclaims": (2, 1),
    "persistentvolumes": (2, 0),
    "poddisruptionbudgets.policy": (0, 0),
}
_IMMUTABLE = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_GOES_LAST, _LEAVES_OTHERS = "foregroundDeletion", "orphan"


def name_rule(storage_name: str) -> NameRule:
    return NAMES.get(storage_name, dns1123_subdomain_problems)


def new_metadata_causes(metadata: JsonObject, rule: NameRule, *, is_custom: bool = False) -> Iterator[Cause]:
    """Of an object that is about to be created; a generated name is in place already."""
    prefix = metadata.get("generateName")
    if prefix:
        yield from each_invalid("metadata.generateName", prefix, rule(_without_trailing_dash(prefix)))
    name = metadata.get("name")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from each_invalid("metadata.name", name, rule(name))
    yield from _shared_causes(metadata)
    if not is_custom:
        yield from finalizer_name_causes(metadata.get("finalizers") or [], "metadata.finalizers")


def changed_metadata_causes(
    metadata: JsonObject, before: JsonObject, storage_name: str, *, is_custom: bool = False, is_main_door: bool = True
) -> Iterator[Cause]:
    """As of any object, and then as often as its kind judges it again."""
    yield from _shared_causes(metadata)
    yield from _change_causes(metadata, before)
    as_new, as_changed = _JUDGED_AGAIN.get(storage_name, _ONCE) if is_main_door else _ONCE
    for judge in (_shared_causes,) * as_new + (partial(_change_causes, before=before),) * as_changed:
        yield from judge(metadata)
        if not is_custom:
            yield from finalizer_name_causes(metadata.get("finalizers") or [], "metadata.finalizers")


def _change_causes(metadata: JsonObject, before: JsonObject) -> Iterator[Cause]:
    if "deletionTimestamp" in before:
        added = sorted(set(metadata.get("finalizers") or ()) - set(before.get("finalizers") or ()))
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            yield forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new finalizers"
                f" []string{{{listed}}}",
            )
    for field in _IMMUTABLE:
        if metadata.get(field) != before.get(field):
            yield invalid(f"metadata.{field}", metadata.get(field), "field is immutable")
    yield from _told_causes(metadata)


def _without_trailing_dash(prefix: str) -> str:
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _shared_causes(metadata: JsonObject) -> Iterator[Cause]:
    yield from _told_causes(metadata)
    yield from _finalizer_causes(metadata.get("finalizers") or [])


def _told_causes(metadata: JsonObject) -> Iterator[Cause]:
    yield from label_causes(metadata.get("labels"), "metadata.labels")
    yield from annotation_causes(metadata.get("annotations"), "metadata.annotations")
    if owners := metadata.get("ownerReferences"):
        yield from _owner_causes(owners)


def annotation_causes(annotations: dict[str, str] | None, path: str) -> Iterator[Cause]:
    size = 0
    for key, value in (annotations or {}).items():
        yield from each_invalid(path, key, label_key_problems(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > LARGEST_ANNOTATIONS:
        yield too_long(path, LARGEST_ANNOTATIONS)


def _owner_causes(owners: list[Any]) -> Iterator[Cause]:
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        version = owner.get("apiVersion", "").rpartition("/")[2]
        if not version:
            yield invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield invalid(f"{path}.{field}", owner.get(field, ""), "must not be empty")
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            why = "/v1, Kind=Event is disallowed from being an owner"
            yield Cause("FieldValueInvalid", f"Invalid value: {_show_owner(owner)}: {why}", path)
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                why = (
                    'Only one reference can have Controller set to true. Found "true" in references for'
                    f" {controller} and {this}"
                )
                shown = ",".join(map(_show_owner, owners))
                yield Cause("FieldValueInvalid", f"Invalid value: [{shown}]: {why}", path)
            controller = controller or this


def _show_owner(owner: JsonObject) -> str:
    """As JSON, in the order in which a typed server writes the fields."""
    fields = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    pairs = (f'"{name}":{show(owner[name])}' for name in fields if name in owner)
    return "{" + ",".join(pairs) + "}"


def _finalizer_causes(finalizers: list[str]) -> Iterator[Cause]:
    path = "metadata.finalizers"
    for name in finalizers:
        yield from each_invalid(path, name, label_key_problems(name))
    if _GOES_LAST in finalizers and _LEAVES_OTHERS in finalizers:
        yield invalid(path, finalizers, f"finalizer {_LEAVES_OTHERS} and {_GOES_LAST} cannot be both set")


def finalizer_name_causes(finalizers: list[str], path: str) -> Iterator[Cause]:
    """Built-in kinds insist on a domain before the name of a finalizer that is not Kubernetes' own."""
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"{path}[{index}]", name, why)


def namespace_finalizer_causes(finalizers: list[str]) -> Iterator[Cause]:
    """Those in the spec of a namespace, which hold it until it is empty."""
    for index, name in enumerate(finalizers):
        yield from each_invalid(f"spec.finalizers[{index}]", name, label_key_problems(name))
    yield from finalizer_name_causes(finalizers, "spec.finalizers")


STANDARD_FINALIZERS = frozenset({"kubernetes", _GOES_LAST, _LEAVES_OTHERS})
