"""What the operator remembers of RayJobs: why Ray did not take a job."""

from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan, Stage
from heliostat.operator.rayjob.memory import Memory
from heliostat.plan.rayjob.submission import STOP, SUBMIT
from heliostat.runtime.errors import FencedError, InvalidError
from heliostat.runtime.outcome import FailedAction, Outcome

KEY = Key("ns", "job")
OFFER = Effect(SUBMIT, {}, "id", "because")
REFUSED = Outcome(failures=(FailedAction(OFFER, InvalidError(400, "", "bad runtime_env")),))


def offered() -> Memory:
    memory = Memory()
    memory.begun(KEY, Plan(stages=(Stage("submission", (OFFER,)),)))
    return memory


def test_a_refusal_is_kept_and_is_news_once() -> None:
    memory = offered()
    assert memory.ended(KEY, REFUSED)
    assert memory.refusal(KEY) == "bad runtime_env"
    memory.begun(KEY, Plan(stages=(Stage("submission", (OFFER,)),)))
    assert not memory.ended(KEY, REFUSED)


def test_a_job_that_was_taken_is_refused_no_more() -> None:
    memory = offered()
    memory.ended(KEY, REFUSED)
    memory.begun(KEY, Plan(stages=(Stage("submission", (OFFER,)),)))
    assert memory.ended(KEY, Outcome())
    assert memory.refusal(KEY) == ""


def test_who_does_not_lead_any_more_was_not_refused() -> None:
    memory = offered()
    assert not memory.ended(KEY, Outcome(failures=(FailedAction(OFFER, FencedError("another leads")),)))


def test_other_plans_say_nothing_about_it() -> None:
    memory = offered()
    memory.ended(KEY, REFUSED)
    memory.begun(KEY, Plan(stages=(Stage("stop", (Effect(STOP, {}, "id", "because"),)),)))
    assert not memory.ended(KEY, Outcome())
    assert memory.refusal(KEY) == "bad runtime_env"
