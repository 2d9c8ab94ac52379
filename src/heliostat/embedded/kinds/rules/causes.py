"""The ways in which a field can be wrong, each as a cause of a 422 with kube-apiserver's reason and form of message.

A path is the text that clients see (``spec.containers[0].name``). Values are shown as Go shows them: texts quoted,
everything else as JSON.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from heliostat.embedded.refusals import Cause
from heliostat.kube.go_text import go_json, go_quote

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"


def invalid(path: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {show(value)}: {why}", path)


def invalid_without_value(path: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {why}", path)


def required(path: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", path)


def forbidden(path: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", path)


def not_supported(path: str, value: Any, supported: Iterable[str]) -> Cause:
    offered = ", ".join(go_quote(choice) for choice in supported)
    message = f"Unsupported value: {show(value)}: supported values: {offered}"
    return Cause("FieldValueNotSupported", message, path)


def duplicate(path: str, value: Any, why: str = "") -> Cause:
    message = f"Duplicate value: {show(value)}"
    return Cause("FieldValueDuplicate", f"{message}: {why}" if why else message, path)


def not_found(path: str, value: Any, why: str = "") -> Cause:
    message = f"Not found: {show(value)}"
    return Cause("FieldValueNotFound", f"{message}: {why}" if why else message, path)


def too_long(path: str, most: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path)


def too_many(path: str, count: int, most: int) -> Cause:
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {most} items", path)


class Inner(str):
    """A value shown as it is: kube-apiserver shows some by the fields of its inner types."""

    __slots__ = ()


def inner(**fields: Any) -> Inner:
    return Inner("{" + ",".join(f'"{name}":{show(value)}' for name, value in fields.items()) + "}")


def show(value: Any) -> str:
    if isinstance(value, Inner):
        return value
    return go_quote(value) if isinstance(value, str) else go_json(value)


def each_invalid(path: str, value: Any, problems: Sequence[str]) -> list[Cause]:
    return [invalid(path, value, problem) for problem in problems] if problems else []


def negative(path: str, value: Any) -> list[Cause]:
    """A number (or its absence) that may not be below zero."""
    return [invalid(path, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def changed(path: str, new: Any, old: Any) -> list[Cause]:
    """A field that keeps the value it was created with."""
    return [invalid(path, new, IMMUTABLE)] if new != old else []
