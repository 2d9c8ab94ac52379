"""The log of a driver, told once and in order, whatever breaks."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from aiohttp import web

from heliostat.ray.dashboard import RayDashboard
from heliostat.ray.log_following import PATIENCE_SECONDS, follow_logs
from heliostat.ray.ways import DirectWays, ProxiedWays, open_direct_transport
from heliostat.runtime.errors import NotFoundError, UnavailableError
from heliostat.runtime.transport import Call, Reply
from heliostat.testing.scripted_ray import Hang, RayTransport, ScriptedRay
from ray_jobs.dashboards import SERVICE, SUBMISSION, Scene, play

JOB = SUBMISSION.submission_id
WHOLE = f"{JOB} begins\n{JOB} ends: SUCCEEDED\n"


def test_without_a_stream_the_log_is_asked_for_until_the_job_is_over() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(SUBMISSION)
        told = [(asyncio.get_running_loop().time(), text) async for text in follow_logs(at.dashboard, JOB)]
        assert [text for _when, text in told] == [f"{JOB} begins\n", f"{JOB} ends: SUCCEEDED\n"]
        assert told[0][0] < 2 < 8 <= told[1][0] < 9

    play(scene)


def test_a_job_that_is_over_is_told_whole_and_one_that_nobody_knows_is_not_waited_for() -> None:
    async def scene(at: Scene) -> None:
        with pytest.raises(NotFoundError):
            [text async for text in follow_logs(at.dashboard, JOB)]
        await at.dashboard.submit_job(SUBMISSION)
        await asyncio.sleep(9)
        assert [text async for text in follow_logs(at.dashboard, JOB)] == [WHOLE]

    play(scene)


def test_a_dashboard_that_is_away_for_a_moment_is_waited_for_and_one_that_stays_away_is_not() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(SUBMISSION)
        at.cluster.disturb(Hang(times=3))
        assert "".join([text async for text in follow_logs(at.dashboard, JOB)]) == WHOLE
        at.cluster.disturb(Hang())
        begun = asyncio.get_running_loop().time()
        with pytest.raises(UnavailableError):
            [text async for text in follow_logs(at.dashboard, JOB)]
        assert asyncio.get_running_loop().time() - begun < PATIENCE_SECONDS + 20

    play(scene)


class Breaking(RayTransport):
    """Has a stream, which breaks after so many characters; the next one begins anew."""

    def __init__(self, ray: ScriptedRay, after: int) -> None:
        super().__init__(ray)
        self.streams = 0
        self._after = after
        self._dashboard = RayDashboard(ProxiedWays(RayTransport(ray)).to_dashboard("default", SERVICE, ""))

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        self.streams += 1
        return self._read()

    async def _read(self) -> AsyncGenerator[str, None]:
        for character in (await self._dashboard.fetch_logs(JOB))[: self._after]:
            await asyncio.sleep(0.01)
            yield character
        raise UnavailableError("the connection broke")


@pytest.mark.parametrize("after", [0, 3, 1000])
def test_a_broken_stream_tells_nothing_twice_and_leaves_nothing_out(after: int) -> None:
    async def scene(at: Scene) -> None:
        transport = Breaking(at.ray, after)
        dashboard = RayDashboard(ProxiedWays(transport).to_dashboard("default", SERVICE, ""))
        await dashboard.submit_job(SUBMISSION)
        assert "".join([text async for text in follow_logs(dashboard, JOB)]) == WHOLE
        assert transport.streams > 1

    play(scene)


def test_a_redirected_stream_is_not_followed_and_the_token_stays_here() -> None:
    asked: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        raise web.HTTPFound("/elsewhere")

    async def scenario() -> None:
        application = web.Application()
        application.router.add_route("*", "/{rest:.*}", handle)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        transport = open_direct_transport()
        port = runner.addresses[0][1]
        way = DirectWays(transport).to_dashboard("default", SERVICE, f"127.0.0.1:{port}")
        with pytest.raises(UnavailableError, match="redirect"):
            [text async for text in RayDashboard(way, token="secret").tail_logs(JOB)]
        assert asked == [f"/api/jobs/{JOB}/logs/tail"]
        await transport.close()
        await runner.cleanup()

    asyncio.run(scenario())
