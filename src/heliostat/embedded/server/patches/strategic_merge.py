"""Strategic merge patch: a merge patch that knows which lists of a built-in kind are tables or sets.

Besides fields, an object of a patch may hold directives: ``$patch: replace`` or ``delete`` (the whole object, or with
its merge key one item of a list), ``$retainKeys`` (live fields not listed go), ``$setElementOrder/FIELD`` (the order
of a list) and ``$deleteFromPrimitiveList/FIELD``. A patch made by kubectl uses all of them.
Directives and nulls in a part that the live object does not have yet may survive in the result, as in kube-apiserver:
decoding the object drops unknown fields and nulls.
"""

from typing import Any

from heliostat.embedded.refusals import bad_request
from heliostat.embedded.server.patches.errors import unforeseen
from heliostat.embedded.server.patches.go_values import go_type, not_an_object
from heliostat.embedded.server.patches.strategic_fields import Field, FieldType, find_field, item_type, root_type
from heliostat.embedded.server.patches.strategic_items import (
    DIRECTIVE,
    check_order,
    element_type,
    merge_items,
    order_after,
    put_in_order,
    remove_items,
    unknown_directive,
)
from heliostat.kube.jsontree import JsonObject

_RETAIN_KEYS = "$retainKeys"
_ORDER = "$setElementOrder"
_DELETIONS = "$deleteFromPrimitiveList"


class _Nothing:
    """No value at all, where null is one."""


_NOTHING = _Nothing()


def apply_strategic_merge_patch(tree: JsonObject, body: Any, definition_name: str) -> JsonObject:
    """The patched object of a built-in kind (``core.v1.Pod``); the arguments are not changed."""
    if body is None:
        return tree
    if not isinstance(body, dict):
        raise bad_request(not_an_object(body))
    return _merge_objects(tree, body, root_type(definition_name))


def _merge_objects(live: JsonObject, patch: JsonObject, of: FieldType) -> JsonObject:
    if DIRECTIVE in patch:
        return _obey(patch)
    live, patch = _retain_keys(dict(live), dict(patch))
    for key in [key for key in patch if key.startswith(_ORDER)]:
        _merge_ordered_list(live, patch, key, of)
    for key, change in sorted(patch.items(), key=lambda pair: pair[0].startswith(_DELETIONS)):
        _merge_field(live, key, change, of)
    return live


def _obey(patch: JsonObject) -> JsonObject:
    if patch[DIRECTIVE] == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if patch[DIRECTIVE] == "delete":
        return {}
    raise unknown_directive(patch)


def _retain_keys(live: JsonObject, patch: JsonObject) -> tuple[JsonObject, JsonObject]:
    if _RETAIN_KEYS not in patch:
        return live, patch
    kept = patch.pop(_RETAIN_KEYS)
    mentioned = [key for key, value in patch.items() if value is not None and not key.startswith((_DELETIONS, _ORDER))]
    if not isinstance(kept, list) or any(key not in kept for key in mentioned):
        raise bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in live.items() if key in kept}, patch


def _merge_field(live: JsonObject, key: str, change: Any, of: FieldType) -> None:
    is_deletion = key.startswith(_DELETIONS)
    if is_deletion:
        key = _named_field(key, _DELETIONS, "invalid patch format of primitive list")
    if change is None:
        live.pop(key, None)
    elif isinstance(change, dict) and isinstance(live.get(key), dict):
        live[key] = _merge_objects(live[key], change, find_field(of, key).type)
    elif isinstance(change, list) and isinstance(live.get(key), list):
        live[key] = _merge_lists(live[key], change, find_field(of, key), is_deletion)
    elif not is_deletion:
        _put(live, key, _plain(_drop_nulls(change)))


def _merge_lists(live: list[Any], patch: list[Any], field: Field, is_deletion: bool = False) -> list[Any]:
    item = item_type(field.type)
    if is_deletion and (live or patch) and element_type(live, patch) is not dict:
        return remove_items(live, patch)
    if not field.is_merged and not is_deletion:
        return patch
    return merge_items(live, patch, field.merge_key, lambda old, new: _merge_objects(old, new, item))


def _merge_ordered_list(live: JsonObject, patch: JsonObject, directive: str, of: FieldType) -> None:
    """Merges the list that an order is about, puts it in that order, and takes both out of the patch."""
    order = _require_list(patch.pop(directive))
    key = _named_field(directive, _ORDER, "invalid patch format of setElementOrder list")
    old = _require_list(live[key]) if key in live else None
    new = _require_list(patch[key]) if key in patch else None
    field = find_field(of, key)
    item_type(field.type)
    check_order(new or [], order, field.merge_key, _ORDER)
    if old is not None or new is not None:
        merged = _plain(new) if old is None else old if new is None else _merge_lists(old, new, field)
        element_type(old or [], new or [])
        before = order_after(old or [], new or [], field.merge_key) if field.is_merged else old or []
        live[key] = put_in_order(merged, order, before, field.merge_key)
        patch.pop(key, None)


def _named_field(key: str, prefix: str, problem: str) -> str:
    """``$setElementOrder/containers`` names ``containers``."""
    found, slash, field = key.partition("/")
    if found != prefix or not slash:
        raise bad_request(problem)
    return field or key


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise unforeseen(f"expected a []interface {{}}, but received a {go_type(value)}")
    return value


def _put(live: JsonObject, key: str, value: Any) -> None:
    if value is _NOTHING:
        live.pop(key, None)
    else:
        live[key] = value


def _plain(value: Any) -> Any:
    """A part of a patch as a value of its own: objects with a directive are left out."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _NOTHING
        fields = {key: _plain(child) for key, child in value.items()}
        return {key: child for key, child in fields.items() if child is not _NOTHING}
    if isinstance(value, list):
        return [child for child in map(_plain, value) if child is not _NOTHING]
    return value


def _drop_nulls(value: Any) -> Any:
    """Without the fields that are null; items that are null stay."""
    if isinstance(value, dict):
        return {key: _drop_nulls(child) for key, child in value.items() if child is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value
