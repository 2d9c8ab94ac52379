"""RayServices that KubeRay left at any turn of a recorded life: our operator goes on with what is there."""

import asyncio

import pytest

from conformance.controllers.planes import now
from conformance.operator.own_world import own_world
from conformance.operator.service_flows import list_service_flows
from conformance.operator.service_take_over import Turn, judge_taken_over, leave, list_turns
from golden_cases import SETTINGS_OF_FOLDER, absence
from heliostat.testing import run_virtual

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

TURNS = list_turns(list_service_flows())
LONGEST = 900.0  # seconds: every upgrade is over


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


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_nothing_rolls_and_the_end_is_the_right_one(turn: Turn, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[str(turn)] == []
