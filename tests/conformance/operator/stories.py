"""Stories of ray.io objects with the running operator, simulated nodes and a scripted Ray, in virtual time.

All stories of a process share one world; each has a namespace of its own, which is gone afterwards.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from conformance.operator.administrator import EVENT, Administrator
from conformance.operator.running import RunningWorld
from conformance.operator.worlds import Operated
from heliostat.kube.resource_types import ResourceType
from heliostat.testing.scripted_ray import RayScript, ScriptedRay

Tree = dict[str, Any]


class Stage(Struct, frozen=True):
    operated: Operated
    ray: ScriptedRay
    namespace: str

    @property
    def admin(self) -> Administrator:
        return self.operated.admin

    async def rest(self) -> None:
        await self.operated.rest()

    async def until(self, test: Callable[[], Awaitable[bool]]) -> None:
        await self.operated.world.until(test)

    async def names(self, kind: ResourceType) -> list[str]:
        return sorted(item["metadata"]["name"] for item in await self.admin.items(kind, self.namespace))

    async def until_gone(self, kind: ResourceType) -> None:
        async def is_gone() -> bool:
            return not await self.names(kind)

        await self.until(is_gone)

    async def events(self, kind: str) -> list[Tree]:
        """Those about objects of this kind."""
        events = await self.admin.items(EVENT, self.namespace)
        return [event for event in events if event["regarding"]["kind"] == kind]


S = TypeVar("S", bound=Stage)


def tell(
    running: RunningWorld, stage: type[S], namespace: str, script: RayScript, story: Callable[[S], Awaitable[None]]
) -> None:
    running.run(_tell(running.operated, stage, namespace, script, story))
    assert running.operated.world.problems == []


async def _tell(
    operated: Operated, stage: type[S], namespace: str, script: RayScript, story: Callable[[S], Awaitable[None]]
) -> None:
    ray = operated.world.ray
    assert ray is not None
    ray.script = script
    ray.accepted.clear()
    await operated.world.make_namespace(namespace)
    await story(stage(operated, ray, namespace))
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)
