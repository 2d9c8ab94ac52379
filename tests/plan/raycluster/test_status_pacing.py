"""Turning points are written at once, counts a moment later, and nothing is held back for longer than that."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.plan import Plan, Ref, WriteStatus
from heliostat.plan.raycluster.status_pacing import HOLD_SECONDS, PacedPlan, is_awaited, pace_status

NOW = 1_800_000_000.0
REF = Ref("ray.io/v1", "RayCluster", "default", "demo")

Status = dict[str, Any]


def condition(type_: str, status: str, reason: str = "") -> Status:
    return {"type": type_, "status": status, "reason": reason}


def plan_with(status: Status | None, wake_after: float | None = None) -> Plan:
    written = WriteStatus(REF, "uid", "7", status, "StatusChanged") if status is not None else None
    return Plan(status=written, wake_after=wake_after)


COMING_UP: Status = {"desiredWorkerReplicas": 2, "conditions": [condition("HeadPodReady", "False", "Unknown")]}

ONCE = {
    "the state": {**COMING_UP, "state": "ready"},
    "the reason": {**COMING_UP, "reason": "why"},
    "a condition that became true": {**COMING_UP, "conditions": [condition("HeadPodReady", "True")]},
    "a new condition that is true": {"conditions": [*COMING_UP["conditions"], condition("ReplicaFailure", "True")]},
}
LATER: dict[str, Status] = {
    "a count": {**COMING_UP, "readyWorkerReplicas": 1},
    "what is asked for": {**COMING_UP, "desiredWorkerReplicas": 3},
    "the head's address": {**COMING_UP, "head": {"podIP": "10.0.0.1"}},
    "why a condition is not true": {**COMING_UP, "conditions": [condition("HeadPodReady", "False", "CrashLoop")]},
    "a new condition that is not true": {
        "conditions": [*COMING_UP["conditions"], condition("RayClusterProvisioned", "False")]
    },
}


@pytest.mark.parametrize("what", ONCE)
def test_what_somebody_may_wait_for_is_written_at_once(what: str) -> None:
    assert is_awaited(COMING_UP, ONCE[what])
    assert pace_status(plan_with(ONCE[what]), COMING_UP, None, NOW) == PacedPlan(plan_with(ONCE[what]))


@pytest.mark.parametrize("what", ONCE)
def test_and_so_is_its_end(what: str) -> None:
    assert is_awaited(ONCE[what], COMING_UP)


@pytest.mark.parametrize("what", LATER)
def test_what_is_on_its_way_waits_a_moment(what: str) -> None:
    pace = pace_status(plan_with(LATER[what], wake_after=300.0), COMING_UP, None, NOW)
    assert pace == PacedPlan(plan_with(None, wake_after=HOLD_SECONDS), NOW + HOLD_SECONDS)


def test_the_first_status_of_a_cluster_that_comes_up_waits_too() -> None:
    assert pace_status(plan_with(COMING_UP), {}, None, NOW).held_until == NOW + HOLD_SECONDS


def test_a_later_change_does_not_prolong_the_wait() -> None:
    later = pace_status(plan_with({**COMING_UP, "readyWorkerReplicas": 2}), COMING_UP, NOW + HOLD_SECONDS, NOW + 1.5)
    assert later == PacedPlan(plan_with(None, wake_after=0.5), NOW + HOLD_SECONDS)


def test_an_earlier_appointment_stands() -> None:
    pace = pace_status(plan_with(LATER["a count"], wake_after=0.1), COMING_UP, None, NOW)
    assert pace.plan.wake_after == 0.1


def test_when_the_moment_is_over_it_is_written_and_the_next_one_begins() -> None:
    plan = plan_with(LATER["a count"])
    assert pace_status(plan, COMING_UP, NOW, NOW) == PacedPlan(plan)


def test_a_clock_that_was_set_back_holds_nothing_back() -> None:
    plan = plan_with(LATER["a count"])
    assert pace_status(plan, COMING_UP, NOW + 3600.0, NOW) == PacedPlan(plan)


def test_without_a_status_nothing_is_held() -> None:
    plan = plan_with(None, wake_after=300.0)
    assert pace_status(plan, COMING_UP, NOW + 1.0, NOW) == PacedPlan(plan)


@given(st.lists(st.floats(0.001, 1.0), max_size=40))
def test_a_status_is_never_behind_for_longer_than_the_hold(gaps: list[float]) -> None:
    """Looks at any moments, and always when the plan asks for it, with a count that changes every time."""
    now, shown, held_until, behind_since = NOW, COMING_UP, None, NOW
    wake = None
    for number, gap in enumerate(gaps):
        now = min(now + gap, wake) if wake is not None else now + gap
        due = {**COMING_UP, "readyWorkerReplicas": number + 1}
        if held_until is None:
            behind_since = now
        pace = pace_status(plan_with(due), shown, held_until, now)
        held_until = pace.held_until
        assert now - behind_since <= HOLD_SECONDS + 1e-6
        if pace.plan.status is not None:
            shown, wake = due, None
        else:
            assert pace.plan.wake_after is not None
            wake = now + pace.plan.wake_after
