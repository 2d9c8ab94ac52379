"""What an update left as it was, and which old item a new one comes from.

Items are found again only in map lists, by their keys. A value counts as unchanged when it equals the old one at every
place the schema knows; fields it does not know count as changed, because nobody can tell what they mean.
"""

from collections.abc import Hashable
from typing import Any

from heliostat.kube.schema import JsonSchema


def correlate_items(items: list[Any], olds: Any, keys: tuple[str, ...]) -> list[Any]:
    """The old item for each new one; None where there is none."""
    if not keys or not isinstance(olds, list):
        return [None] * len(items)
    known: dict[Hashable, Any] = {}
    for old in olds:
        key = _item_key(old, keys)
        if key is not None:
            known.setdefault(key, old)
    found = (_item_key(item, keys) for item in items)
    return [None if key is None else known.get(key) for key in found]


def _item_key(item: Any, keys: tuple[str, ...]) -> Hashable | None:
    """None for an item that lacks a key, or has one that is not a simple value."""
    if not isinstance(item, dict):
        return None
    values = [item.get(key) for key in keys]
    if any(value is None or isinstance(value, (dict, list)) for value in values):
        return None
    return tuple((type(value), value) for value in values)


def is_unchanged(new: Any, old: Any, schema: JsonSchema) -> bool:
    if isinstance(new, dict):
        return isinstance(old, dict) and len(new) == len(old) and _are_fields_unchanged(new, old, schema)
    if isinstance(new, list):
        return isinstance(old, list) and len(new) == len(old) and _are_items_unchanged(new, old, schema)
    return type(new) is type(old) and bool(new == old)


def _are_fields_unchanged(new: dict[str, Any], old: dict[str, Any], schema: JsonSchema) -> bool:
    properties, values = schema.get("properties", {}), schema.get("additionalProperties")
    for name, value in new.items():
        inner = properties.get(name, values)
        if name not in old or not isinstance(inner, dict) or not is_unchanged(value, old[name], inner):
            return False
    return True


def _are_items_unchanged(new: list[Any], old: list[Any], schema: JsonSchema) -> bool:
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    if schema.get("x-kubernetes-list-type") != "map" or not keys:
        return _is_same(new, old)
    inner = schema.get("items", {})
    olds = correlate_items(new, old, keys)
    return all(was is not None and is_unchanged(item, was, inner) for item, was in zip(new, olds, strict=True))


def _is_same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_is_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    return bool(left == right)
