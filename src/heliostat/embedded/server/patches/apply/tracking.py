"""The two calls that keep managedFields: one for an apply, one for every other write.

Rules: an object without managedFields is not tracked until somebody applies; that first apply finds everything that
was there owned by ``before-first-apply``. Names, versions and other facts about the object itself are never owned. The
time of an entry moves when its owner changed the object. Of more than ten update entries the oldest are put together.
"""

from typing import Any

from heliostat.embedded.refusals import bad_request
from heliostat.embedded.server.patches.apply import last_applied
from heliostat.embedded.server.patches.apply.conflicts import ConflictsError, conflict_refusal
from heliostat.embedded.server.patches.apply.elements import field_path
from heliostat.embedded.server.patches.apply.field_set import NO_FIELDS, build_field_set
from heliostat.embedded.server.patches.apply.old_updates import put_oldest_together
from heliostat.embedded.server.patches.apply.owners import (
    ManagedFieldsError,
    Owned,
    Owner,
    Owners,
    Ownership,
    applier,
    read_owners,
    updater,
    write_owners,
)
from heliostat.embedded.server.patches.apply.ownership import own_apply, own_update
from heliostat.embedded.server.patches.apply.typed_check import describe_misfits, misfits
from heliostat.embedded.server.patches.apply.values import is_equal
from heliostat.embedded.server.patches.apply.versions import Endpoint, show_kind
from heliostat.embedded.server.patches.errors import unforeseen
from heliostat.embedded.server.patches.go_values import not_an_object
from heliostat.kube.jsontree import JsonObject

BEFORE_FIRST_APPLY = "before-first-apply"

