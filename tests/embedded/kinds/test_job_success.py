"""``successPolicy`` of a Job: what is refused, and in which words (those of the real server, see the scenarios)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.kinds.workloads.job_success import success_policy_causes

RULE = "spec.successPolicy.rules[0]"


def told(*rules: dict[str, Any], completions: int = 3) -> list[tuple[str, str]]:
    spec = {"completions": completions, "successPolicy": {"rules": list(rules)}}
    return [(cause.field, cause.message) for cause in success_policy_causes(spec, "spec.successPolicy")]


@pytest.mark.parametrize(
    "rule",
    [
        {"succeededCount": 0},
        {"succeededCount": 3},
        {"succeededIndexes": ""},
        {"succeededIndexes": "0,2"},
        {"succeededIndexes": "0-1,2", "succeededCount": 3},
        {"succeededIndexes": "+1"},
    ],
)
def test_what_can_be_met_is_accepted(rule: dict[str, Any]) -> None:
    assert told(rule) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a-b", 'cannot convert string to integer for index: "a"'),
        ("0-", 'cannot convert string to integer for index: ""'),
        ("2-1", "non-increasing order, previous: 2, current: 1"),
        ("1-1", "non-increasing order, previous: 1, current: 1"),
        ("1,0", "non-increasing order, previous: 1, current: 0"),
        ("7", 'too large index: "7"'),
    ],
)
def test_indexes_that_cannot_be_read_say_why(text: str, why: str) -> None:
    message = f'Invalid value: "{text}": error parsing succeededIndexes: {why}'
    assert told({"succeededIndexes": text}) == [(f"{RULE}.succeededIndexes", message)]


def test_rules_must_be_there_say_something_and_be_few() -> None:
    rules = "spec.successPolicy.rules"
    at_least = "Required value: at least one rules must be specified when the successPolicy is specified"
    something = "Required value: at least one of succeededCount or succeededIndexes must be specified"
    assert told() == [(rules, at_least)]
    assert told({}) == [(RULE, something)]
    assert told(*[{"succeededCount": 1}] * 21) == [(rules, "Too many: 21: must have at most 20 items")]


def test_a_count_must_be_within_reach() -> None:
    most = "Invalid value: 4: must be less than or equal to"
    assert [message for _, message in told({"succeededIndexes": "0", "succeededCount": 4})] == [
        f"{most} 3 (the number of specified completions)",
        f"{most} 1 (the number of indexes in the specified succeededIndexes field)",
    ]


@given(st.sets(st.integers(0, 40), min_size=1))
def test_every_set_of_indexes_in_order_is_accepted_with_its_size_as_count(indexes: set[int]) -> None:
    text = ",".join(map(str, sorted(indexes)))
    assert told({"succeededIndexes": text, "succeededCount": len(indexes)}, completions=41) == []
    assert told({"succeededIndexes": text, "succeededCount": len(indexes) + 1}, completions=50) != []
