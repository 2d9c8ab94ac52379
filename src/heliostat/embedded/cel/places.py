"""Where in an object or in a schema, and a finding there, in the API server's words.

Field names stand after dots, keys of maps and numbers of items in brackets; the whole document is ``<nil>``. A place is
kept as a chain from the inside out, so that walking costs nothing until something is found.
"""

from typing import Any, Literal, TypeAlias

from heliostat.kube.go_text import go_quote
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

Place: TypeAlias = tuple[Any, ...]  # () or (outer place, step, step as text)

ROOT: Place = ()


class RuleProblem(Problem, frozen=True, kw_only=True):
    """``problem`` is the API server's message, ``reason`` the cause's reason (such as FieldValueInvalid)."""

    field: str


def at_field(place: Place, name: str) -> Place:
    return (place, name, f".{name}")


def at_key(place: Place, key: str | int) -> Place:
    return (place, key, f"[{key}]")


def at_path(place: Place, keys: tuple[str, ...], text: str) -> Place:
    """Several steps down at once, written as ``text``."""
    for index, key in enumerate(keys):
        place = (place, key, "" if index else f".{text}")
    return place


def path_of(place: Place) -> Path:
    steps: list[str | int] = []
    while place:
        place, step, _ = place
        steps.append(step)
    return tuple(reversed(steps))


def text_of(place: Place) -> str:
    parts: list[str] = []
    while place:
        place, _, text = place
        parts.append(text)
    return "".join(reversed(parts)).removeprefix(".") or "<nil>"


_BODIES = {
    "FieldValueInvalid": "Invalid value: {value}: {detail}",
    "FieldValueForbidden": "Forbidden: {detail}",
    "FieldValueRequired": "Required value: {detail}",
    "FieldValueDuplicate": "Duplicate value: {value}",
    "FieldValueNotSupported": "Unsupported value: {value}: {detail}",
    "InternalError": "Internal error: {detail}",
}


def build_problem(
    place: Place,
    detail: str,
    fix: str,
    *,
    value: str = "",
    reason: str = "FieldValueInvalid",
    severity: Literal["error", "warning"] = "error",
) -> RuleProblem:
    """``value`` is shown as Go shows it: quote a text with ``quoted`` first."""
    return RuleProblem(
        path=path_of(place),
        field=text_of(place),
        problem=_BODIES[reason].format(value=value, detail=detail),
        fix=fix,
        rule="schema.rule",
        reason=reason,
        severity=severity,
    )


def quoted(text: str) -> str:
    return go_quote(text)
