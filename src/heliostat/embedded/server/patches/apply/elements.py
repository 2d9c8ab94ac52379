"""One step of a path, in the spelling of managedFields: ``f:spec``, ``k:{"name":"a"}``, ``v:"x"``, ``i:0``.

The text itself is the element: equal texts are equal elements, so every element is spelled canonically (keys sorted,
numbers in their shortest form). Elements are ordered fields first, then keys, values and indices; numbers by value.
"""

import re
from typing import Any, TypeAlias

import msgspec

from heliostat.kube.document_error import DocumentError
from heliostat.kube.go_text import go_json, go_quote
from heliostat.kube.jsontree import JsonObject, decode_json

Element: TypeAlias = str
ElementPath: TypeAlias = tuple[Element, ...]

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_ESCAPED = re.compile("[<>&\u2028\u2029]")
_KINDS = "fkvi"
_PLAIN = (str, int, bool)
_encoder = msgspec.json.Encoder(order="sorted")


class ElementError(ValueError):
    """A text that is no element."""


def field_element(name: str) -> Element:
    return f"f:{name}"


def key_element(key: JsonObject) -> Element:
    return f"k:{_canonical(key)}"


def value_element(value: Any) -> Element:
    return f"v:{_canonical(value)}"


def field_path(*names: str) -> ElementPath:
    return tuple(map(field_element, names))


def read_element(text: str) -> Element | None:
    """The canonical spelling; None for a kind of element that is not known, which a later version may bring."""
    if len(text) < 2:
        raise ElementError("key must be 2 characters long:")
    if text[1] != ":":
        raise ElementError(f"missing colon: {text}")
    kind, content = text[0], text[2:]
    if kind == "f" or kind not in _KINDS:
        return text if kind == "f" else None
    if kind == "i":
        if _INDEX.fullmatch(content) is None:
            raise ElementError(f"strconv.Atoi: parsing {go_quote(content)}: invalid syntax")
        return f"i:{int(content)}"
    value = _read_json(text, content)
    if kind == "k" and not isinstance(value, dict):
        raise ElementError(f"not a key: {text}")
    return f"{kind}:{go_json(value)}"


def is_field(element: Element) -> bool:
    return element[0] == "f"


def is_key(element: Element) -> bool:
    return element[0] == "k"


def field_name(element: Element) -> str:
    return element[2:]


def element_order(element: Element) -> tuple[Any, ...]:
    """What elements are sorted by."""
    kind, content = element[0], element[2:]
    if kind == "f":
        return 0, content
    if kind == "i":
        return 3, int(content)
    value = msgspec.json.decode(content)
    if kind == "k":
        return 1, tuple((name, _value_order(value[name])) for name in sorted(value))
    return 2, _value_order(value)


def show_path(path: ElementPath) -> str:
    """For people: ``.spec.containers[name="a"].image``."""
    return "".join(map(_show, path))


def _show(element: Element) -> str:
    kind, content = element[0], element[2:]
    if kind == "f":
        return f".{content}"
    if kind == "i":
        return f"[{content}]"
    value = msgspec.json.decode(content)
    if kind == "k":
        return f"[{','.join(f'{name}={_show_value(value[name])}' for name in sorted(value))}]"
    return f"[={_show_value(value)}]"


def _show_value(value: Any) -> str:
    return go_quote(value) if isinstance(value, str) else go_json(value)


def _value_order(value: Any) -> tuple[Any, ...]:
    """Numbers before strings before booleans before the rest, as structured-merge-diff has it."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, go_json(value))


def _canonical(value: Any) -> str:
    """As ``go_json``, which is slower and only differs for floats and a few characters."""
    scalars = value.values() if isinstance(value, dict) else (value,)
    if all(type(scalar) in _PLAIN for scalar in scalars):
        text = _encoder.encode(value).decode()
        if _ESCAPED.search(text) is None:
            return text
    return go_json(value)


def _read_json(text: str, content: str) -> Any:
    try:
        return decode_json(content)
    except DocumentError as error:
        raise ElementError(f"{text}: {error.problem}") from None
