"""Differences for a person: alike ones together, the most frequent first, each with one example."""

import re
from collections.abc import Iterable

from conformance.differ import Difference

_INDEX = re.compile(r"\[[^\]]+\]")
_HOLDER = re.compile(r"^(body\.items\[\]|events\[\]\.object|body)\.")  # one object, many ways to see it
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"\d+")
SHAPE = 160  # characters that make two texts alike


def causes(differences: Iterable[Difference]) -> list[Difference]:
    """Without what follows from an earlier difference: after one server wrote and the other did not, all may differ."""
    kept: list[Difference] = []
    diverged: dict[str, int] = {}  # sequence -> the step at which the states went apart
    for difference in differences:
        if difference.step <= diverged.get(difference.sequence, difference.step):
            kept.append(difference)
            if parts_states(difference):
                diverged.setdefault(difference.sequence, difference.step)
    return kept


def parts_states(difference: Difference) -> bool:
    """Whether one server wrote and the other did not."""
    verdicts = {str(verdict).startswith("2") for verdict in (difference.expected, difference.actual)}
    return difference.where == "status" and not difference.request.startswith("GET") and len(verdicts) == 2


def group(differences: Iterable[Difference]) -> list[list[Difference]]:
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for difference in differences:
        groups.setdefault(shape(difference), []).append(difference)
    return sorted(groups.values(), key=len, reverse=True)


def summarize(differences: Iterable[Difference], examples: int = 1) -> str:
    texts = []
    for alike in group(differences):
        where = sorted({one.sequence for one in alike})
        texts.append(
            f"{len(alike)} x in {len(where)} sequences ({', '.join(where[:4])}{', …' if len(where) > 4 else ''})"
        )
        texts += [str(one) for one in alike[:examples]]
    return "\n".join(texts)


def shape(difference: Difference) -> tuple[str, str, str]:
    """What makes two differences alike."""
    return (
        _HOLDER.sub("", _INDEX.sub("[]", difference.where)),
        _general(str(difference.expected)),
        _general(str(difference.actual)),
    )


def _general(text: str) -> str:
    return _NUMBER.sub("#", _QUOTED.sub('""', text))[:SHAPE]
