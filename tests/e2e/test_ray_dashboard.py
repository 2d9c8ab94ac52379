"""The client against the real Ray, through the API server's proxy; and the scripted Ray against the real one.

What the scripted one answers must have the shape of what Ray answers, or every test that uses it shows nothing.
"""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from e2e.clusters import RealCluster, build_cluster, needs_real_ray
from e2e.local_machine import local_machine
from heliostat.local.session import open_session
from heliostat.ray.answers import JobInfo
from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.log_following import follow_logs
from heliostat.ray.ways import ProxiedWays
from heliostat.runtime.errors import AlreadyExistsError, ApiError, InvalidError, NotFoundError
from heliostat.runtime.transport import Call, Transport
from heliostat.testing.scripted_ray import STRICT, RayTransport, ScriptedRay

pytestmark = needs_real_ray

SERVICE = "jobs-head-svc"
HEAD = build_cluster("jobs", [])
PATIENT = 60.0
TALKS = 'python -c \'import time; print("one", flush=True); time.sleep(3); print("two", flush=True)\''


def test_the_client_understands_ray_and_the_scripted_ray_speaks_like_it(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        RealCluster(machine, HEAD).wait_until_ready()
        asyncio.run(_judge(machine.state.kubeconfig))


async def _judge(kubeconfig: Path) -> None:
    async with open_session(kubeconfig) as session:
        dashboard = _reach(session.transport)
        await _await_dashboard(dashboard)
        await _follow_a_job(dashboard)
        await _stop_a_job(dashboard)
        await _fail_a_job(dashboard)
        await _refusals(dashboard)
        await _shapes(session.transport, dashboard)


def _reach(transport: Transport) -> RayDashboard:
    way = ProxiedWays(transport).to_dashboard("default", SERVICE, "")
    return RayDashboard(msgspec.structs.replace(way, seconds=PATIENT, write_seconds=PATIENT))


async def _await_dashboard(dashboard: RayDashboard) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            assert await dashboard.fetch_version()
        except ApiError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
        else:
            return


async def _follow_a_job(dashboard: RayDashboard) -> None:
    assert await dashboard.submit_job(Submission(submission_id="talks", entrypoint=TALKS)) == "talks"
    told = [(time.monotonic(), text) async for text in follow_logs(dashboard, "talks")]
    log = "".join(text for _when, text in told)
    assert log.index("one") < log.index("two")
    assert log == await dashboard.fetch_logs("talks")
    first, second = (next(when for when, text in told if word in text) for word in ("one", "two"))
    assert second - first > 1, "it was told as it came"
    info = await dashboard.fetch_job("talks")
    assert (info.status, info.exit_code, info.submission_id) == ("SUCCEEDED", 0, "talks")
    assert info.start_time
    assert info.end_time
    assert info.end_time >= info.start_time > 1_600_000_000_000


async def _stop_a_job(dashboard: RayDashboard) -> None:
    await dashboard.submit_job(Submission(submission_id="sleeps", entrypoint="sleep 1000"))
    await _await_status(dashboard, "sleeps", "RUNNING")
    with pytest.raises(ApiError, match="delete"):
        await dashboard.delete_job("sleeps")
    assert await dashboard.stop_job("sleeps") is True
    await _await_status(dashboard, "sleeps", "STOPPED")
    assert await dashboard.stop_job("sleeps") is False


async def _fail_a_job(dashboard: RayDashboard) -> None:
    await dashboard.submit_job(Submission(submission_id="fails", entrypoint="exit 7"))
    info = await _await_status(dashboard, "fails", "FAILED")
    assert info.exit_code == 7


async def _refusals(dashboard: RayDashboard) -> None:
    with pytest.raises(NotFoundError):
        await dashboard.fetch_job("nobody")
    with pytest.raises(NotFoundError):
        await dashboard.stop_job("nobody")
    with pytest.raises(AlreadyExistsError):
        await dashboard.submit_job(Submission(submission_id="talks", entrypoint="true"))
    with pytest.raises(InvalidError):
        await dashboard.submit_job(Submission(submission_id="bad", entrypoint=None))  # type: ignore[arg-type]
    await dashboard.delete_job("fails")
    await dashboard.delete_job("fails")
    assert {job.submission_id for job in await dashboard.list_jobs()} >= {"talks", "sleeps"}


async def _shapes(transport: Transport, dashboard: RayDashboard) -> None:
    """Same fields, same types where both say something, same words where a job is missing or taken."""
    scripted = RayTransport(ScriptedRay(time.time, STRICT))
    for each in (scripted, transport):
        await _reach(each).submit_job(Submission(submission_id="twin", entrypoint="sleep 5", metadata={"a": "b"}))
    base = ProxiedWays(transport).to_dashboard("default", SERVICE, "").base
    await _await_status(dashboard, "twin", "RUNNING")
    await _await_status(_reach(scripted), "twin", "RUNNING")
    real, made = [await _ask(each, f"{base}/api/jobs/twin") for each in (transport, scripted)]
    assert set(made) == set(real)
    for field, value in made.items():
        if value is not None and real[field] is not None:
            assert type(value) is type(real[field]), field
    missing = [
        await each.send(Call(method="GET", path=f"{base}/api/jobs/x"), PATIENT) for each in (transport, scripted)
    ]
    assert missing[0] == missing[1]
    version = [await _ask(each, f"{base}/api/version") for each in (transport, scripted)]
    assert set(version[0]) == set(version[1])


async def _ask(transport: Transport, path: str) -> dict[str, Any]:
    reply = await transport.send(Call(method="GET", path=path), PATIENT)
    assert reply.status == 200
    tree: dict[str, Any] = msgspec.json.decode(reply.body)
    return tree


async def _await_status(dashboard: RayDashboard, id_: str, status: str) -> JobInfo:
    deadline = time.monotonic() + 120
    while (info := await dashboard.fetch_job(id_)).status != status:
        assert time.monotonic() < deadline, f"{id_} is {info.status}"
        assert not info.is_over, f"{id_} is {info.status}: {info.message}"
        await asyncio.sleep(0.2)
    return info
