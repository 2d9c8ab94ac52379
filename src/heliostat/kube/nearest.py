"""Which known name did a person probably mean: the one with the fewest typing mistakes between.

A mistake is a letter too many, too few, wrong, or two neighbours swapped; upper and lower case count as the same
letter. Names further apart than a third of their length are not offered, because a wrong hint is worse than none.
"""

from collections.abc import Iterable

MAX_LENGTH = 64  # longer texts are not names, and the comparison costs length squared
_LONG_ENOUGH = 3  # characters, for the beginning of a name to say anything


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The closest of ``known`` within reach, the first one when several are equally close."""
    if len(name) > MAX_LENGTH:
        return None
    best, best_mistakes = None, max(1, len(name) // 3) + 1
    for candidate in known:
        if abs(len(candidate) - len(name)) >= best_mistakes:
            continue
        mistakes = count_mistakes(name.lower(), candidate.lower())
        if mistakes < best_mistakes:
            best, best_mistakes = candidate, mistakes
    return best


def find_likely(name: str, known: Iterable[str]) -> str | None:
    """The nearest one, else one that begins so: Pods have names that nobody types to the end."""
    names = list(known)
    begins = (each for each in names if len(name) >= _LONG_ENOUGH and each.startswith(name))
    return nearest_name(name, names) or next(begins, None)


def count_mistakes(left: str, right: str) -> int:
    """Edit distance with swaps of neighbours, row by row."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left):
        older, before, row = before, row, [i + 1]
        for j, b in enumerate(right):
            cost = min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1)
            if i and j and a == right[j - 1] and left[i - 1] == b:
                cost = min(cost, older[j - 1] + 1)
            row.append(cost)
    return row[-1]
