"""JSON patch (RFC 6902) as kube-apiserver applies it: one operation after the other, and nothing if any of them fails.

Where it is laxer than the RFC, so is this: ``replace`` sets a field that was absent, ``copy`` of an absent field gives
null, an absent field passes a ``test`` for null, negative indices count from the end, and whatever stands before the
first ``/`` of a pointer is ignored. Against patches that grow (CVE-2019-1002100) there are three limits: how many
operations, how many bytes all copies together, and how deep the result.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.refusals import RefusedError, bad_request
from heliostat.embedded.server.patches.errors import UnprocessablePatchError, too_large
from heliostat.embedded.server.patches.go_values import json_type
from heliostat.kube.jsontree import MAX_DEPTH, JsonObject, copy_tree, encode_json

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

_TEXT_FIELDS = ("op", "path", "from")
_KNOWN_FIELDS = (*_TEXT_FIELDS, "value")
_INDEX = re.compile(r"[+-]?[0-9]{1,18}")

Container: TypeAlias = dict[str, Any] | list[Any]


class JsonPatch(Struct, frozen=True):
    """The operations of a body, and what a strict reader would mind about them."""

    operations: list[JsonObject]
    warnings: list[str]


def read_json_patch(body: Any) -> JsonPatch:
    """A body is a list of objects; an unknown field in one of them is worth a warning."""
    if body is None:
        return JsonPatch([], [])
    if not isinstance(body, list):
        raise _wrong_type(body, "value of type []handlers.jsonPatchOp")
    if len(body) > MAX_OPERATIONS:
        problem = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(body)}"
        raise too_large(problem)
    operations = [_read_operation(item) for item in body]
    unknown = [(i, field) for i, item in enumerate(operations) for field in item if field not in _KNOWN_FIELDS]
    return JsonPatch(operations, [f'json patch unknown field "[{index}].{field}"' for index, field in unknown])


def apply_json_patch(tree: Any, operations: list[JsonObject]) -> Any:
    """The patched tree; the argument is not changed. It may be a list: a patch can replace the whole document."""
    work = _Work(copy_tree(tree))
    for position, operation in enumerate(operations):
        step = _STEPS.get(operation.get("op") or "")
        if step is None:
            raise UnprocessablePatchError(f"operation {position}: {operation.get('op')!r} is not an operation")
        try:
            step(work, operation)
        except _DoesNotApplyError as problem:
            raise UnprocessablePatchError(f"operation {position}: {problem}") from None
        except RecursionError:
            raise UnprocessablePatchError(f"operation {position}: the value is nested too deeply") from None
    if _is_too_deep(work.root):
        raise UnprocessablePatchError(f"the patched object is nested more than {MAX_DEPTH} levels deep")
    return work.root


class _DoesNotApplyError(Exception):
    """One operation cannot be carried out; says why."""


class _Work:
    """The document while it is patched."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied_bytes = 0

    def place(self, pointer: str) -> tuple[Container, str]:
        """The container that holds what the pointer means, and the key in it."""
        parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
        node = self.root if len(parts) > 1 else None
        for part in parts[1:-1]:
            if not isinstance(node, (dict, list)):
                break
            node = _value_at(node, part)
        if not isinstance(node, (dict, list)):
            raise _DoesNotApplyError(f"there is nothing at {pointer!r} that could hold a value")
        return node, parts[-1]

    def read(self, pointer: str) -> Any:
        return _value_at(*self.place(pointer)) if pointer else self.root


def _add(work: _Work, operation: JsonObject) -> None:
    _insert(*work.place(_pointer(operation, "path")), copy_tree(operation.get("value")))


def _remove(work: _Work, operation: JsonObject) -> None:
    _take(*work.place(_pointer(operation, "path")))


def _replace(work: _Work, operation: JsonObject) -> None:
    pointer, value = _pointer(operation, "path"), copy_tree(operation.get("value"))
    if pointer:
        container, key = work.place(pointer)
        _set(container, key, value)
    elif isinstance(value, (dict, list)):
        work.root = value
    elif "value" not in operation:
        raise _DoesNotApplyError("there is no value to replace the document with")


def _move(work: _Work, operation: JsonObject) -> None:
    value = _take(*work.place(_pointer(operation, "from")))
    _insert(*work.place(_pointer(operation, "path")), value)


def _copy(work: _Work, operation: JsonObject) -> None:
    value = _value_at(*work.place(_pointer(operation, "from")))
    container, key = work.place(_pointer(operation, "path"))
    work.copied_bytes += 0 if value is None else len(encode_json(value))
    if work.copied_bytes > MAX_COPIED_BYTES:
        raise _DoesNotApplyError(f"the copies of this patch together are larger than {MAX_COPIED_BYTES} bytes")
    _insert(container, key, copy_tree(value))


def _test(work: _Work, operation: JsonObject) -> None:
    pointer = _pointer(operation, "path")
    if "value" not in operation or not is_same_json(work.read(pointer), operation["value"]):
        raise _DoesNotApplyError(f"the value at {pointer!r} is another one")


_STEPS: dict[str, Callable[[_Work, JsonObject], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def is_same_json(left: Any, right: Any) -> bool:
    """Equal as JSON texts are: 1, 1.0 and true are three values, and the order of fields does not count."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(is_same_json(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same_json, left, right))
    return bool(left == right)


def _pointer(operation: JsonObject, field: str) -> str:
    pointer = operation.get(field)
    if not isinstance(pointer, str):
        raise _DoesNotApplyError(f"the operation has no {field}")
    return pointer


def _value_at(container: Container, key: str) -> Any:
    """A field that is absent reads as null; an index that is out of range is an error."""
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]


def _insert(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container.insert(len(container) if key == "-" else _index(key, len(container) + 1), value)


def _set(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container))] = value


def _take(container: Container, key: str) -> Any:
    if isinstance(container, list):
        return container.pop(_index(key, len(container)))
    if key not in container:
        raise _DoesNotApplyError(f"there is no field {key!r} to take away")
    return container.pop(key)


def _index(key: str, size: int) -> int:
    """Where in a list of that size; negative ones count from the end."""
    if _INDEX.fullmatch(key) is None:
        raise _DoesNotApplyError(f"{key!r} is not the index of a list")
    index = int(key)
    if not -size <= index < size:
        raise _DoesNotApplyError(f"the list has no index {index}")
    return index + size if index < 0 else index


def _read_operation(item: Any) -> JsonObject:
    if item is None:
        return {}
    if not isinstance(item, dict):
        raise _wrong_type(item, "value of type handlers.jsonPatchOp")
    for field in _TEXT_FIELDS:
        if not isinstance(item.get(field, ""), (str, type(None))):
            raise _wrong_type(item[field], f"struct field jsonPatchOp.{field} of type string")
    return item


def _wrong_type(value: Any, target: str) -> RefusedError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {json_type(value)} into Go {target}")


def _is_too_deep(tree: Any) -> bool:
    level = [tree]
    for _ in range(MAX_DEPTH + 1):
        level = [node for node in level if isinstance(node, (dict, list))]
        if not level:
            return False
        level = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
    return True
