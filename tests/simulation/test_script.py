"""The random search draws every fault there is, and a seed always draws the same."""

from collections import Counter
from collections.abc import Iterator
from typing import get_args

import pytest

from heliostat.testing.simulation.faults import Fault, Lag, Refuse
from heliostat.testing.simulation.script import (
    FORBIDDEN,
    NOT_ADMITTED,
    OVER_QUOTA,
    PAGE,
    READ,
    WATCH,
    WRITE,
    Script,
    Trouble,
)

pytestmark = pytest.mark.slow

UNTIL = 90.0
RESOURCES = ("pods", "services", "rayclusters")


def draw(seed: int, calls: int = 60) -> Iterator[tuple[str, Fault]]:
    """What a program meets that asks for three resources in every way, all the time."""
    script = Script(seed=seed, until=UNTIL)
    for call in range(calls):
        for number, kind in enumerate((READ, PAGE, WRITE, WATCH)):
            resource, now = RESOURCES[call % len(RESOURCES)], call * UNTIL / calls
            fault = script.fault_at("p", call * 4 + number, kind=kind, resource=resource, now=now)
            if fault is not None:
                yield kind, fault


def test_every_kind_of_fault_is_drawn() -> None:
    drawn = Counter(type(fault) for seed in range(50) for _kind, fault in draw(seed))
    assert set(drawn) == set(get_args(Fault))


def test_every_way_to_be_refused_is_drawn() -> None:
    refusals = {(kind, fault.code) for seed in range(200) for kind, fault in draw(seed) if isinstance(fault, Refuse)}
    usual = {429, 500, 502, 503, 504}
    banned = {403, 422}
    assert {code for kind, code in refusals if kind == READ} == usual | banned
    assert {code for kind, code in refusals if kind == PAGE} == usual | banned | {410}
    assert {code for kind, code in refusals if kind == WRITE} == usual | banned | {409}
    assert {code for kind, code in refusals if kind == WATCH} == (usual - {504}) | banned | {410}


def test_resources_are_refused_for_every_reason_and_lag_for_up_to_two_minutes() -> None:
    faults = [fault for seed in range(200) for _kind, fault in draw(seed)]
    assert {FORBIDDEN, OVER_QUOTA, NOT_ADMITTED} <= {fault for fault in faults if isinstance(fault, Refuse)}
    lags = [fault.seconds for fault in faults if isinstance(fault, Lag)]
    assert min(lags) < 5.0
    assert 100.0 < max(lags) <= 120.0


def test_what_a_resource_has_lasts_for_its_time_and_concerns_no_other_kind_of_call() -> None:
    trouble = Trouble(lag=Lag(5.0), refusal=FORBIDDEN, refused=(WRITE,), begin=10.0, end=20.0)
    assert [trouble.fault_for(WRITE, now) for now in (9.0, 10.0, 19.0, 20.0)] == [None, FORBIDDEN, FORBIDDEN, None]
    assert [trouble.fault_for(kind, 15.0) for kind in (READ, PAGE, WATCH)] == [None, None, Lag(5.0)]


def test_a_seed_draws_the_same_again_and_nothing_after_its_time() -> None:
    assert list(draw(7)) == list(draw(7))
    script = Script(seed=7, until=UNTIL)
    calls = range(200)
    assert all(script.fault_at("p", call, kind=WRITE, resource="pods", now=UNTIL) is None for call in calls)
