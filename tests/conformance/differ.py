"""Two recordings of one sequence: where they differ, in words a person can act on."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from conformance.model import Call, Json, OpenWatch, ReadWatch, Sequence, Step
from conformance.recording import Recording

ABSENT = "(absent)"
LONGEST = 600


class Difference(Struct, frozen=True):
    sequence: str
    step: int
    request: str  # what was asked, in one line
    where: str  # path inside the answer
    expected: Json
    actual: Json

    def __str__(self) -> str:
        return (
            f"{self.sequence} step {self.step}: {self.request}\n  at {self.where}\n"
            f"    real: {_shown(self.expected)}\n    ours: {_shown(self.actual)}"
        )


def compare(sequence: Sequence, expected: Recording, actual: Recording) -> list[Difference]:
    found = []
    for index, (step, wanted, given) in enumerate(zip(sequence.steps, expected.steps, actual.steps, strict=True)):
        request = describe(step)
        for where, left, right in _differing_answers(wanted, given):
            found.append(Difference(sequence.name, index, request, where or "/", left, right))
    return found


def _differing_answers(wanted: Json, given: Json) -> Iterator[tuple[str, Json, Json]]:
    """Another verdict is one difference, whatever the bodies say."""
    if wanted.get("status") == given.get("status"):
        return differing(wanted, given, "")
    return iter([("status", _verdict(wanted), _verdict(given))])


def _verdict(answer: Json) -> str:
    body = answer.get("body")
    told = body.get("message", "") if isinstance(body, dict) and body.get("kind") == "Status" else ""
    return f"{answer.get('status')} {told}".strip()


def describe(step: Step) -> str:
    match step:
        case Call():
            query = "&".join(f"{key}={value}" for key, value in step.query.items())
            kind = step.headers.get("Content-Type", "")
            return f"{step.method} {step.path}{'?' if query else ''}{query}{' ' if kind else ''}{kind}"
        case OpenWatch():
            return f"watch {step.path}?{'&'.join(f'{key}={value}' for key, value in step.query.items())}"
        case ReadWatch():
            return f"read watch {step.watch}"
        case _:
            return type(step).__name__.lower()


def differing(wanted: Json, given: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    """Leaves that are not equal; true and 1 are not, nor are 1 and 1.0."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        for key in sorted({*wanted, *given}):
            here = f"{path}.{key}" if path else key
            yield from differing(wanted.get(key, ABSENT), given.get(key, ABSENT), here)
    elif isinstance(wanted, list) and isinstance(given, list) and _names(wanted) and _names(given):
        yield from _differing_by_name(wanted, given, path)
    elif isinstance(wanted, list) and isinstance(given, list):
        for index in range(max(len(wanted), len(given))):
            left = wanted[index] if index < len(wanted) else ABSENT
            right = given[index] if index < len(given) else ABSENT
            yield from differing(left, right, f"{path}[{index}]")
    elif type(wanted) is not type(given) or wanted != given:
        yield path, wanted, given


def _names(items: list[Json]) -> list[str]:
    """The names of the elements, if every one has its own."""
    names = [item["name"] for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]
    return names if len(set(names)) == len(items) else []


def _differing_by_name(wanted: list[Json], given: list[Json], path: str) -> Iterator[tuple[str, Json, Json]]:
    """Element by element, so that one that is missing is one difference; then the order."""
    left, right = ({item["name"]: item for item in items} for items in (wanted, given))
    for name in dict.fromkeys((*left, *right)):
        yield from differing(left.get(name, ABSENT), right.get(name, ABSENT), f"{path}[{name}]")
    if left.keys() == right.keys() and list(left) != list(right):
        yield f"{path}(order)", list(left), list(right)


def _shown(value: Json) -> str:
    text = value if value == ABSENT else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
