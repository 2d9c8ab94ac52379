"""The scripted Ray keeps to its script, and its answers have the shapes that the client decodes."""

import asyncio
import sys

import aiohttp
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.ways import DirectWays, open_direct_transport
from heliostat.runtime.errors import AlreadyExistsError, ApiError, InvalidError, NotFoundError
from heliostat.runtime.transport import Call
from heliostat.testing.scripted_ray import (
    RECORDED,
    STRICT,
    Accepted,
    Answer,
    Forget,
    Hang,
    RayScript,
    ScriptedRay,
    Stale,
    serve_ray,
)
from heliostat.testing.scripted_ray.transport import locate
from ray_jobs.dashboards import NAME, SERVICE, SUBMISSION, Scene, play

JOB = SUBMISSION.submission_id


def test_a_job_is_pending_for_one_second_and_runs_until_the_eighth() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(SUBMISSION)
        seen = []
        for _second in range(10):
            await asyncio.sleep(0.5)
            seen.append((await at.dashboard.fetch_job(JOB)).status)
            await asyncio.sleep(0.5)
        assert seen == ["PENDING"] + 7 * ["RUNNING"] + 2 * ["SUCCEEDED"]

    play(scene)


@pytest.mark.parametrize(("id_", "entrypoint"), [("failjob-1", "python a.py"), ("job", "python fail.py")])
def test_a_job_with_fail_in_its_entrypoint_or_id_fails(id_: str, entrypoint: str) -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(Submission(submission_id=id_, entrypoint=entrypoint))
        await asyncio.sleep(8)
        info = await at.dashboard.fetch_job(id_)
        assert (info.status, info.exit_code) == ("FAILED", 1)

    play(scene)


def test_in_the_recorded_script_a_job_that_is_asked_for_is_missing_once_and_then_there() -> None:
    async def scene(at: Scene) -> None:
        with pytest.raises(NotFoundError):
            await at.dashboard.fetch_job(JOB)
        assert (await at.dashboard.fetch_job(JOB)).status == "PENDING"
        assert at.ray.accepted == []

    play(scene, RECORDED)


def test_in_the_strict_script_only_what_was_submitted_is_there() -> None:
    async def scene(at: Scene) -> None:
        for _ in range(3):
            with pytest.raises(NotFoundError):
                await at.dashboard.fetch_job(JOB)

    play(scene, STRICT)


def test_applications_with_unhealthy_in_their_name_are() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.put_applications({"applications": [{"name": "unhealthy-app"}, {"name": ""}]})
        await asyncio.sleep(4)
        found = (await at.dashboard.fetch_applications()).applications
        assert {name: each.status for name, each in found.items()} == {
            "unhealthy-app": "UNHEALTHY",
            "default": "RUNNING",
        }

    play(scene)


def test_serve_may_take_a_configuration_and_go_on_with_the_one_before() -> None:
    async def scene(at: Scene) -> None:
        at.ray.script = structs.replace(STRICT, following_seconds=10.0)
        for version in ("one", "two"):
            await at.dashboard.put_applications({"applications": [{"name": "app", "import_path": version}]})
            await asyncio.sleep(11)
        await at.dashboard.put_applications({"applications": [{"name": "app", "import_path": "three"}]})
        told = []
        for _ in range(2):
            found = (await at.dashboard.fetch_applications()).applications["app"]
            told.append((found.deployed_app_config or {}).get("import_path"))
            await asyncio.sleep(11)
        assert told == ["two", "three"]

    play(scene)


def test_applications_can_be_stuck() -> None:
    async def scene(at: Scene) -> None:
        at.ray.script = structs.replace(STRICT, deploying_seconds=float("inf"))
        await at.dashboard.put_applications({"applications": [{"name": "app"}]})
        await asyncio.sleep(3600)
        assert (await at.dashboard.fetch_applications()).applications["app"].status == "DEPLOYING"

    play(scene)


def test_each_accepted_submission_is_kept_with_its_cluster_and_time() -> None:
    async def scene(at: Scene) -> None:
        await asyncio.sleep(3)
        await at.dashboard.submit_job(SUBMISSION)
        with pytest.raises(AlreadyExistsError):
            await at.dashboard.submit_job(SUBMISSION)
        (taken,) = at.ray.accepted
        assert (taken.cluster, taken.id, taken.at) == (NAME, JOB, at.ray.now())
        assert at.ray.accepted_twice() == []

    play(scene)


