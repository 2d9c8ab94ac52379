"""When some indexes are enough for a Job: the rules of ``successPolicy``, judged in kube-apiserver's words.

A set of indexes reads ``0,2-4``: numbers and ranges, each above the one before, all below the number of completions.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import invalid, negative, required, too_long, too_many
from heliostat.embedded.refusals import Cause
from heliostat.kube.counts import read_whole
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

_MOST_RULES = 20
_LONGEST_INDEXES = 64 * 1024


class _IndexError(Exception):
    """The text is no set of indexes; says why."""


def success_policy_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    """Of an indexed Job."""
    rules = spec["successPolicy"].get("rules") or []
    if not rules:
        yield required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _rule_causes(rule, spec.get("completions"), f"{path}.rules[{index}]")


def _rule_causes(rule: JsonObject, completions: int | None, path: str) -> Iterator[Cause]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = None if indexes is None else 0  # a set that cannot be read has none
    if indexes is not None:
        if len(indexes.encode()) > _LONGEST_INDEXES:
            yield too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES)
        try:
            total = _count_indexes(indexes, completions or 0)
        except _IndexError as error:
            yield invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    yield from negative(f"{path}.succeededCount", count)
    if count is not None:
        yield from _count_causes(count, total, completions, f"{path}.succeededCount")


def _count_causes(count: int, total: int | None, completions: int | None, path: str) -> Iterator[Cause]:
    if completions is not None and count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(path, count, why)
    if total is not None and count > total:
        field = "the number of indexes in the specified succeededIndexes field"
        yield invalid(path, count, f"must be less than or equal to {total} ({field})")


def _count_indexes(text: str, completions: int) -> int:
    """How many there are."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _read_range(part, completions)
        if first <= last:
            raise _IndexError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _read_range(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise _IndexError(f"the fragment {go_quote(part)} {why}")
    first = _read_index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    end = _read_index(limits[1], completions)
    if end <= first:
        raise _IndexError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end


def _read_index(text: str, completions: int) -> int:
    index = read_whole(text)
    if index is None:
        raise _IndexError(f"cannot convert string to integer for index: {go_quote(text)}")
    if index >= completions:
        raise _IndexError(f"too large index: {go_quote(text)}")
    return index
