"""``explain`` of a RayCronJob: on time, suspended, or looked after by nobody; with its next ticks."""

from typing import Any

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation
from heliostat.explain.scene import Scene, explain
from heliostat.plan.raycronjob.kind import RAY_CRON_JOB
from plan.raycronjob.cron_worlds import START, cron_tree
from plan.worlds import with_gates

ON = with_gates(RayCronJob=True)


def explained(settings: Settings = ON, **spec: Any) -> Explanation:
    return explain(RAY_CRON_JOB, Scene(tree=cron_tree(**spec), now=START), settings)


def test_one_whose_tick_has_not_come_is_on_time() -> None:
    told = explained()
    assert (told.verdict, told.is_ready, told.sentences) == ("is on time", True, ())
    assert told.notes[0].what == "the next 5 scheduled times:"


def test_a_suspended_one_says_so() -> None:
    told = explained(suspend=True)
    assert (told.verdict, told.is_ready) == ("is suspended", False)
    assert "set spec.suspend to false" in told.sentences[0].fix


def test_without_the_gate_nobody_looks_after_it() -> None:
    told = explained(Settings())
    assert not told.is_ready
    assert "--feature-gates=RayCronJob=true" in told.sentences[0].why


def test_a_schedule_that_is_none_is_refused() -> None:
    told = explained(schedule="every day")
    assert not told.is_ready
    assert told.verdict == "is refused"
