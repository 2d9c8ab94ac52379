"""A dashboard client in front of a scripted Ray, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.ways import ProxiedWays
from heliostat.runtime.client import Fence
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing.scripted_ray import STRICT, RayScript, RayTransport, ScriptedCluster, ScriptedRay
from heliostat.testing.virtual_time import run_virtual

EPOCH = 1_800_000_000.0
SERVICE = "raycluster-head-svc"
NAME = f"default/{SERVICE}"
SUBMISSION = Submission(submission_id="job-x7k2p", entrypoint="python app.py")


class Scene:
    def __init__(self, script: RayScript, fence: Fence | None = None) -> None:
        clock = asyncio.get_running_loop().time
        self.ray = ScriptedRay(lambda: EPOCH + clock(), script)
        self.transport = RayTransport(self.ray)
        self.cluster: ScriptedCluster = self.ray.cluster(NAME)
        way = ProxiedWays(self.transport).to_dashboard("default", SERVICE, "")
        self.dashboard = RayDashboard(way, fence=fence)


def play(scene: Callable[[Scene], Awaitable[None]], script: RayScript = STRICT, fence: Fence | None = None) -> None:
    async def scenario() -> None:
        await scene(Scene(script, fence))

    run_virtual(scenario())


class Fixed:
    """Answers every call alike, and keeps what was asked."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.calls: list[tuple[Call, float]] = []

    async def send(self, call: Call, seconds: float) -> Reply:
        self.calls.append((call, seconds))
        return self.reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""