def test_a_ray_that_accepts_and_forgets_takes_it_again_and_the_log_tells() -> None:
    async def scene(at: Scene) -> None:
        at.cluster.disturb(Forget(method="POST", times=1))
        await at.dashboard.submit_job(SUBMISSION)
        with pytest.raises(NotFoundError):
            await at.dashboard.fetch_job(JOB)
        await at.dashboard.submit_job(SUBMISSION)
        assert [taken.id for taken in at.ray.accepted_twice()] == [JOB]

    play(scene)


def test_a_stale_answer_is_as_of_a_while_ago() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(SUBMISSION)
        await asyncio.sleep(8)
        at.cluster.disturb(Stale(seconds=5, times=1), Stale(seconds=60, times=1))
        assert (await at.dashboard.fetch_job(JOB)).status == "RUNNING"
        with pytest.raises(NotFoundError):
            await at.dashboard.fetch_job(JOB)
        assert (await at.dashboard.fetch_job(JOB)).status == "SUCCEEDED"

    play(scene)


def test_faults_meet_the_calls_they_name_so_many_times_and_one_cluster_alone() -> None:
    async def scene(at: Scene) -> None:
        at.cluster.disturb(Answer(500, b"broken", method="GET", path="/api/jobs/", times=2))
        await at.dashboard.submit_job(SUBMISSION)
        for _ in range(2):
            with pytest.raises(ApiError, match="broken"):
                await at.dashboard.fetch_job(JOB)
        await at.dashboard.fetch_job(JOB)
        at.cluster.disturb(Hang())
        assert at.ray.cluster("default/other").take_fault("GET", "/") is None

    play(scene)


def test_a_lost_head_has_forgotten_everything() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(SUBMISSION)
        await at.dashboard.put_applications({"applications": [{"name": "a"}]})
        at.cluster.lose()
        assert await at.dashboard.list_jobs() == []
        assert (await at.dashboard.fetch_applications()).applications == {}

    play(scene)


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1/namespaces/default/services/{SERVICE}:dashboard/proxy/api/jobs/a",
        f"//{SERVICE}.default.svc.cluster.local:8265/api/jobs/a",
        f"/default/{SERVICE}/api/jobs/a",
    ],
)
def test_a_cluster_is_found_by_every_way_that_leads_to_it(path: str) -> None:
    assert locate(path) == (NAME, "/api/jobs/a")


STEPS = st.lists(st.sampled_from(["submit", "stop", "delete", "put", "wait", "lose"]), max_size=12)


@given(steps=STEPS, script=st.sampled_from([RECORDED, STRICT]), name=st.sampled_from(["a", "fail-a", "unhealthy"]))
def test_whatever_happened_to_it_the_client_understands_every_answer(
    steps: list[str], script: RayScript, name: str
) -> None:
    async def scene(at: Scene) -> None:
        for step in (*steps, "ask"):
            match step:
                case "submit":
                    await _calmly(at.dashboard.submit_job(Submission(submission_id=name, entrypoint="x")))
                case "stop":
                    await _calmly(at.dashboard.stop_job(name))
                case "delete":
                    await _calmly(at.dashboard.delete_job(name))
                case "put":
                    await at.dashboard.put_applications({"applications": [{"name": name}]})
                case "wait":
                    await asyncio.sleep(2.5)
                case "lose":
                    at.cluster.lose()
            await _calmly(at.dashboard.fetch_job(name))
            await _calmly(at.dashboard.fetch_logs(name))
            assert all(job.submission_id == name for job in await at.dashboard.list_jobs())
            assert set((await at.dashboard.fetch_applications()).applications) <= {name}

    play(scene, script)


async def _calmly(ask: object) -> None:
    """A job may be missing, taken or running; anything else is an answer that the client does not understand."""
    try:
        await ask  # type: ignore[misc]
    except (NotFoundError, AlreadyExistsError):
        return
    except ApiError as error:
        assert "Attempted to delete" in str(error)  # noqa: PT017


