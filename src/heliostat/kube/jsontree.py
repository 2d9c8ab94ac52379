"""JSON trees of plain dicts, lists and scalars: copy, strict lossless decoding, encoding, merge patches.

Decoding keeps values (1 is not 1.0), unknown fields and key order. What two readers could understand differently is
refused with its path: duplicate keys, NaN and Infinity, integers beyond 64 bits, floats out of range, lone surrogates,
nesting past ``MAX_DEPTH``. Nothing here knows Kubernetes kinds or schemas.
"""

import json
import re
from typing import Any, NoReturn, TypeAlias

import msgspec

from heliostat.kube.document_error import DocumentError
from heliostat.kube.json_explain import MAX_DEPTH, MAX_INT, MIN_INT, explain_json

__all__ = [
    "MAX_DEPTH",
    "JsonObject",
    "JsonRefusedError",
    "after_space",
    "copy_tree",
    "decode_json",
    "decode_utf8",
    "diff_merge_patch",
    "drop_nulls",
    "encode_json",
    "merge_patch",
    "scan_json",
]

JsonObject: TypeAlias = dict[str, Any]

_INFINITY = float("inf")
_LONGEST_INT = 20  # characters; anything longer is out of range, whatever its digits
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="deterministic")


def copy_tree(tree: Any) -> Any:
    """A deep copy of a tree of dicts and lists; scalars are shared."""
    return msgspec.to_builtins(tree)  # five times as fast as walking it here


def drop_nulls(tree: Any) -> Any:
    """A copy without the keys and items that are null."""
    if isinstance(tree, dict):
        return {key: drop_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [drop_nulls(value) for value in tree if value is not None]
    return tree


def encode_json(tree: Any) -> bytes:
    """Compact JSON in key order."""
    return _encoder.encode(tree)


def decode_json(data: bytes | str, source: str = "-") -> Any:
    """The one value of a JSON text, lossless; raises ``DocumentError`` with path, line and column."""
    text = data if isinstance(data, str) else decode_utf8(data, source)
    try:
        tree, end = scan_json(text)
    except JsonRefusedError:
        explain_json(text, source)
        raise AssertionError("the fast decoder refused what the telling one accepts") from None
    if after_space(text, end) != len(text):
        explain_json(text, source)
    return tree


class JsonRefusedError(ValueError):
    """Not acceptable; ``heliostat.kube.json_explain`` says what and where."""


def scan_json(text: str, start: int = 0) -> tuple[Any, int]:
    """The value that begins at ``start`` and the offset behind it; fast, and raises ``JsonRefusedError``."""
    try:
        tree, end = _decoder.raw_decode(text, after_space(text, start))
    except (ValueError, RecursionError):
        raise JsonRefusedError from None
    if _is_too_deep(tree) or (_SURROGATE_ESCAPE.search(text, start, end) and not _is_encodable(tree)):
        raise JsonRefusedError
    return tree, end


def decode_utf8(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        problem = f"the byte 0x{data[error.start]:02x} is not valid UTF-8"
        raise DocumentError(source, line, column, problem, "save the file as UTF-8 text") from None


def after_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _unique_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        raise JsonRefusedError
    return tree


def _read_int(text: str) -> int:
    if len(text) > _LONGEST_INT or not MIN_INT <= (value := int(text)) <= MAX_INT:
        raise JsonRefusedError
    return value


def _read_float(text: str) -> float:
    value = float(text)
    if value in (_INFINITY, -_INFINITY):
        raise JsonRefusedError
    return value


def _refuse_constant(_: str) -> NoReturn:
    raise JsonRefusedError


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_int=_read_int, parse_float=_read_float, parse_constant=_refuse_constant
)


def _is_too_deep(tree: Any) -> bool:
    """Level by level, which is quick: only containers are visited."""
    level = [tree] if isinstance(tree, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
    return bool(level)


def _is_encodable(tree: Any) -> bool:
    """False for a lone surrogate, the only text that has no UTF-8 form."""
    try:
        _encoder.encode(tree)
    except UnicodeEncodeError:
        return False
    return True


def merge_patch(tree: Any, patch: Any) -> Any:
    """RFC 7386: objects merge key by key, null removes, anything else replaces. Neither argument is changed."""
    if not isinstance(patch, dict):
        return copy_tree(patch)
    merged = dict(tree) if isinstance(tree, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), change)
    return merged


def diff_merge_patch(old: JsonObject, new: JsonObject) -> JsonObject:
    """The smallest patch that makes ``new`` of ``old``. A null field counts as absent: no patch can set null."""
    patch: JsonObject = {key: None for key, value in old.items() if value is not None and new.get(key) is None}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := diff_merge_patch(before, value):
                patch[key] = inner
        elif value is not None and not _is_same(before, value):
            patch[key] = copy_tree(value)
    return patch


def _is_same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values; the order of keys says nothing, also inside lists."""
    return left == right and _sorting_encoder.encode(left) == _sorting_encoder.encode(right)


def drop_empty(tree: Any, significant: frozenset[str] = frozenset()) -> Any:
    """The tree without empty lists, objects and nulls: an API server keeps none of them.

    The ``significant`` keys mean something when empty and stay.
    """
    if isinstance(tree, dict):
        kept = {key: drop_empty(value, significant) for key, value in tree.items()}
        return {key: value for key, value in kept.items() if key in significant or value not in (None, [], {})}
    if isinstance(tree, list):
        return [drop_empty(value, significant) for value in tree]
    return tree
