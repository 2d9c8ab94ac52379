"""Conditions change as ``metav1.Condition`` says."""

from heliostat.kube.conditions import (
    build_condition,
    condition_status,
    get_condition,
    is_condition_true,
    remove_condition,
    set_condition,
)
from heliostat.kube.jsontree import JsonObject, copy_tree

EARLY, NOW = "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"
READY: JsonObject = {"type": "Ready", "status": "False", "reason": "r", "message": "m", "lastTransitionTime": EARLY}
OTHER: JsonObject = {"type": "Other", "status": "True", "reason": "o", "message": "", "lastTransitionTime": EARLY}


def test_a_new_type_is_appended_with_the_time() -> None:
    for before in (None, [], [OTHER]):
        after = set_condition(before, build_condition("Ready", "True", "Up"), NOW)
        added = {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": NOW}
        assert after == [*(before or []), added]


def test_a_change_of_status_changes_the_time() -> None:
    after = set_condition([READY, OTHER], build_condition("Ready", "True", "Up", "all well"), NOW)
    changed = {"type": "Ready", "status": "True", "reason": "Up", "message": "all well", "lastTransitionTime": NOW}
    assert after == [changed, OTHER]


def test_the_same_status_keeps_the_time_but_takes_reason_message_and_generation() -> None:
    after = set_condition([READY], build_condition("Ready", "False", "Why", "else", generation=7), NOW)
    assert after == [{**READY, "reason": "Why", "message": "else", "observedGeneration": 7}]


def test_a_time_that_is_given_counts() -> None:
    new = {**build_condition("Ready", "True", "Up"), "lastTransitionTime": "2020-01-01T00:00:00Z"}
    assert set_condition([READY], new, NOW)[0]["lastTransitionTime"] == "2020-01-01T00:00:00Z"


def test_a_missing_time_is_filled_in() -> None:
    old = {"type": "Ready", "status": "True"}
    assert set_condition([old], build_condition("Ready", "True", "Up"), NOW)[0]["lastTransitionTime"] == NOW


def test_inputs_are_never_changed() -> None:
    before = [copy_tree(READY), copy_tree(OTHER)]
    new = build_condition("Ready", "True", "Up")
    set_condition(before, new, NOW)
    remove_condition(before, "Ready")
    assert before == [READY, OTHER]
    assert "lastTransitionTime" not in new


def test_looking_up_and_removing() -> None:
    assert get_condition([READY, OTHER], "Other") == OTHER
    assert get_condition(None, "Other") is None
    assert is_condition_true([READY, OTHER], "Other")
    assert not is_condition_true([READY, OTHER], "Ready")
    assert not is_condition_true([], "Ready")
    assert condition_status([READY], "Ready") == "False"
    assert condition_status([{"type": "Ready"}], "Ready") == "Unknown"
    assert condition_status([READY], "Other") is None
    assert remove_condition([READY, OTHER], "Ready") == [OTHER]
    assert remove_condition(None, "Ready") == []
