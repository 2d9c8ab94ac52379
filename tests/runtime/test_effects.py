"""Effects in virtual time: the fence, the deadline, the error tree, and the facts that they touch."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from heliostat.kube.facts import Fact, FactKey, Unknown
from heliostat.kube.persisted import PrematureUseError
from heliostat.kube.plan import Effect, Event, Plan, Ref, Report, Stage, WriteStatus
from heliostat.runtime.effects import DOUBTED_SECONDS, Effects
from heliostat.runtime.errors import (
    AmbiguousError,
    ApiError,
    ConflictError,
    FencedError,
    InvalidError,
    ThrottledError,
    UnavailableError,
)
from heliostat.runtime.executor import Executor
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.pace import Seat
from heliostat.runtime.pollers import FactCache
from heliostat.runtime.reconciler import Subject
from heliostat.runtime.writing import Writing
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import Notebook, build_host, small_server

JOB = FactKey("ray-job", "default/job-x7k2p")
SUBMIT = Effect("submit", {}, "key", "Missing", decided_on=(JOB,), touches=(JOB,), seconds=2.0)


class Ray:
    """Knows one job, or not; ``submit`` behaves as told."""

    def __init__(self) -> None:
        self.status = "MISSING"
        self.error: BaseException | None = None
        self.seconds = 0.0
        self.submissions = 0
        self.reads: list[float] = []

    async def read(self) -> str:
        self.reads.append(asyncio.get_running_loop().time())
        return self.status

    async def submit(self, _effect: Effect) -> None:
        self.submissions += 1
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        self.status = "PENDING"


Facts = FactCache[FactKey, str]


def play(scene: Callable[[Ray, Effects, Facts], Awaitable[None]], fence: LeaseFence | None = None) -> None:
    async def scenario() -> None:
        ray, effects = Ray(), Effects(fence)
        facts: Facts = FactCache(lambda _: None, clock=asyncio.get_running_loop().time, chance=lambda: 0.5)
        effects["submit"], effects.facts = ray.submit, facts
        facts.watch(JOB, ray.read, 60)
        running = asyncio.create_task(facts.run())
        await asyncio.sleep(1)
        await scene(ray, effects, facts)
        running.cancel()
        await asyncio.wait({running})

    run_virtual(scenario())


def test_what_an_effect_touches_is_unknown_until_it_was_fetched_anew() -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        assert facts.get(JOB) == Fact("MISSING", 1)
        await effects.carry_out(SUBMIT)
        assert isinstance(facts.get(JOB), Unknown)
        await asyncio.sleep(0.001)
        known = facts.get(JOB)
        assert isinstance(known, Fact)
        assert known.value == "PENDING"
        assert ray.reads == [0, 1]

    play(scene)


def test_no_effect_is_sent_on_a_fact_older_than_the_last_one() -> None:
    async def scene(ray: Ray, effects: Effects, _facts: Facts) -> None:
        await effects.carry_out(SUBMIT)
        with pytest.raises(UnavailableError, match=r"not sent, ray-job default/job-x7k2p is not known any more"):
            await effects.carry_out(SUBMIT)
        assert ray.submissions == 1

    play(scene)


def test_an_effect_without_an_answer_is_ambiguous_and_a_read_after_its_deadline_settles_it() -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        ray.seconds = 100.0
        with pytest.raises(AmbiguousError, match="no answer within 2 s"):
            await effects.carry_out(SUBMIT)
        assert isinstance(facts.get(JOB), Unknown)
        await asyncio.sleep(0.001)
        assert ray.reads == [0, 3]
        assert isinstance(facts.get(JOB), Fact)

    play(scene)


def test_a_broken_connection_is_settled_when_what_was_sent_cannot_land_any_more() -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        ray.error = AmbiguousError("reset")
        with pytest.raises(AmbiguousError):
            await effects.carry_out(SUBMIT)
        await asyncio.sleep(1.9)
        assert isinstance(facts.get(JOB), Unknown)  # it may land until second 3
        await asyncio.sleep(0.2)
        assert ray.reads == [0, 3]

    play(scene)


@pytest.mark.parametrize("error", [UnavailableError("refused"), ThrottledError("later", 1.0), FencedError("not ours")])
def test_an_effect_that_was_not_sent_touches_nothing(error: ApiError) -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        ray.error = error
        with pytest.raises(type(error)):
            await effects.carry_out(SUBMIT)
        assert facts.get(JOB) == Fact("MISSING", 1)

    play(scene)


@pytest.mark.parametrize("error", [ConflictError(409, "", "exists"), InvalidError(400, "", "no"), KeyError("a bug")])
def test_a_refused_effect_and_a_broken_one_make_its_facts_stale(error: Exception) -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        ray.error = error
        with pytest.raises(type(error)):
            await effects.carry_out(SUBMIT)
        assert isinstance(facts.get(JOB), Unknown)

    play(scene)


def test_a_cancelled_effect_is_in_doubt() -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        ray.seconds = 100.0
        sending = asyncio.create_task(effects.carry_out(SUBMIT))
        await asyncio.sleep(1)
        sending.cancel()
        await asyncio.wait({sending})
        assert isinstance(facts.get(JOB), Unknown)
        await asyncio.sleep(5)
        assert ray.reads == [0, 3]

    play(scene)


def test_an_effect_without_a_deadline_of_its_own_may_take_long_and_is_doubted_for_a_while() -> None:
    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        ray.seconds = 100.0
        await effects.carry_out(Effect("submit", {}, "key", "Missing", touches=(JOB,)))
        ray.error, ray.seconds = OSError("broken"), 0.0
        with pytest.raises(OSError, match="broken"):
            await effects.carry_out(Effect("submit", {}, "key", "Missing", touches=(JOB,)))
        await asyncio.sleep(DOUBTED_SECONDS + 1)
        assert ray.reads[-1] == 101 + DOUBTED_SECONDS

    play(scene)


def test_no_effect_leaves_without_the_fence() -> None:
    moments = [0.0]
    fence = LeaseFence(lambda: moments[0])

    async def scene(ray: Ray, effects: Effects, facts: Facts) -> None:
        with pytest.raises(FencedError):
            await effects.carry_out(SUBMIT)
        fence.open(10.0)
        await effects.carry_out(SUBMIT)
        moments[0] = 11.0
        await asyncio.sleep(1)
        with pytest.raises(FencedError):
            await effects.carry_out(SUBMIT)
        assert ray.submissions == 1
        assert isinstance(facts.get(JOB), Fact)

    play(scene, fence)


def test_a_host_asks_the_fence_of_its_client() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            server.client.fence = LeaseFence(lambda: 0.0)
            host, ray = build_host(server, Notebook()), Ray()
            host.effects["submit"] = ray.submit
            with pytest.raises(FencedError):
                await host.effects.carry_out(Effect("submit", {}, "key", "Missing"))
            assert ray.submissions == 0

    run_virtual(scenario())


SUBJECT = Subject(Ref("ray.io/v1", "RayJob", "default", "job"), "u")


async def executor_of(server: Any, notebook: Notebook, ray: Ray) -> Executor:
    effects = Effects()
    effects["submit"] = ray.submit
    host = build_host(server, notebook)
    return Executor(
        Writing(server.client, host.types, Freshness(host.caches), random_bytes=bytes, effects=effects), notebook
    )


def test_a_failed_effect_is_told_in_the_words_of_its_error() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            notebook, ray = Notebook(), Ray()
            ray.seconds = 100.0
            executor = await executor_of(server, notebook, ray)
            report = Report(failure=Event("Warning", "FailedToSubmit", "Submit", "the job was not submitted"))
            effect = Effect("submit", {}, "key", "Missing", report=report, seconds=2.0)
            outcome = await executor.carry_out(SUBJECT, Plan(stages=(Stage("s", (effect,)),)), lambda: True, Seat())
            assert not outcome.bugs
            assert notebook.events == ["job FailedToSubmit the job was not submitted, submit: no answer within 2 s"]

    run_virtual(scenario())


@pytest.mark.parametrize(
    ("error", "told"), [(None, ["Submitted", "Started"]), (UnavailableError("away"), ["FailedToSubmit"])]
)
def test_an_effect_that_does_two_things_tells_both_or_that_it_failed(error: ApiError | None, told: list[str]) -> None:
    async def scenario() -> None:
        async with small_server() as server:
            notebook, ray = Notebook(), Ray()
            ray.error = error
            executor = await executor_of(server, notebook, ray)
            submitted, started, failed = (
                Event("Normal", each, "Submit", "") for each in ("Submitted", "Started", "FailedToSubmit")
            )
            report = Report(success=submitted, failure=failed, besides=(started,))
            effect = Effect("submit", {}, "key", "Missing", report=report, seconds=2.0)
            await executor.carry_out(SUBJECT, Plan(stages=(Stage("s", (effect,)),)), lambda: True, Seat())
            assert [each.split()[1] for each in notebook.events] == told

    run_virtual(scenario())


def test_a_plan_that_uses_a_name_before_it_is_persisted_is_not_carried_out() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            notebook, ray = Notebook(), Ray()
            executor = await executor_of(server, notebook, ray)
            status = WriteStatus(SUBJECT.ref, "u", "1", {"jobId": "job-x7k2p"}, "NewAttempt", ("job-x7k2p",))
            submit = Effect("submit", {"submission_id": "job-x7k2p"}, "key", "Missing")
            with pytest.raises(PrematureUseError, match=r"Effect \(Missing\) uses job-x7k2p before"):
                await executor.carry_out(
                    SUBJECT, Plan(stages=(Stage("s", (submit,)),), status=status), lambda: True, Seat()
                )
            assert ray.submissions == 0

    run_virtual(scenario())
