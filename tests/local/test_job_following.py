"""Following a RayJob, against a real server whose operator is played and a scripted Ray: states, words, end, stop."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from heliostat.local.following import RunError
from heliostat.testing.scripted_ray import Answer
from local.rayjob_worlds import ID, JOBS, LONG, World, play

Tree = dict[str, Any]


def test_states_are_shown_the_drivers_words_are_told_and_the_end_is_the_jobs(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        following = asyncio.create_task((await world.begin()).follow())
        await world.until(lambda: bool(world.block))
        await world.make_cluster()
        await world.write("Initializing", jobId=ID, rayClusterName="hello-c1")
        await world.until(lambda: any("RayCluster hello-c1" in line for line in world.block))
        await world.write("Running", jobStatus="PENDING")
        await world.until(lambda: any("the job is PENDING" in line for line in world.block))
        await world.submit()  # the reader has been there before: Ray did not know the job yet
        await world.until(lambda: "SUCCEEDED" in "".join(world.words))
        await world.write("Complete", jobStatus="SUCCEEDED")
        assert await following == 0
        assert "".join(world.words) == f"{ID} begins\n{ID} ends: SUCCEEDED\n"
        assert world.block[0] == "… RayJob hello: is new"
        assert world.block[-1] == "✓ RayJob hello: Complete, the job is SUCCEEDED"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"jobStatus": "FAILED", "message": "Job entrypoint command failed with exit code 7, last logs: x"}, 7),
        ({"jobStatus": "FAILED", "reason": "DeadlineExceeded"}, 1),
        ({"jobStatus": "SUCCEEDED", "reason": "SubmissionFailed"}, 1),
    ],
)
def test_a_failed_job_has_its_exit_code_also_when_its_cluster_is_gone(tmp_path: Path, status: Tree, code: int) -> None:
    async def scene(world: World) -> None:
        follower = await world.begin()
        await world.write("Failed", jobId=ID, rayClusterName="hello-c1", **status)
        assert await follower.follow() == code

    play(tmp_path, scene)


def test_what_interrupts_it_asks_ray_to_stop_the_job_and_says_so(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.make_cluster()
        follower = await world.begin()
        following = asyncio.create_task(follower.follow())
        await world.write("Running", jobId=ID, rayClusterName="hello-c1", jobStatus="RUNNING")
        await world.submit()
        await world.until(lambda: bool(world.words))
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        assert await follower.stop() == f"Ray was asked to stop the job {ID}"
        assert world.ray.cluster("default/hello-c1-head-svc").jobs[ID].stopped is not None
        assert await follower.stop() == f"the job {ID} was over already"

    play(tmp_path, scene, LONG)


def test_a_job_that_has_not_begun_is_not_asked_about(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        assert await (await world.begin()).stop() == "the job had not begun"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("phase", "status", "answer", "told"),
    [
        ("Initializing", {}, b"connection refused", "the job had not begun"),
        ("Initializing", {}, b"overloaded", f"Ray could not be asked to stop the job {ID}: "),
        ("Running", {"jobStatus": "RUNNING"}, b"connection refused", f"Ray could not be asked to stop the job {ID}: "),
    ],
)
def test_a_dashboard_that_is_not_there_yet_is_no_news_and_one_that_is_silent_or_away_is(
    tmp_path: Path, phase: str, status: Tree, answer: bytes, told: str
) -> None:
    async def scene(world: World) -> None:
        await world.make_cluster()
        follower = await world.begin()
        following = asyncio.create_task(follower.follow())
        await world.write(phase, jobId=ID, rayClusterName="hello-c1", **status)
        await world.until(lambda: any(phase in line for line in world.block))
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        world.ray.cluster("default/hello-c1-head-svc").disturb(Answer(503, answer))
        assert (await follower.stop()).startswith(told)

    play(tmp_path, scene, LONG)


@pytest.mark.parametrize(
    ("phase", "words"),
    [("ValidationFailed", "is refused: the reason"), ("Suspended", "is suspended, as its file says")],
)
def test_what_will_never_run_ends_it_with_the_reason(tmp_path: Path, phase: str, words: str) -> None:
    async def scene(world: World) -> None:
        follower = await world.begin()
        await world.write(phase, message="the reason")
        with pytest.raises(RunError, match=words):
            await follower.follow()

    play(tmp_path, scene)


def test_a_rayjob_that_somebody_deletes_is_not_waited_for(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        follower = await world.begin()
        await world.server.request("DELETE", f"{JOBS}/hello")
        with pytest.raises(RunError, match="was deleted while it was followed"):
            await follower.follow()

    play(tmp_path, scene)