_WITHOUT_TIME = ("scale",)  # kube-apiserver loses the time on the way from the scale to its object
_PRESENT_UPDATE = Owner("", "present update")
_NEVER_OWNED = build_field_set(
    (
        field_path("apiVersion"),
        field_path("kind"),
        field_path("metadata"),
        *(
            field_path("metadata", name)
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    )
)


def apply_patch(
    live: JsonObject | None, body: Any, endpoint: Endpoint, *, manager: str, now_text: str, force: bool = False
) -> JsonObject:
    """The object after an apply, with its managedFields; not yet defaulted, validated or checked against ``live``.

    ``live`` is None when the apply creates the object. Raises ``ApplyConflictError`` for fields of others, unless
    ``force`` is set, and ``RefusedError`` for what is no object of this endpoint.
    """
    owners = _read_live_owners(live)
    applied = _check_kind(body, endpoint)
    tree = without_managed_fields(endpoint.convert(live, endpoint.api_version)) if live else endpoint.empty
    is_first = not owners.owned
    if is_first:
        owners = _own_what_is_there(tree, endpoint, now_text)
    if isinstance(_entries(applied), list):
        raise bad_request("metadata.managedFields must be nil")
    _check_types(applied, endpoint, "patch", allow_repeats=False)
    _check_types(tree, endpoint, "live", allow_repeats=True)
    result, owners = _apply(tree, applied, owners, endpoint, manager, now_text, force)
    if is_first and result is tree and live and applier(manager, endpoint.subresource) not in owners.owned:
        return live  # who asks for nothing begins nothing
    if manager == last_applied.MANAGER:
        result = last_applied.renew_annotation(result, applied)
    return with_managed_fields(result, owners)


def track_update(
    live: JsonObject | None, new: JsonObject, endpoint: Endpoint, *, manager: str, now_text: str
) -> JsonObject:
    """``new``, about to be stored by a write that is no apply, with its managedFields.

    Through the object itself they may be set by the client, and an empty list drops them; a subresource keeps those of
    the live object. An object that does not fit its types loses them, as there is no telling who owns what.
    """
    owners = _owners_of_update(live, new, endpoint)
    new = without_managed_fields(new)
    if not owners.owned:
        return new
    old = without_managed_fields(endpoint.convert(live, endpoint.api_version)) if live else endpoint.empty
    if any(misfits(tree, endpoint.shape, allow_repeats=True) for tree in (old, new)):
        return new
    owners = _own_changes(old, new, owners, endpoint, manager, now_text)
    return with_managed_fields(new, put_oldest_together(owners))


def with_managed_fields(tree: JsonObject, owners: Owners) -> JsonObject:
    if not owners.owned:
        return without_managed_fields(tree)
    metadata = tree.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return {**tree, "metadata": {**fields, "managedFields": write_owners(owners)}}


def without_managed_fields(tree: JsonObject) -> JsonObject:
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return tree
    return {**tree, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _apply(
    live: JsonObject,
    applied: JsonObject,
    owners: Owners,
    endpoint: Endpoint,
    manager: str,
    now_text: str,
    force: bool,
) -> tuple[JsonObject, Owners]:
    owner = applier(manager, endpoint.subresource)
    try:
        result, owned = own_apply(live, applied, owners.owned, owner, endpoint, force=force)
    except ConflictsError as error:
        vouched = NO_FIELDS
        if manager == last_applied.MANAGER:
            vouched = last_applied.vouched_fields(live, endpoint.api_version, endpoint.shape)
        conflicts = [(other, path) for other, path in error.conflicts if not vouched.has(path)]
        if conflicts:
            raise conflict_refusal(conflicts) from None
        result, owned = own_apply(live, applied, owners.owned, owner, endpoint, force=True)
    is_unchanged = is_equal(live, result)
    times = owners.times if is_unchanged else {**owners.times, owner: now_text}
    return (live if is_unchanged else result), Owners(_strip(owned, owner), times)


def _own_what_is_there(live: JsonObject, endpoint: Endpoint, now_text: str) -> Owners:
    findings = misfits(live, endpoint.shape, allow_repeats=True)
    if findings:
        what = f"failed to convert new object ({_name(live)}; {endpoint.full_kind}) to smd typed"
        raise unforeseen(f"failed to create manager for existing fields: {what}: {describe_misfits(findings)}")
    nothing = {**endpoint.zeros, **endpoint.empty}
    return _own_changes(nothing, live, Owners(), endpoint, BEFORE_FIRST_APPLY, now_text)


def _own_changes(
    old: JsonObject, new: JsonObject, owners: Owners, endpoint: Endpoint, manager: str, now_text: str
) -> Owners:
    owned = _strip(own_update(old, new, owners.owned, _PRESENT_UPDATE, endpoint), _PRESENT_UPDATE)
    change = owned.pop(_PRESENT_UPDATE, None)
    if change is None:
        return Owners(owned, owners.times)
    owner = updater(manager, endpoint.api_version, endpoint.subresource)
    if owner in owned:
        change = Ownership(change.fields | owned[owner].fields, change.api_version)
    times = owners.times if endpoint.subresource in _WITHOUT_TIME else {**owners.times, owner: now_text}
    return Owners({**owned, owner: change}, times)


def _strip(owned: Owned, owner: Owner) -> Owned:
    """Without what can never be owned, and without the owner if that was all."""
    fields = owned[owner].fields - _NEVER_OWNED if owner in owned else NO_FIELDS
    others = {other: theirs for other, theirs in owned.items() if other != owner}
    return {**others, owner: Ownership(fields, owned[owner].api_version)} if fields else others


def _check_kind(body: Any, endpoint: Endpoint) -> JsonObject:
    applied = {} if body is None else body
    if not isinstance(applied, dict):
        problem = f"error unmarshaling JSON: while decoding JSON: {not_an_object(applied)}"
        raise bad_request(f"error decoding YAML: {problem}")
    api_version, kind = (_text(applied.get(key)) for key in ("apiVersion", "kind"))
    if (api_version, kind) != (endpoint.api_version, endpoint.kind):
        raise bad_request(f"invalid object type: {show_kind(api_version, kind)}")
    return applied


def _check_types(tree: JsonObject, endpoint: Endpoint, role: str, *, allow_repeats: bool) -> None:
    findings = misfits(tree, endpoint.shape, allow_repeats=allow_repeats)
    if findings:
        what = f"failed to create typed {role} object ({_name(tree)}; {endpoint.full_kind})"
        raise unforeseen(f"{what}: {describe_misfits(findings)}")


def _name(tree: JsonObject) -> str:
    metadata = tree.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return "/".join(_text(fields.get(key)) for key in ("namespace", "name"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read_live_owners(live: JsonObject | None) -> Owners:
    try:
        return read_owners(_entries(live))
    except ManagedFieldsError as problem:
        raise unforeseen(f"failed to decode managed fields: {problem}") from None


def _owners_of_update(live: JsonObject | None, new: JsonObject, endpoint: Endpoint) -> Owners:
    entries = None if endpoint.subresource else _entries(new)
    if entries in ([], [{}]):
        return Owners()
    return _readable_owners(entries) or _readable_owners(_entries(live)) or Owners()


def _readable_owners(entries: Any) -> Owners | None:
    try:
        owners = read_owners(entries)
    except ManagedFieldsError:
        return None
    return owners if owners.owned else None


def _entries(tree: JsonObject | None) -> Any:
    metadata = tree.get("metadata") if tree else None
    return metadata.get("managedFields") if isinstance(metadata, dict) else None
