"""Real Pods on images that are built for them: what is seen meanwhile, what is built once, and what a failure says."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from embedded.node.environment_locks import lock_environment
from embedded.node.node_world import IMAGES, NodeWorld, Tree, is_phase, node_world, processes_of, state
from embedded.node.tiny_packages import build_entry, offer_tiny_packages, write_wheel
from heliostat.embedded.node.imaging.images import Image
from heliostat.kube.backoff import Backoff
from heliostat.kube.image_versions import VERSION_MATCHES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root"),
]

Scene: TypeAlias = Callable[[NodeWorld], Coroutine[Any, Any, None]]


def play(directory: Path, scene: Scene, *images: Image) -> None:
    async def work() -> None:
        async with node_world(directory, images=(*images, *IMAGES)) as world:
            await scene(world)
        assert world.problems == []

    asyncio.run(work())
    assert processes_of(directory) == []


def tiny(tag: str) -> Tree:
    return {"name": "c", "image": f"team/tiny:{tag}", "command": ["tinything"]}


def test_two_pods_wait_for_one_environment_and_run_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_tiny_packages(tmp_path, monkeypatch, "1.0.0")

    async def scene(world: NodeWorld) -> None:
        for name, tag in (("one", "1.0.0"), ("two", "1.0.0-gpu")):
            await world.run_pod(name, tiny(tag), restartPolicy="Never")
        for name in ("one", "two"):
            pod = await world.until(name, is_phase("Succeeded", "Failed"))
            (line,) = world.log(pod)
            assert line.startswith(f"tinything 1.0.0 {tmp_path}/environments/1.0.0-py3.")
            await world.until_event(name, "Pulling", 'Pulling image "team/tiny:1.0.0')
            await world.until_event(name, "Pulled", 'Successfully pulled image "team/tiny:1.0.0')
        await world.run_pod("three", tiny("1.0.0"), restartPolicy="Never")
        await world.until("three", is_phase("Succeeded"))
        await world.until_event("three", "Pulled", "already present on machine")

    play(tmp_path / "node", scene, build_entry(tmp_path))
    assert len([place for place in (tmp_path / "environments").iterdir() if place.is_dir()]) == 1


def test_a_build_that_fails_says_what_uv_said_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = offer_tiny_packages(tmp_path, monkeypatch, "1.0.0")
    monkeypatch.setattr("heliostat.embedded.node.imaging.image_pulls.PULL_BACKOFF", Backoff(first=0.5))

    async def scene(world: NodeWorld) -> None:
        await world.run_pod("early", tiny("2.0.0"), restartPolicy="Never")
        reason = "ImagePullBackOff"
        pod = await world.until("early", lambda pod: state(pod).get("waiting", {}).get("reason") == reason)
        assert "there is no version of tinything==2.0.0" in state(pod)["waiting"]["message"]
        await world.until_event("early", "Failed", 'Failed to pull image: "team/tiny:2.0.0": uv: ')
        write_wheel(offered, "2.0.0")
        pod = await world.until("early", is_phase("Succeeded"))
        assert world.log(pod)[0].startswith("tinything 2.0.0 ")

    play(tmp_path / "node", scene, build_entry(tmp_path))


def test_a_pod_goes_while_its_image_is_being_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv is held up by the lock of another process, for as long as this takes."""
    offer_tiny_packages(tmp_path, monkeypatch, "1.0.0")
    entry = build_entry(tmp_path)

    async def scene(world: NodeWorld) -> None:
        with lock_environment("team/tiny:1.0.0", entry):
            await world.run_pod("impatient", tiny("1.0.0"))
            pod = await world.until("impatient", lambda pod: "message" in state(pod).get("waiting", {}))
            assert state(pod)["waiting"]["reason"] == "ContainerCreating"
            message = state(pod)["waiting"]["message"]
            assert message.startswith('Pulling image "team/tiny:1.0.0": Tiny 1.0.0 with Python 3.')
            await world.until(
                "impatient", lambda pod: state(pod)["waiting"]["message"].endswith("another process is building it")
            )
            await world.delete_pod("impatient")
            await world.until_gone("impatient")

    play(tmp_path / "node", scene, entry)


def test_another_version_than_the_tag_s_is_a_condition(tmp_path: Path) -> None:
    entry = Image(match="team/tiny*", product="Tiny", version="3.1.0", tag=build_entry(tmp_path).tag)

    async def scene(world: NodeWorld) -> None:
        for name, tag in (("other", "3.0.0"), ("same", "3.1.0-gpu")):
            container = tiny(tag) | {"command": ["true"]}
            await world.run_pod(name, container, restartPolicy="Never")
        found = {name: await world.until(name, is_phase("Succeeded")) for name in ("other", "same")}
        (told,) = [each for each in found["other"]["status"]["conditions"] if each["type"] == VERSION_MATCHES]
        assert (told["status"], told["reason"]) == ("False", "VersionDiffers")
        assert 'the image "team/tiny:3.0.0" says Tiny 3.0.0, this machine provides 3.1.0' in told["message"]
        assert VERSION_MATCHES not in [each["type"] for each in found["same"]["status"]["conditions"]]

    play(tmp_path / "node", scene, entry)
