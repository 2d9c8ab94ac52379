"""The lightweight submitter: its flags, its exit codes, the log it follows, and a job that was submitted before."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSCloseCode, web

from heliostat.ray.submitter import ADDRESS, ID, TOKEN, read_errand, run
from heliostat.testing.scripted_ray import RayScript, ScriptedRay, serve_ray

JOB = "job-x7k2p"
PROGRAM = ("--", "python", "app.py", "--rate", "0.1")
QUICK = RayScript(appears_when_asked=False, pending_seconds=0.0, ends_after=0.2)


def where(address: str, **more: str) -> dict[str, str]:
    return {ADDRESS: address, ID: JOB, **more}


def test_all_flags_reach_ray() -> None:
    flags = [
        "--runtime-env-json", '{"env_vars": {"a": "b"}}', '--metadata-json={"owner": "me"}',
        "--entrypoint-num-cpus", "2", "--entrypoint-num-gpus=0.5", "--entrypoint-resources", '{"R1": 2}',
    ]  # fmt: skip
    sent = read_errand([*flags, *PROGRAM], where("ray:8265", **{TOKEN: "t"}))
    assert (sent.address, sent.token) == ("ray:8265", "t")
    submission = sent.submission
    assert (submission.submission_id, submission.entrypoint) == (JOB, "python app.py --rate 0.1")
    assert (submission.runtime_env, submission.metadata) == ({"env_vars": {"a": "b"}}, {"owner": "me"})
    assert (submission.entrypoint_num_cpus, submission.entrypoint_num_gpus) == (2.0, 0.5)
    assert submission.entrypoint_resources == {"R1": 2.0}


@pytest.mark.parametrize("address", ["ray:8265", "http://ray:8265", "http://ray:8265/"])
def test_the_scheme_of_the_address_may_be_left_out(address: str) -> None:
    assert read_errand(PROGRAM, where(address)).address == "ray:8265"


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (PROGRAM, {ID: JOB}, f"the variable {ADDRESS} is empty"),
        (PROGRAM, {ADDRESS: "ray:8265"}, f"the variable {ID} is empty"),
        ((), where("ray:8265"), "there is nothing to run"),
        (("--entrypoint-resources", '{"cpu": "much"}', *PROGRAM), where("ray:8265"), "--entrypoint-resources"),
        (("--runtime-env-json", "[]", *PROGRAM), where("ray:8265"), "--runtime-env-json []"),
        (("--metadata-json", "{", *PROGRAM), where("ray:8265"), "--metadata-json {"),
        (PROGRAM, where("127.0.0.1:1"), "error: POST //127.0.0.1:1/api/jobs/"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_told_and_ends_with_1(
    arguments: tuple[str, ...], environment: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asyncio.run(run(arguments, environment)) == 1
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


def test_a_flag_that_does_not_exist_ends_with_2() -> None:
    with pytest.raises(SystemExit) as ended:
        asyncio.run(run(["--runtime-env", "{}", *PROGRAM], where("ray:8265")))
    assert ended.value.code == 2


def test_the_log_is_streamed_and_who_comes_again_only_follows(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        ray = ScriptedRay(time.time, QUICK)
        async with serve_ray(ray) as port:
            environment = where(f"localhost:{port}/default/head-svc")
            assert await run(PROGRAM, environment) == 0
            first = capsys.readouterr().out
            assert await run(PROGRAM, environment) == 0
        second = capsys.readouterr().out
        log = f"{JOB} begins\n{JOB} ends: SUCCEEDED\nSUCC -- Job '{JOB}' succeeded\n"
        assert first == f"SUCC -- Job '{JOB}' submitted successfully\n{log}"
        assert second == f"INFO -- Job '{JOB}' has already been submitted, tailing logs.\n{log}"
        assert [taken.id for taken in ray.accepted] == [JOB], "once"

    asyncio.run(scenario())


def test_a_job_that_fails_is_followed_to_its_end_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with serve_ray(ScriptedRay(time.time, QUICK)) as port:
            assert await run(("--", "python", "fail.py"), where(f"localhost:{port}/default/head-svc")) == 0

    asyncio.run(scenario())
    assert f"{JOB} ends: FAILED" in capsys.readouterr().out


@pytest.mark.parametrize("code", [WSCloseCode.GOING_AWAY, WSCloseCode.INTERNAL_ERROR, None])
def test_a_log_that_breaks_off_ends_with_1(code: WSCloseCode | None, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with broken_ray(code) as port:
            assert await run(PROGRAM, where(f"127.0.0.1:{port}")) == 1

    asyncio.run(scenario())
    told = capsys.readouterr()
    assert "so far" in told.out
    assert "succeeded" not in told.out
    assert "/logs/tail" in told.err


@asynccontextmanager
async def broken_ray(code: WSCloseCode | None) -> AsyncIterator[int]:
    """It takes every job; its log breaks off, without a word if there is no code. It asks for the token."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return web.json_response({"job_id": JOB, "submission_id": JOB})
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str("so far\n")
        if code is None:
            assert request.transport is not None
            request.transport.abort()
        else:
            await socket.close(code=code)
        return socket

    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def test_the_token_goes_with_every_call() -> None:
    seen: list[tuple[str, str | None]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append((request.path, request.headers.get("X-Ray-Authorization")))
        return web.json_response({"submission_id": JOB}) if request.method == "POST" else web.Response(status=404)

    async def scenario() -> None:
        application = web.Application()
        application.router.add_route("*", "/{rest:.*}", handle)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        await run(PROGRAM, where(f"127.0.0.1:{runner.addresses[0][1]}", **{TOKEN: "secret"}))
        await runner.cleanup()

    asyncio.run(scenario())
    assert seen == [("/api/jobs/", "Bearer secret"), (f"/api/jobs/{JOB}/logs/tail", "Bearer secret")]


def test_it_is_a_program() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in (ADDRESS, ID)}
    done = subprocess.run(
        [sys.executable, "-m", "heliostat.ray.submitter", *PROGRAM],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: the variable {ADDRESS} is empty")