def test_over_http_many_clusters_share_one_port_and_their_logs_can_be_followed() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        ray = ScriptedRay(loop.time, RayScript(pending_seconds=0.0, ends_after=0.1, appears_when_asked=False))
        transport = open_direct_transport()
        async with serve_ray(ray) as port:
            ways = DirectWays(transport, gateway=f"127.0.0.1:{port}")
            one, two = (RayDashboard(ways.to_dashboard("default", name, "")) for name in ("one", "two"))
            await one.submit_job(SUBMISSION)
            assert (await one.fetch_job(JOB)).submission_id == JOB
            with pytest.raises(NotFoundError):
                await two.fetch_job(JOB)
            with pytest.raises(InvalidError):
                await two.submit_job(Submission(submission_id="b", entrypoint=None))  # type: ignore[arg-type]
            with pytest.raises(NotFoundError):
                [text async for text in two.tail_logs(JOB)]
            tail = [text async for text in one.tail_logs(JOB)]
            assert "".join(tail) == f"{JOB} begins\n{JOB} ends: SUCCEEDED\n"
            await transport.close()

    asyncio.run(scenario())


def test_over_http_a_cluster_is_also_found_by_its_name_and_answers_are_bounded() -> None:
    async def scenario() -> None:
        ray = ScriptedRay(asyncio.get_running_loop().time, STRICT)
        async with serve_ray(ray) as port, aiohttp.ClientSession() as session:
            headers = {"Host": f"{SERVICE}.default.svc.cluster.local:8265"}
            async with session.get(f"http://127.0.0.1:{port}/api/version", headers=headers) as response:
                assert (await response.json())["ray_version"]
            assert list(ray.clusters) == [NAME]
            transport = open_direct_transport()
            client = RayDashboard(DirectWays(transport, f"127.0.0.1:{port}").to_dashboard("default", "one", ""))
            ray.cluster("default/one").disturb(Answer(200, b'"' + b"x" * 10_000_000 + b'"'))
            with pytest.raises(ApiError, match="more than 4194304 bytes"):
                await client.fetch_job(JOB)
            with pytest.raises(ApiError, match=r"job-x7k2p.*(refused|connect)|connect|refused"):
                await RayDashboard(DirectWays(transport).to_dashboard("d", "x", "127.0.0.1:1")).fetch_job(JOB)
            await transport.close()

    asyncio.run(scenario())


def test_an_application_can_stay_deploying_flap_or_keep_its_old_configuration() -> None:
    async def scene(at: Scene) -> None:
        async def look() -> str:
            found = (await at.dashboard.fetch_applications()).applications
            return " ".join(f"{name} {each.status}" for name, each in found.items())

        at.cluster.script = RayScript(deploying_seconds=1e9)
        await at.dashboard.put_applications({"applications": [{"name": "a"}]})
        await asyncio.sleep(1000)
        assert await look() == "a DEPLOYING"
        at.cluster.script = RayScript(flapping_seconds=10)
        await at.dashboard.put_applications({"applications": [{"name": "a"}]})
        await asyncio.sleep(4)
        assert await look() == "a RUNNING"
        await asyncio.sleep(10)
        assert await look() == "a UNHEALTHY"
        at.cluster.script = None
        at.cluster.disturb(Forget(method="PUT", times=1))
        await at.dashboard.put_applications({"applications": [{"name": "b"}]})
        assert await look() == "a RUNNING"

    play(scene)


def test_as_a_program_it_tells_its_port_and_what_it_has_accepted() -> None:
    async def scenario() -> None:
        arguments = ("-m", "heliostat.testing.scripted_ray", "--strict")
        program = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
        assert program.stdout is not None
        transport = open_direct_transport()
        try:
            port = int(await program.stdout.readline())
            client = RayDashboard(DirectWays(transport, f"127.0.0.1:{port}").to_dashboard("default", "one", ""))
            await client.submit_job(SUBMISSION)
            reply = await transport.send(Call(method="GET", path=f"//127.0.0.1:{port}/-/accepted"), 10)
            (taken,) = msgspec.json.decode(reply.body, type=list[Accepted])
            assert (taken.cluster, taken.id) == ("default/one", JOB)
        finally:
            await transport.close()
            program.kill()
            await program.wait()

    asyncio.run(scenario())
