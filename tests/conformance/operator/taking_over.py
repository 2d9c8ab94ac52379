"""Many objects as KubeRay left them, in one world and each in a namespace of its own: our operator goes on with all."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from conformance.controllers.planes import now
from conformance.operator.own_world import own_world
from conformance.operator.worlds import Operated, World
from golden_cases import SETTINGS_OF_FOLDER
from heliostat.testing import run_virtual

LONGEST = 900.0  # seconds: every time-out is over, and every upgrade
T = TypeVar("T")


def take_over(
    turns: Sequence[T],
    leave: Callable[[World, T, float], Awaitable[None]],
    judge: Callable[[Operated, T], Awaitable[list[str]]],
) -> dict[str, list[str]]:
    """What is wrong in the end, by turn."""

    async def play() -> dict[str, list[str]]:
        async with own_world() as world:
            for turn in turns:
                await leave(world, turn, now())
            async with world.operated(SETTINGS_OF_FOLDER["samples"]) as operated:
                await asyncio.sleep(LONGEST)
                return {str(turn): await judge(operated, turn) for turn in turns}

    return run_virtual(play())
