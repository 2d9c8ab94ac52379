"""What counts as a change of an object's state, and how it is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.history.moments import NO_STATE, build_facts, describe_container, tell_change, tell_state

facts = st.dictionaries(st.sampled_from(("phase", "Ready", "container c")), st.sampled_from(("a", "b")))


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        pytest.param({}, {}, id="without a status"),
        pytest.param({"status": {"phase": "Running", "podIP": "10.0.0.1"}}, {"phase": "Running"}, id="a Pod's phase"),
        pytest.param({"status": {"state": "ready", "reason": ""}}, {"state": "ready"}, id="a RayCluster's state"),
        pytest.param(
            {"status": {"jobStatus": "RUNNING", "jobDeploymentStatus": "Running", "jobId": "x"}},
            {"jobStatus": "RUNNING", "jobDeploymentStatus": "Running"},
            id="a RayJob's two",
        ),
        pytest.param({"status": {"startTime": "2026-01-01T00:00:00Z", "active": 1}}, {}, id="no times, no counters"),
        pytest.param(
            {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "No", "message": "not\n yet"}]}},
            {"Ready": "False (No: not yet)"},
            id="conditions with their reasons",
        ),
        pytest.param(
            {"status": {"initContainerStatuses": [{"name": "c", "state": {"running": {}}}]}},
            {"container c": "running"},
            id="containers",
        ),
        pytest.param({"metadata": {"deletionTimestamp": "now"}}, {"deletion": "asked for"}, id="on its way out"),
        pytest.param({"status": {"conditions": "none", "containerStatuses": [1]}}, {}, id="what has another shape"),
    ],
)
def test_states_are_read_from_any_kind(tree: dict[str, Any], told: dict[str, str]) -> None:
    assert build_facts(tree) == told


def test_a_long_message_is_cut() -> None:
    condition = {"type": "Ready", "status": "False", "message": "x" * 1000}
    (words,) = build_facts({"status": {"conditions": [condition]}}).values()
    assert (len(words) < 200, words[-2:]) == (True, "…)")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({}, "waiting"),
        ({"running": {"startedAt": "now"}}, "running"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, "waiting: CrashLoopBackOff"),
        ({"terminated": {"exitCode": 0, "reason": "Completed"}}, "terminated: Completed"),
        ({"terminated": {"exitCode": 7, "reason": "Error"}}, "terminated: Error, exit code 7"),
    ],
)
def test_states_of_containers_are_told_in_words(state: dict[str, Any], words: str) -> None:
    assert describe_container(state) == words


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({}, {}, NO_STATE),
        ({}, {"phase": "Pending"}, "phase Pending"),
        ({"phase": "Pending", "Ready": "False"}, {"phase": "Running", "Ready": "False"}, "phase Running"),
        ({"reason": "Evicted"}, {"phase": "Failed"}, "phase Failed; reason gone"),
    ],
)
def test_only_what_changed_is_told(before: dict[str, str], after: dict[str, str], words: str) -> None:
    assert tell_change(before, after) == words


@given(facts, facts)
def test_a_change_tells_every_difference_and_nothing_else(before: dict[str, str], after: dict[str, str]) -> None:
    told = [words.rpartition(" ")[0] for words in tell_change(before, after).split("; ")] if before != after else []
    assert sorted(told) == sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Failed", "reason": "Evicted"}, "Failed, Evicted"),
        ({"conditions": [{"type": "Complete", "status": "True"}, {"type": "Failed", "status": "False"}]}, "Complete"),
        ({}, NO_STATE),
    ],
)
def test_the_last_state_is_a_word_or_two(status: dict[str, Any], word: str) -> None:
    assert tell_state({"status": status}) == word
