"""Reading: variables, fields, elements, and whether a field is there.

A field that is null or absent does not exist: reading it is an error, ``has`` is false, ``.?`` gives an empty
optional.
Each step of a path costs one, the variable at its start one more (its ``toll``).
"""

from typing import Any, Final

from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.frames import COST, Closure, Frame
from heliostat.embedded.cel.readers import Reader, read
from heliostat.embedded.cel.values import NONE, Optional, Uint, type_name

MISSING: Final = object()


def build_variable(slot: int, toll: int) -> Closure:
    def variable(frame: Frame) -> Any:
        frame[COST] += toll
        return frame[slot]

    return variable


def build_field(operand: Closure, key: str, name: str, reader: Reader | None) -> Closure:
    """A field of an object whose schema is known."""
    if reader is None:
        return build_member(operand, name, None)
    expected, convert = reader.expected, reader.convert

    def field(frame: Frame) -> Any:
        frame[COST] += 1
        try:
            value = operand(frame)[key]
        except (KeyError, TypeError):
            value = None
        if type(value) is expected:
            return value
        if value is None:
            raise EvaluationError(f"no such key: {name}")
        return convert(value)

    return field


def build_field_test(operand: Closure, key: str) -> Closure:
    def test(frame: Frame) -> bool:
        try:
            return operand(frame)[key] is not None
        except (KeyError, TypeError):
            return False

    return test


def build_member(operand: Closure, key: str, reader: Reader | None) -> Closure:
    """``map.key`` with the key written as a name."""

    def member(frame: Frame) -> Any:
        frame[COST] += 1
        value = find(operand(frame), key, reader)
        if value is MISSING:
            raise EvaluationError(f"no such key: {key}")
        return value

    return member


def build_member_test(operand: Closure, key: str) -> Closure:
    def test(frame: Frame) -> bool:
        value = operand(frame)
        if isinstance(value, Optional):
            value = value.value
        return isinstance(value, dict) and key in value

    return test


def build_optional_field(operand: Closure, key: str, reader: Reader | None, *, is_test: bool) -> Closure:
    """A field that may be missing, of a value that may be missing."""

    def field(frame: Frame) -> Any:
        value = operand(frame)
        if isinstance(value, Optional):
            value = value.value if value.is_present else None
        found = value.get(key) if isinstance(value, dict) else None
        if is_test:
            return found is not None
        if found is None:
            return NONE
        frame[COST] += 1
        return Optional(is_present=True, value=read(found, reader))

    return field


def build_index(operand: Closure, index: Closure, reader: Reader | None) -> Closure:
    def element(frame: Frame) -> Any:
        container = operand(frame)
        key = index(frame)
        frame[COST] += 1
        if type(container) is list and type(key) is int:
            if 0 <= key < len(container):
                return read(container[key], reader)
            raise EvaluationError(f"index out of bounds: {key}")
        value = find(container, key, reader)
        if value is MISSING:
            raise EvaluationError(f"no such key: {_shown(key)}")
        return value

    return element


def build_optional_index(operand: Closure, index: Closure, reader: Reader | None) -> Closure:
    def element(frame: Frame) -> Any:
        container = operand(frame)
        key = index(frame)
        if isinstance(container, Optional):
            if not container.is_present:
                return NONE
            container = container.value
        value = find(container, key, reader, is_strict=False)
        if value is MISSING:
            return NONE
        frame[COST] += 1
        return Optional(is_present=True, value=value)

    return element


def find(container: Any, key: Any, reader: Reader | None, *, is_strict: bool = True) -> Any:
    """The element of a list or a map; ``MISSING`` when a map has none, an error for an index out of a list."""
    if isinstance(container, dict):
        try:
            value = container.get(key, MISSING)
        except TypeError:
            return MISSING
        return value if value is MISSING else read(value, reader)
    if not isinstance(container, list):
        return MISSING
    index = _list_index(key)
    if 0 <= index < len(container):
        return read(container[index], reader)
    if is_strict:
        raise EvaluationError(f"index out of bounds: {index}")
    return MISSING


def _list_index(key: Any) -> int:
    if type(key) in (int, Uint):
        return int(key)
    if type(key) is float:
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {key} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def _shown(key: Any) -> str:
    return ("true" if key else "false") if isinstance(key, bool) else str(key)
