"""When probes are asked and what their answers mean, by tables and laws."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node.pod_shapes import NOW, UID, build_pod, container, running
from heliostat.embedded.node.pods import Container, Probe
from heliostat.embedded.node.probing.probes import (
    ProbeKind,
    ProbeResult,
    Tallies,
    Tally,
    build_health,
    count,
    decide_next_check,
    recall_tallies,
)

YES, NO, DUNNO = ProbeResult.SUCCESS, ProbeResult.FAILURE, ProbeResult.UNKNOWN
ANY = {"exec": {"command": ["true"]}}


def probed(**probes: dict[str, int]) -> Container:
    """``startup``, ``readiness`` and ``liveness``, each with its numbers."""
    fields: dict[str, Any] = {f"{kind}Probe": ANY | numbers for kind, numbers in probes.items()}
    return build_pod(container(**fields)).spec.containers[0]


def stands(**kinds: ProbeResult) -> Tallies:
    return {ProbeKind(kind.title()): Tally(verdict) for kind, verdict in kinds.items()}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], DUNNO),
        ([YES], DUNNO),
        ([YES, YES], YES),
        ([YES, NO, YES], DUNNO),
        ([YES, YES, NO, NO], YES),
        ([YES, YES, NO, NO, NO], NO),
        ([NO, NO, YES, NO], DUNNO),
        ([NO, NO, DUNNO, NO], NO),
        ([NO, NO, NO, YES], NO),
        ([NO, NO, NO, YES, YES], YES),
    ],
)
def test_an_answer_counts_when_it_came_often_enough_in_a_row(answers: list[ProbeResult], expected: ProbeResult) -> None:
    probe, tally = Probe(success_threshold=2, failure_threshold=3), Tally()
    for number, answer in enumerate(answers):
        tally = count(tally, probe, answer, float(number))
    assert tally.stands is expected


@pytest.mark.parametrize(
    ("tallies", "has_started", "is_ready", "must_die"),
    [
        ({}, False, False, ""),
        (stands(startup=YES), True, False, ""),
        (stands(startup=YES, readiness=YES), True, True, ""),
        (stands(startup=YES, readiness=NO), True, False, ""),
        (stands(readiness=YES), False, False, ""),
        (stands(startup=NO), False, False, "Container c failed startup probe"),
        (stands(startup=YES, readiness=YES, liveness=NO), True, True, "Container c failed liveness probe"),
    ],
)
def test_health_follows_from_what_stands(tallies: Tallies, has_started: bool, is_ready: bool, must_die: str) -> None:
    health = build_health(probed(startup={}, readiness={}, liveness={}), tallies)
    assert (health.has_started, health.is_ready, health.must_die) == (has_started, is_ready, must_die)


def test_without_probes_a_container_is_healthy_at_once() -> None:
    health = build_health(probed(), {})
    assert (health.has_started, health.is_ready, health.must_die) == (True, True, "")


def test_until_its_hook_is_over_a_container_has_not_started_and_a_failed_one_dooms_it() -> None:
    assert not build_health(probed(), {}, is_set_up=False).is_ready
    assert build_health(probed(), {}, hook_failed=True).must_die == "FailedPostStartHook"


def test_a_probe_may_have_its_own_grace_period() -> None:
    health = build_health(probed(liveness={"terminationGracePeriodSeconds": 1}), stands(liveness=NO))
    assert health.grace_seconds == 1


@pytest.mark.parametrize(
    ("kind", "tallies", "expected"),
    [
        (ProbeKind.STARTUP, {}, 0.0),
        (ProbeKind.READINESS, {}, None),
        (ProbeKind.LIVENESS, {}, None),
        (ProbeKind.STARTUP, stands(startup=YES), None),
        (ProbeKind.READINESS, stands(startup=YES), 0.0),
        (ProbeKind.LIVENESS, stands(startup=YES), 20.0),
        (ProbeKind.STARTUP, stands(startup=NO), None),
        (ProbeKind.LIVENESS, stands(startup=YES, liveness=NO), None),
        (ProbeKind.READINESS, stands(startup=YES, liveness=NO), 0.0),
    ],
)
def test_the_startup_probe_comes_first_and_the_doomed_are_left_alone(
    kind: ProbeKind, tallies: Tallies, expected: float | None
) -> None:
    it = probed(startup={}, readiness={}, liveness={"initialDelaySeconds": 20})
    assert decide_next_check(kind, it, tallies, NOW, NOW) == expected


@given(
    delay=st.integers(0, 100),
    period=st.integers(1, 100),
    checked=st.none() | st.floats(0, 1000),
    now=st.floats(0, 2000),
)
def test_a_check_comes_after_the_delay_and_one_period_after_the_last(
    delay: int, period: int, checked: float | None, now: float
) -> None:
    it = probed(liveness={"initialDelaySeconds": delay, "periodSeconds": period})
    wait = decide_next_check(ProbeKind.LIVENESS, it, {ProbeKind.LIVENESS: Tally(checked_at=checked)}, 0.0, now)
    assert wait is not None
    assert wait >= 0
    due = max(delay, checked + period) if checked is not None else delay
    assert now + wait == pytest.approx(max(now, due))


@given(st.lists(st.sampled_from([YES, NO, DUNNO])), st.integers(1, 4), st.integers(1, 4))
def test_what_stands_was_said_often_enough_and_is_the_last_that_was(
    answers: list[ProbeResult], successes: int, failures: int
) -> None:
    probe, tally, streak = Probe(success_threshold=successes, failure_threshold=failures), Tally(), 0
    known = [answer for answer in answers if answer is not DUNNO]
    for answer in answers:
        tally = count(tally, probe, answer, 0.0)
    expected = DUNNO
    for number, answer in enumerate(known):
        streak = streak + 1 if number and known[number - 1] is answer else 1
        if streak >= (successes if answer is YES else failures):
            expected = answer
    assert tally.stands is expected


def test_a_node_that_comes_back_takes_the_status_for_granted() -> None:
    status = {"containerID": f"heliostat://{UID}-c-0", "ready": True, "started": True}
    pod = build_pod(container(readinessProbe=ANY), status={"containerStatuses": [status]})
    recalled = recall_tallies(pod, running())
    assert build_health(pod.spec.containers[0], recalled).is_ready
    assert recall_tallies(pod, running(attempt=1)) == {}
