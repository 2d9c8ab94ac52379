"""RayJobs that KubeRay left at any turn of a recorded life: our operator goes on with what is there."""

import asyncio

import pytest

from conformance.controllers.planes import now
from conformance.operator.job_flows import list_job_flows
from conformance.operator.job_take_over import Turn, judge_taken_over, leave, list_turns
from conformance.operator.own_world import own_world
from golden_cases import SETTINGS_OF_FOLDER, absence
from heliostat.testing import run_virtual

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

TURNS = list_turns(list_job_flows())
LONGEST = 900.0  # seconds: every time-out of a RayJob is over


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[str]]:
    """All of them at once: each has a namespace of its own."""

    async def play() -> dict[str, list[str]]:
        async with own_world() as world:
            for turn in TURNS:
                await leave(world, turn, now())
            async with world.operated(SETTINGS_OF_FOLDER["samples"]) as operated:
                await asyncio.sleep(LONGEST)
                return {str(turn): await judge_taken_over(operated, turn) for turn in TURNS}

    return run_virtual(play())


def test_every_phase_that_kuberay_passes_through_is_among_them() -> None:
    phases = {turn.status.get("jobDeploymentStatus") for turn in TURNS}
    assert phases >= {None, "Initializing", "Running", "Retrying", "Suspending", "Suspended", "Complete", "Failed"}
    assert "ValidationFailed" in phases


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_nothing_is_done_twice_and_the_end_is_the_right_one(turn: Turn, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[str(turn)] == []
