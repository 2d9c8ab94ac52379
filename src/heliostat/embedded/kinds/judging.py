"""Everything that is wrong with an object, whatever its kind: its metadata first, then what its kind says."""

from collections.abc import Iterator

from heliostat.embedded.kinds.event_validation import changed_event_causes, event_causes
from heliostat.embedded.kinds.object_metadata import (
    FREE_FINALIZERS,
    changed_metadata_causes,
    name_rule,
    namespace_finalizer_causes,
    new_metadata_causes,
)
from heliostat.embedded.kinds.pods.pod_resize import resize_causes
from heliostat.embedded.kinds.pods.pod_validation import ephemeral_container_causes
from heliostat.embedded.kinds.registry import changed_causes, rules_of
from heliostat.embedded.kinds.small_validation import disruption_budget_causes
from heliostat.embedded.kinds.workloads.job_labels import has_generated_labels
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

EVENTS = "events"
# Judged by their names only when all else is well.
_NAMED_LAST = {EVENTS: event_causes, "poddisruptionbudgets.policy": disruption_budget_causes}
_POD_DOORS = {"ephemeralcontainers": ephemeral_container_causes, "resize": resize_causes}


def new_object_causes(
    tree: JsonObject, storage_name: str, group: str = "", *, is_custom: bool = False
) -> Iterator[Cause]:
    if storage_name in _NAMED_LAST and not (storage_name == EVENTS and group):
        wrong = list(_NAMED_LAST[storage_name](tree))
        if wrong:
            yield from wrong
            return
    metadata = tree["metadata"]
    if storage_name == "jobs.batch" and has_generated_labels(tree):
        metadata = {key: value for key, value in metadata.items() if key != "labels"}
    yield from new_metadata_causes(
        metadata, name_rule(storage_name), is_custom=is_custom or storage_name in FREE_FINALIZERS
    )
    if is_custom:
        return
    if storage_name == EVENTS:
        if group:
            yield from event_causes(tree, is_strict=True)
    elif (check := rules_of(storage_name).check_new) is not None:
        yield from check(tree)


def changed_object_causes(
    tree: JsonObject,
    old: JsonObject,
    storage_name: str,
    group: str = "",
    *,
    subresource: str = "",
    is_custom: bool = False,
) -> Iterator[Cause]:
    yield from changed_metadata_causes(
        tree["metadata"],
        old["metadata"],
        storage_name,
        is_custom=is_custom or storage_name in FREE_FINALIZERS,
        is_main_door=not subresource,
    )
    if is_custom:
        return
    rules = rules_of(storage_name)
    if subresource == "status":
        if rules.check_status is not None:
            yield from rules.check_status(tree, old)
    elif storage_name == "pods" and subresource in _POD_DOORS:
        yield from _POD_DOORS[subresource](tree, old)
    elif storage_name == "namespaces" and subresource == "finalize":
        yield from namespace_finalizer_causes((tree.get("spec") or {}).get("finalizers") or [])
    elif storage_name == EVENTS:
        yield from changed_event_causes(tree, old, is_strict=bool(group))
    elif subresource in ("", "scale"):
        yield from changed_causes(rules, tree, old)
