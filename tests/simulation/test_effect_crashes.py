"""Calls beyond the API server are calls like all others: counted, crashed at (``test_crashes.py``) and disturbed."""

import pytest

from heliostat.runtime.pollers import FactCache
from heliostat.testing.simulation.exploration import CRASHES, crash_everywhere, judge, run_undisturbed
from heliostat.testing.simulation.faults import (
    Crash,
    Fault,
    Injection,
    LandLate,
    LoseReply,
    LoseRequest,
    Refuse,
    Reset,
    Slow,
)
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import run_world
from simulation.errand_worlds import ERRAND_CASE, OFFICE

pytestmark = pytest.mark.slow

FAULTS: tuple[Fault, ...] = (
    LoseRequest(), LoseReply(), LandLate(0.9), Reset(carried_out=True), Reset(carried_out=False),
    Refuse(500, carried_out=True), Refuse(502), Refuse(503),
)  # fmt: skip


@pytest.mark.parametrize("when", ["before", "after", "late"])
def test_the_calls_to_the_office_are_among_those_that_are_crashed_at(when: str) -> None:
    calls = run_undisturbed(ERRAND_CASE).calls[ERRAND_CASE.program]
    shown = _run(*(Injection(ERRAND_CASE.program, call, Slow(0.0)) for call in range(calls)))
    (number,) = [int(line.split()[2][1:]) for line in shown if f"POST {OFFICE} meets" in line]
    trace = _run(Injection(ERRAND_CASE.program, number, Crash(when, 0.5)))
    assert any(f"POST {OFFICE} → crash {when}" in line for line in trace)
    assert any("begins life 1" in line for line in trace)


def test_at_a_read_there_is_one_way_to_die_and_at_a_write_there_are_three() -> None:
    calm = run_undisturbed(ERRAND_CASE)
    program = ERRAND_CASE.program
    reads = {*range(calm.calls[program])} - calm.writes[program]
    runs = [_run(Injection(program, min(reads), Crash(when, 0.5))) for when in CRASHES]
    assert len({tuple(line for line in trace if " meets " not in line) for trace in runs}) == 1
    tried = [injection for injection, _ in crash_everywhere(ERRAND_CASE)]
    assert len(tried) == len(reads) + 3 * len(calm.writes[program])


def _run(*faults: Injection) -> tuple[str, ...]:
    return run_world(ERRAND_CASE.scenario, seed=0, script=Script(faults)).trace


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_call_without_an_answer_is_settled_by_a_read_and_not_by_sending_it_again(fault: Fault) -> None:
    calm = run_undisturbed(ERRAND_CASE)
    for call in range(calm.calls[ERRAND_CASE.program]):
        script = Script((Injection(ERRAND_CASE.program, call, fault),))
        finding = judge(ERRAND_CASE, 0, script, calm)
        assert finding is None, str(finding)


def test_a_cache_that_does_not_forget_what_an_effect_has_changed_sends_it_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calm = run_undisturbed(ERRAND_CASE)
    broken = Reset(carried_out=True)
    monkeypatch.setattr(FactCache, "refresh", lambda *_args, **_named: None)
    found = [
        finding
        for call in range(calm.calls[ERRAND_CASE.program])
        if (finding := judge(ERRAND_CASE, 0, Script((Injection(ERRAND_CASE.program, call, broken),)), calm))
    ]
    assert any("was sent twice" in finding.violation for finding in found)
