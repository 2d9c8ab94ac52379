"""Worlds in virtual time that outlive a test: each is made when asked for; between tests its time stands still."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from conformance.operator.own_world import own_world
from conformance.operator.worlds import Operated
from heliostat.api.settings import Settings
from heliostat.testing import VirtualTimeLoop

T = TypeVar("T")


class RunningWorld:
    """Its time passes only while something runs in it."""

    def __init__(self, settings: Settings) -> None:
        self._runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self._ends = AsyncExitStack()
        self.operated = self.run(self._open(settings))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def close(self) -> None:
        with self._runner:
            self.run(self._ends.aclose())

    async def _open(self, settings: Settings) -> Operated:
        world = await self._ends.enter_async_context(own_world())
        return await self._ends.enter_async_context(world.operated(settings))


class Worlds:
    def __init__(self) -> None:
        self._worlds: dict[str, RunningWorld] = {}

    def of(self, name: str, settings: Settings) -> RunningWorld:
        """``name`` tells settings apart."""
        if name not in self._worlds:
            self._worlds[name] = RunningWorld(settings)
        return self._worlds[name]

    def close(self) -> None:
        for world in self._worlds.values():
            world.close()
