"""Two outcomes of one scenario: where they differ, and which of the differences are meant."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from conformance.controllers.runner import Outcome
from conformance.differ import differing
from conformance.model import Json

MISSING = "(missing)"
LONGEST = 700


class Difference(Struct, frozen=True):
    scenario: str
    where: str
    real: Json
    ours: Json

    def __str__(self) -> str:
        return f"{self.scenario}: {self.where}\n    real: {_shown(self.real)}\n    ours: {_shown(self.ours)}"


def compare(scenario: str, real: Outcome, ours: Outcome) -> list[Difference]:
    found = [
        *_in_set("event", real.events, ours.events),
        *differing(_by_step(real.answers), _by_step(ours.answers), "answer to"),
        *differing(real.ways, ours.ways, "way"),
    ]
    for look in real.looks:
        found += _in_look(f"look {look!r}", real.looks[look], ours.looks.get(look, {}))
    return [Difference(scenario, *parts) for parts in found]


def _in_look(where: str, real: Json, ours: Json) -> Iterator[tuple[str, Json, Json]]:
    for kind in sorted({*real, *ours}):
        left, right = real.get(kind, []), ours.get(kind, [])
        only_real, only_ours = _without_equals(left, right)
        for index in range(max(len(only_real), len(only_ours))):
            if index < len(only_real) and index < len(only_ours):
                yield from differing(only_real[index], only_ours[index], f"{where}, {kind} {_name(only_real[index])}")
            elif index < len(only_real):
                yield f"{where}, {kind} {_name(only_real[index])}", only_real[index], MISSING
            else:
                yield f"{where}, {kind} {_name(only_ours[index])}", MISSING, only_ours[index]


def _by_step(answers: list[Json]) -> dict[str, list[Json]]:
    told: dict[str, list[Json]] = {}
    for answer in answers:
        told.setdefault(answer["step"], []).append(answer["answer"])
    return told


def _in_set(where: str, real: list[Json], ours: list[Json]) -> Iterator[tuple[str, Json, Json]]:
    only_real, only_ours = _without_equals(real, ours)
    for item in only_real:
        yield where, item, MISSING
    for item in only_ours:
        yield where, MISSING, item


def _without_equals(left: list[Json], right: list[Json]) -> tuple[list[Json], list[Json]]:
    rest, only_left = list(right), []
    for item in left:
        if item in rest:
            rest.remove(item)
        else:
            only_left.append(item)
    return only_left, rest


def _name(tree: Json) -> str:
    return str(tree["metadata"]["name"])


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def group_by_cause(differences: Iterable[Difference]) -> dict[str, list[Difference]]:
    """Differences with the same values at the same field, whatever the scenario."""
    groups: dict[str, list[Difference]] = {}
    for one in differences:
        field = one.where.rpartition(" ")[2].partition(".")[2] or one.where
        groups.setdefault(f"{field}\n    real: {_shown(one.real)}\n    ours: {_shown(one.ours)}", []).append(one)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))
