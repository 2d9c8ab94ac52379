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

    def __init__(self, settings: Settings, *, has_ray: bool = True, is_slow: bool = False) -> None:
        self._runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self._ends = AsyncExitStack()
        self.operated = self.run(self._open(settings, has_ray=has_ray, is_slow=is_slow))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def close(self) -> None:
        with self._runner:
            self.run(self._ends.aclose())

    async def _open(self, settings: Settings, *, has_ray: bool, is_slow: bool) -> Operated:
        world = await self._ends.enter_async_context(own_world(has_ray=has_ray, is_slow=is_slow))
        return await self._ends.enter_async_context(world.operated(settings))


class Worlds:
    def __init__(self) -> None:
        self._worlds: dict[str, RunningWorld] = {}

    def of(self, name: str, settings: Settings, *, has_ray: bool = True, is_slow: bool = False) -> RunningWorld:
        """``name`` tells settings apart."""
        name = f"{name} ray={has_ray} slow={is_slow}"
        if name not in self._worlds:
            self._worlds[name] = RunningWorld(settings, has_ray=has_ray, is_slow=is_slow)
        return self._worlds[name]

    def close(self) -> None:
        for world in self._worlds.values():
            world.close()
