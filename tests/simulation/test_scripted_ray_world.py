"""A scripted Ray in a simulated world: behind the service proxy, in virtual time, through the calls of a program."""

import asyncio

import pytest

from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.ways import ProxiedWays
from heliostat.runtime.errors import ApiError, NotFoundError
from heliostat.testing.scripted_ray import STRICT, Hang, RayTransport, ScriptedRay
from heliostat.testing.simulation.connection import Connection
from heliostat.testing.simulation.faults import Crash, Injection, LandLate
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import EPOCH, Result, World, run_world

SUBMITTER = "submitter"


class Told:
    def __init__(self) -> None:
        self.seen: list[str] = []


async def _look_or_submit(dashboard: RayDashboard) -> str:
    try:
        return (await dashboard.fetch_job("job")).status
    except NotFoundError:
        return await dashboard.submit_job(Submission(submission_id="job", entrypoint="x"))


def run(told: Told, *faults: Injection, hangs: bool = False) -> tuple[Result, ScriptedRay]:
    """A program that submits what Ray does not know, and follows it; a new life begins after the deadline."""
    kept: list[ScriptedRay] = []

    async def scenario(world: World) -> None:
        ray = ScriptedRay(world.now, STRICT)
        kept.append(ray)
        if hangs:
            ray.cluster("default/head").disturb(Hang(times=2))
        world.serve(RayTransport(ray))

        async def submit(connection: Connection, life: int) -> None:
            await asyncio.sleep(5.0 if life else 0.0)
            dashboard = RayDashboard(ProxiedWays(connection).to_dashboard("default", "head", ""))
            while not told.seen or told.seen[-1] != "SUCCEEDED":
                try:
                    told.seen.append(await _look_or_submit(dashboard))
                except ApiError as error:
                    told.seen.append(type(error).__name__)
                await asyncio.sleep(1.0)

        world.start(SUBMITTER, submit)
        await world.until("it is over", lambda: told.seen[-1:] == ["SUCCEEDED"], 300)

    result = run_world(scenario, seed=1, script=Script(faults))
    return result, kept[0]


def test_a_job_runs_to_its_end_in_virtual_time() -> None:
    told = Told()
    result, ray = run(told)
    assert result.violation is None
    assert told.seen[0] == "job"
    assert set(told.seen[1:]) == {"RUNNING", "SUCCEEDED"}
    assert len(ray.accepted) == 1
    assert run(Told())[0].digest == result.digest


@pytest.mark.parametrize(("when", "accepted_by"), [("before", 1), ("after", 0), ("late", 0)])
def test_a_program_that_dies_at_its_submission_has_sent_it_or_not(when: str, accepted_by: int) -> None:
    told = Told()
    result, ray = run(told, Injection(SUBMITTER, 1, Crash(when, 0.5)))
    assert result.violation is None
    assert len(ray.accepted) == 1
    posts = [line for line in result.trace if "POST" in line and line.endswith("200")]
    assert len(posts) == accepted_by


def test_a_submission_that_lands_late_is_accepted_then() -> None:
    told = Told()
    result, ray = run(told, Injection(SUBMITTER, 1, LandLate(0.5)))
    assert result.violation is None
    assert told.seen[0] == "AmbiguousError"
    assert [taken.at - EPOCH for taken in ray.accepted] == [pytest.approx(2.0, abs=0.1)]


def test_a_dashboard_that_hangs_costs_its_deadline_in_virtual_time() -> None:
    told = Told()
    result, _ray = run(told, hangs=True)
    assert result.violation is None
    assert told.seen[:2] == ["UnavailableError", "UnavailableError"]
