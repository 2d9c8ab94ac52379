"""Walking: the macros ``all``, ``exists``, ``exists_one``, ``map``, ``filter`` and the transforms.

``all`` and ``exists`` stop at the first decisive element and forgive errors of others if there is one; the rest need
every element. Costs are those of the loops the API server makes of these macros.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.errors import EvaluationError, NoSuchOverloadError
from heliostat.embedded.cel.frames import COST, Closure, Frame, charge
from heliostat.embedded.cel.readers import Reader, read
from heliostat.embedded.cel.values import type_name

Bind: TypeAlias = Callable[[Frame, Any], None]

_GO_TYPES = {"int": "types.Int", "string": "types.String", "bool": "types.Bool", "double": "types.Double"}


class Walk(Struct, frozen=True, eq=False):
    """The range, how an element of it becomes variables, and what is done with each."""

    range: Closure
    bind: Bind
    has_two: bool
    body: Closure
    where: Closure | None = None
    first: int = 0  # where the first variable stands
    item_cost: int = 12  # putting one result into a new list


def build_bind(first: int, second: int | None, readers: tuple[Reader | None, Reader | None]) -> Bind:
    """Put an element where the body reads it."""
    key_reader, value_reader = readers
    if second is None:

        def bind_one(frame: Frame, element: Any) -> None:
            frame[first] = read(element, key_reader)

        return bind_one

    def bind_two(frame: Frame, element: tuple[Any, Any]) -> None:
        frame[first] = element[0]
        frame[second] = read(element[1], value_reader)

    return bind_two


def _elements(walk: Walk, frame: Frame) -> Iterable[Any]:
    value = walk.range(frame)
    if isinstance(value, list):
        return enumerate(value) if walk.has_two else value
    if isinstance(value, dict):
        return list(value.items()) if walk.has_two else list(value)
    name = type_name(value)
    raise EvaluationError(f"got '{_GO_TYPES.get(name, name)}', expected iterable type")


def _build_quantifier(walk: Walk, decisive: bool, loop_cost: int) -> Closure:
    """``all`` ends at the first false, ``exists`` at the first true."""

    def quantify(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        verdict: Any = not decisive
        for element in _elements(walk, frame):
            charge(frame, loop_cost)
            if verdict is decisive:
                break
            frame[COST] += 1
            try:
                walk.bind(frame, element)
                verdict = walk.body(frame)
                if verdict is not True and verdict is not False:
                    raise NoSuchOverloadError
            except EvaluationError as error:
                failure = failure or error
        frame[COST] += 1
        if verdict is decisive:
            return bool(decisive)
        if failure is not None:
            raise failure
        return not decisive

    return quantify


def _build_all(walk: Walk) -> Closure:
    return _build_quantifier(walk, decisive=False, loop_cost=2)


def _build_exists(walk: Walk) -> Closure:
    return _build_quantifier(walk, decisive=True, loop_cost=3)


def _build_exists_one(walk: Walk) -> Closure:
    def exists_one(frame: Frame) -> bool:
        count = 0
        for element in _elements(walk, frame):
            walk.bind(frame, element)
            if _is_true(walk.body(frame)):
                count += 1
                frame[COST] += 2
            charge(frame, 0)
        frame[COST] += 2
        return count == 1

    return exists_one


def _build_list(walk: Walk) -> Closure:
    """``map`` and ``transformList``."""

    def collect(frame: Frame) -> list[Any]:
        items: list[Any] = []
        for element in _elements(walk, frame):
            walk.bind(frame, element)
            if walk.where is None or _is_true(walk.where(frame)):
                items.append(walk.body(frame))
                frame[COST] += walk.item_cost
            charge(frame, 0)
        frame[COST] += 1
        return items

    return collect


def _build_filter(walk: Walk) -> Closure:
    def select(frame: Frame) -> list[Any]:
        items: list[Any] = []
        for element in _elements(walk, frame):
            walk.bind(frame, element)
            if _is_true(walk.body(frame)):
                items.append(frame[walk.first])
                frame[COST] += 13
            charge(frame, 0)
        frame[COST] += 1
        return items

    return select


def _build_map(walk: Walk) -> Closure:
    """``transformMap``: the same keys, new values."""

    def transform(frame: Frame) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        for element in _elements(walk, frame):
            walk.bind(frame, element)
            if walk.where is None or _is_true(walk.where(frame)):
                entries[frame[walk.first]] = walk.body(frame)
                frame[COST] += 3
            charge(frame, 0)
        frame[COST] += 1
        return entries

    return transform


def _build_entries(walk: Walk) -> Closure:
    """``transformMapEntry``: each element gives a map of its own, and no key may come twice."""

    def transform(frame: Frame) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        for element in _elements(walk, frame):
            walk.bind(frame, element)
            if walk.where is None or _is_true(walk.where(frame)):
                _insert(entries, walk.body(frame))
                frame[COST] += 2
            charge(frame, 0)
        frame[COST] += 1
        return entries

    return transform


def _insert(entries: dict[Any, Any], more: Any) -> None:
    if not isinstance(more, dict):
        raise NoSuchOverloadError
    for key, value in more.items():
        if key in entries:
            raise EvaluationError(f"insert failed: key {key} already exists")
        entries[key] = value


def _is_true(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise NoSuchOverloadError


FOLDS: dict[str, Callable[[Walk], Closure]] = {
    "all": _build_all,
    "exists": _build_exists,
    "exists_one": _build_exists_one,
    "map": _build_list,
    "transformList": _build_list,
    "filter": _build_filter,
    "transformMap": _build_map,
    "transformMapEntry": _build_entries,
}
