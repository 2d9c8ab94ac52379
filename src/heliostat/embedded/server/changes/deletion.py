"""Deleting: now, after a grace period, or when the last finalizer is gone.

Rules: a Pod that a node may be running gets its grace period, everything else goes at once unless finalizers hold
it; Foreground and Orphan are finalizers that the garbage collector takes off; a second deletion may shorten a grace
period, never lengthen it.
"""

from typing import Any

from heliostat.embedded.server.changes.delete_options import DeleteOptions
from heliostat.embedded.server.custom.custom_resources import CLEANUP, set_terminating
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp, parse_timestamp

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_POD_GRACE = 30
_ORPHANING = frozenset({"jobs.batch", "replicationcontrollers"})
ORPHANING_JOB = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)


def mark_deleted(tree: JsonObject, resource: Resource, options: DeleteOptions, now: float) -> tuple[JsonObject, bool]:
    """The object after the deletion was asked for, and whether it goes now."""
    if resource.storage_name in _ENDING and "deletionTimestamp" not in tree["metadata"]:
        return _ENDING[resource.storage_name](tree, resource, options, now), False
    if has_content_to_go(tree, resource):
        return tree, False
    metadata = dict(tree["metadata"])
    before = metadata.get("deletionGracePeriodSeconds")
    if resource.storage_name == "pods" and before:
        wanted = _wanted_grace(options)
        if wanted is None or wanted >= before:
            return tree, False
        metadata |= _shorten(metadata, wanted, now)
    elif "deletionTimestamp" not in metadata:
        metadata |= _begin(metadata, _grace_period(tree, resource, options), now)
    else:
        metadata["deletionGracePeriodSeconds"] = 0
    finalizers = _finalizers_after(metadata.pop("finalizers", None) or [], resource, options)
    if finalizers:
        metadata["finalizers"] = finalizers
    elif metadata["deletionGracePeriodSeconds"] == 0:  # of a Pod that goes at once it is told all the same
        return ({**tree, "metadata": metadata} if resource.storage_name == "pods" else tree), True
    return {**tree, "metadata": metadata}, False


def _begin(metadata: JsonObject, grace: int, now: float) -> JsonObject:
    begun: JsonObject = {"deletionTimestamp": format_timestamp(now + grace), "deletionGracePeriodSeconds": grace}
    return {**begun, "generation": metadata["generation"] + 1} if "generation" in metadata else begun


def _shorten(metadata: JsonObject, grace: int, now: float) -> JsonObject:
    """The end moves back as far as the grace period became shorter, but not into the past."""
    end = parse_timestamp(metadata["deletionTimestamp"]) - metadata["deletionGracePeriodSeconds"] + grace
    if end < now:
        end, grace = now, min(grace, 1)
    return {"deletionTimestamp": format_timestamp(end), "deletionGracePeriodSeconds": grace}


def has_content_to_go(tree: JsonObject, resource: Resource) -> bool:
    """A namespace waits for whoever empties it to take the finalizers out of its spec."""
    return resource.storage_name == "namespaces" and bool((tree.get("spec") or {}).get("finalizers"))


def _end_namespace(tree: JsonObject, resource: Resource, options: DeleteOptions, now: float) -> JsonObject:
    metadata = {**tree["metadata"], "deletionTimestamp": format_timestamp(now)}
    finalizers = _finalizers_after(metadata.get("finalizers") or [], resource, options)
    if finalizers:
        metadata["finalizers"] = finalizers
    return {**tree, "metadata": metadata, "status": {**(tree.get("status") or {}), "phase": "Terminating"}}


def _end_definition(tree: JsonObject, _resource: Resource, _options: DeleteOptions, now: float) -> JsonObject:
    """A definition waits for its objects."""
    finalizers = [each for each in tree["metadata"].get("finalizers") or () if each != CLEANUP]
    metadata = {**tree["metadata"], "deletionTimestamp": format_timestamp(now), "finalizers": [*finalizers, CLEANUP]}
    return set_terminating({**tree, "metadata": metadata}, "InstanceDeletionPending", now)


# Kinds that are held by what they contain: the first deletion only begins their end.
_ENDING = {"namespaces": _end_namespace, "customresourcedefinitions.apiextensions.k8s.io": _end_definition}


def orphans_by_default(resource: Resource, options: DeleteOptions) -> bool:
    """Two old kinds leave their Pods behind unless they are told what to do with them."""
    is_told = options.propagation_policy is not None or options.orphan_dependents is not None
    return resource.storage_name in _ORPHANING and not is_told


def _finalizers_after(finalizers: list[Any], resource: Resource, options: DeleteOptions) -> list[Any]:
    """What an earlier deletion has chosen counts unless this one says otherwise."""
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None and not {FOREGROUND, ORPHAN} & {*finalizers} and orphans_by_default(resource, options):
        policy = "Orphan"
    if policy is None:
        return finalizers
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(policy)
    others = [name for name in finalizers if name not in (FOREGROUND, ORPHAN)]
    after = [*others, wanted] if wanted else others
    return finalizers if {*after} == {*finalizers} else after


def _grace_period(tree: JsonObject, resource: Resource, options: DeleteOptions) -> int:
    """Of an object that is deleted for the first time."""
    phase = (tree.get("status") or {}).get("phase")
    spec = tree.get("spec") or {}
    if resource.storage_name != "pods" or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    wanted = _wanted_grace(options)
    return wanted if wanted is not None else _not_negative(int(spec.get("terminationGracePeriodSeconds", _POD_GRACE)))


def _wanted_grace(options: DeleteOptions) -> int | None:
    return None if options.grace_period_seconds is None else _not_negative(options.grace_period_seconds)


def _not_negative(grace: int) -> int:
    """Less than nothing is the shortest time there is."""
    return grace if grace >= 0 else 1


def deletion_cautions(resource: Resource, options: DeleteOptions) -> tuple[str, ...]:
    return (ORPHANING_JOB,) if resource.kind == "Job" and orphans_by_default(resource, options) else ()
