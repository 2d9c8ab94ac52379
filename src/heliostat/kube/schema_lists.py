"""Items that may occur only once in a list: ``uniqueItems``, and the list types ``set`` and ``map``.

A list of type ``map`` is a table whose rows are told apart by key fields; a key that a row leaves out has its default.
"""

from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from heliostat.kube.schema_refs import Definitions, JsonSchema, resolve
from heliostat.kube.schema_values import Finding, quote

_canonical = msgspec.json.Encoder(order="sorted")


def duplicate_items(value: list[Any], schema: JsonSchema, definitions: Definitions) -> Iterator[tuple[int, Finding]]:
    """The index of every item that an earlier one makes impossible, with what to say about it."""
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "map":
        yield from _repeated_rows(value, schema, definitions)
    elif list_type == "set" or schema.get("uniqueItems"):
        for index in _repeated([_identity(item) for item in value]):
            yield index, ("schema.duplicate", f"{quote(value[index])} is in this list already", "remove one of them")


def _repeated_rows(value: list[Any], schema: JsonSchema, definitions: Definitions) -> Iterator[tuple[int, Finding]]:
    keys = schema.get("x-kubernetes-list-map-keys", ())
    columns = resolve(schema.get("items", {}), definitions).get("properties", {})
    defaults = {key: columns.get(key, {}).get("default") for key in keys}
    rows = [{key: item.get(key, defaults[key]) for key in keys} if isinstance(item, dict) else None for item in value]
    for index in _repeated([None if row is None else _identity(row) for row in rows]):
        text = " and ".join(f"{key} {quote(part)}" for key, part in (rows[index] or {}).items())
        yield index, ("schema.duplicate", f"another item of this list has {text} already", f"change its {keys[0]}")


def _repeated(identities: list[Hashable]) -> Iterator[int]:
    seen = set()
    for index, identity in enumerate(identities):
        if identity is not None and identity in seen:
            yield index
        seen.add(identity)


def _identity(item: Any) -> Hashable:
    """Equal for equal JSON values and for no others; None for what cannot be told apart by its text."""
    try:
        return _canonical.encode(item)
    except (RecursionError, UnicodeEncodeError):
        return None
