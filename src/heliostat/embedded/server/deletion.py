"""Deleting: now, after a grace period, or when the last finalizer is gone.

Rules: a Pod that a node may be running gets its grace period, everything else goes at once unless finalizers hold
it; Foreground and Orphan are finalizers that the garbage collector takes off; a second deletion may shorten a grace
period, never lengthen it; preconditions must hold for the version that is deleted.
"""

from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.server.bodies import read_body
from heliostat.embedded.server.errors import bad_request, conflict
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.metadata import conflicting_uid
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_POLICIES = ("Background", "Foreground", "Orphan")
_POD_GRACE = 30
_ORPHANING = frozenset({"jobs.batch", "replicationcontrollers"})
ORPHANING_JOB = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)


class Preconditions(Struct, frozen=True, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Struct, frozen=True, rename="camel"):
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


def read_delete_options(request: Request) -> DeleteOptions:
    """From the body where there is one, else from the query."""
    if request.body.strip():
        try:
            options = msgspec.convert(read_body(request), DeleteOptions)
        except msgspec.ValidationError as error:
            raise bad_request(f"invalid DeleteOptions: {error}") from None
    else:
        grace = request.parameter("gracePeriodSeconds")
        orphan = request.parameter("orphanDependents")
        options = DeleteOptions(
            grace_period_seconds=int(grace) if grace.lstrip("-").isdecimal() else None,
            orphan_dependents=orphan == "true" if orphan else None,
            propagation_policy=request.parameter("propagationPolicy") or None,
            dry_run=request.query.get("dryRun"),
        )
    if options.orphan_dependents is not None and options.propagation_policy is not None:
        raise bad_request("orphanDependents and deletionPropagation cannot be both set")
    if options.propagation_policy not in (None, *_POLICIES):
        raise bad_request(
            f"invalid DeleteOptions: propagationPolicy {options.propagation_policy!r} is not one of"
            f" {', '.join(_POLICIES)}"
        )
    return options


def check_preconditions(tree: JsonObject, resource: Resource, options: DeleteOptions) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    metadata = tree["metadata"]
    name = metadata["name"]
    if wanted.uid is not None and wanted.uid != metadata["uid"]:
        raise conflicting_uid(resource, name, wanted.uid, metadata["uid"])
    version = metadata["resourceVersion"]
    if wanted.resource_version is not None and wanted.resource_version != version:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {wanted.resource_version},"
            f" ResourceVersion in object meta: {version}"
        )
        raise conflict(resource.kind, resource.group, name, why)


def mark_deleted(tree: JsonObject, resource: Resource, options: DeleteOptions, now: float) -> tuple[JsonObject, bool]:
    """The object after the deletion was asked for, and whether it goes now."""
    metadata = dict(tree["metadata"])
    finalizers = _finalizers_after(metadata.get("finalizers") or [], resource, options)
    grace = _grace_period(tree, resource, options)
    if not finalizers and grace == 0:
        return _last_look(tree, now) if resource.storage_name == "pods" else tree, True
    before = metadata.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in metadata or (before is not None and grace < before):
        metadata["deletionTimestamp"] = format_timestamp(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    marked: JsonObject = {**tree, "metadata": metadata}
    if "generation" in metadata and "deletionTimestamp" not in tree["metadata"]:
        metadata["generation"] += 1
    return marked, False


def _last_look(pod: JsonObject, now: float) -> JsonObject:
    """A Pod that goes at once still says that it was deleted."""
    metadata = {**pod["metadata"], "deletionGracePeriodSeconds": 0}
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_timestamp(now)
        metadata["generation"] = metadata.get("generation", 0) + 1
    return {**pod, "metadata": metadata}


def orphans_by_default(resource: Resource, options: DeleteOptions) -> bool:
    """Two old kinds leave their Pods behind unless they are told what to do with them."""
    is_told = options.propagation_policy is not None or options.orphan_dependents is not None
    return resource.storage_name in _ORPHANING and not is_told


def _finalizers_after(finalizers: list[Any], resource: Resource, options: DeleteOptions) -> list[Any]:
    policy = options.propagation_policy
    if options.orphan_dependents or orphans_by_default(resource, options):
        policy = "Orphan"
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(policy or "")
    others = [name for name in finalizers if name not in (FOREGROUND, ORPHAN)] if policy else list(finalizers)
    return [*others, wanted] if wanted else others


def _grace_period(tree: JsonObject, resource: Resource, options: DeleteOptions) -> int:
    if resource.storage_name != "pods":
        return 0
    phase = (tree.get("status") or {}).get("phase")
    spec = tree.get("spec") or {}
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if options.grace_period_seconds is not None:
        return max(options.grace_period_seconds, 0)
    return int(spec.get("terminationGracePeriodSeconds", _POD_GRACE))
