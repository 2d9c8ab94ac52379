"""Following a RayService, against a real server whose operator is played: a move, its end, and what never ends well."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from heliostat.local import service_following
from heliostat.local.following import NotReadyError, RunError
from heliostat.plan.rayservice.answers import ApplicationInfo, ServeInfo
from local.rayservice_worlds import READY, SERVICES, ServiceScene, play, slot

UPGRADE = {"type": "UpgradeInProgress", "status": "True", "reason": "BothActivePendingClustersExist", "message": ""}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("_POLL_SECONDS", 0.02), ("_STALE_SECONDS", 0.3), ("_FAILED_SECONDS", 0.3)):
        monkeypatch.setattr(service_following, name, seconds)


def test_a_move_is_followed_until_the_next_cluster_serves(tmp_path: Path) -> None:
    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a")
        await world.make_cluster("stand-b")
        following = asyncio.create_task((await world.begin()).follow())
        await world.until("RayService stand: starts")
        await world.write(slot("stand-a"), slot("stand-b", fruit="DEPLOYING"), READY, UPGRADE)
        await world.until("moves to stand-b")
        assert not following.done()
        await world.write(slot("stand-b", fruit="RUNNING"), {}, READY)
        assert (await following)["metadata"]["name"] == "stand"
        assert world.lines[-2].startswith("✓ RayService stand: ready")

    play(tmp_path, scene)


def test_a_status_of_the_spec_before_is_believed_once_it_stays(tmp_path: Path) -> None:
    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a")
        follower = await world.begin()
        await world.write(slot("stand-a", fruit="RUNNING"), {}, READY, is_current=False)
        assert await follower.follow()

    play(tmp_path, scene)


def test_an_application_that_serve_gave_up_ends_it_with_its_error(tmp_path: Path) -> None:
    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a")
        follower = await world.begin()
        await world.write({}, slot("stand-a", "failed:\nKeyError: 'price'", fruit="DEPLOY_FAILED"))
        with pytest.raises(NotReadyError, match="application fruit failed on stand-a: KeyError: 'price'"):
            await follower.follow()

    play(tmp_path, scene)


CONFIG = "applications: [{name: fruit, import_path: 'm:a'}]"


def serve_runs(monkeypatch: pytest.MonkeyPatch, **import_paths: str) -> None:
    async def ask(*_arguments: Any) -> ServeInfo:
        configs = {name: {"name": name, "import_path": path} for name, path in import_paths.items()}
        return ServeInfo({name: ApplicationInfo("RUNNING", config=config) for name, config in configs.items()})

    monkeypatch.setattr(service_following, "ask_serve", ask)


def test_what_serve_refused_ends_it_although_it_goes_on_with_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_runs(monkeypatch, fruit="m:before")

    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a", HeadPodReady="True")
        follower = await world.begin(serveConfigV2=CONFIG)
        await world.write(slot("stand-a", fruit="RUNNING"), {}, READY)
        await world.tell(
            "FailedToUpdateServeApplications", "to the RayCluster default/stand-a: PUT /x: 400: bad import"
        )
        with pytest.raises(NotReadyError, match=r"Serve on stand-a did not take spec.serveConfigV2: 400: bad import"):
            await follower.follow()

    play(tmp_path, scene)


def test_a_change_in_place_is_over_when_serve_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_following, "_FAILED_SECONDS", 60.0)
    serve_runs(monkeypatch, fruit="m:before")

    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a", HeadPodReady="True")
        following = asyncio.create_task((await world.begin(serveConfigV2=CONFIG)).follow())
        await world.write(slot("stand-a", fruit="RUNNING"), {}, READY)
        await world.until("ready, 1 Pod answers requests")
        await asyncio.sleep(0.2)
        assert not following.done()
        serve_runs(monkeypatch, fruit="m:a")
        assert await following

    play(tmp_path, scene)


def test_a_report_in_words_of_serves_own_is_believed_once_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_runs(monkeypatch, fruit="m:otherwise")

    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a", HeadPodReady="True")
        follower = await world.begin(serveConfigV2=CONFIG)
        await world.write(slot("stand-a", fruit="RUNNING"), {}, READY)
        assert await follower.follow()

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("condition", "suspend", "words"),
    [
        ({"type": "Ready", "status": "False", "reason": "ValidationFailed", "message": "too long"}, False, "too long"),
        ({"type": "Ready", "status": "False", "reason": "InitializingTimeout", "message": "late"}, False, "late"),
        ({"type": "Suspended", "status": "True", "reason": "SuspendComplete", "message": ""}, True, "is suspended"),
    ],
)
def test_what_will_never_serve_ends_it_with_the_reason(
    tmp_path: Path, condition: dict[str, str], words: str, *, suspend: bool
) -> None:
    async def scene(world: ServiceScene) -> None:
        follower = await world.begin(suspend=suspend)
        await world.write({}, {}, condition)
        with pytest.raises(NotReadyError, match=words):
            await follower.follow()

    play(tmp_path, scene)


def test_a_service_that_somebody_else_changes_is_not_what_the_file_says(tmp_path: Path) -> None:
    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a")
        follower = await world.begin()
        found = await world.server.request("GET", f"{SERVICES}/stand")
        found["spec"]["serveConfigV2"] = CONFIG
        await world.server.request("PUT", f"{SERVICES}/stand", found)
        await world.write(slot("stand-a", fruit="RUNNING"), {}, READY)
        with pytest.raises(RunError, match="was changed by somebody else while it was followed"):
            await follower.follow()

    play(tmp_path, scene)


def test_a_service_that_is_being_deleted_is_not_waited_for(tmp_path: Path) -> None:
    async def scene(world: ServiceScene) -> None:
        follower = await world.begin()
        found = await world.server.request("GET", f"{SERVICES}/stand")
        found["metadata"]["finalizers"] = ["ray.io/rayservice-finalizer"]
        await world.server.request("PUT", f"{SERVICES}/stand", found)
        await world.server.request("DELETE", f"{SERVICES}/stand")
        with pytest.raises(RunError, match="was deleted while it was followed"):
            await follower.follow()

    play(tmp_path, scene)


def test_it_is_bounded_and_a_service_that_is_deleted_is_not_waited_for(tmp_path: Path) -> None:
    async def scene(world: ServiceScene) -> None:
        with pytest.raises(NotReadyError, match="was not ready in time"):
            await (await world.begin(seconds=0.1)).follow()
        follower = await world.begin()
        await world.server.request("DELETE", f"{SERVICES}/stand")
        with pytest.raises(RunError, match="was deleted while it was followed"):
            await follower.follow()

    play(tmp_path, scene)
