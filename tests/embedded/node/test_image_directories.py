"""Directories that an image has and the machine has not: the container's own, also for a user without rights."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from embedded.node.node_world import Tree, is_phase, node_world, shell, state
from heliostat.embedded.node.imaging.images import Image

pytestmark = pytest.mark.slow

HOME = "/home/of-an-image"
IMAGES = (
    Image(match="busybox*", environment={"HOME": HOME}, directories=(HOME, "/data-of-an-image"), work_directory=HOME),
    Image(match="elsewhere*", directories=("/data-of-an-image",), work_directory="/data-of-an-image"),
)
SCRIPT = "echo in $PWD of $HOME; ls; touch here && touch ~/home && touch /data-of-an-image/data && echo written"


async def run_to_its_end(
    directory: Path, container: Tree, plain_because: str = "", images: tuple[Image, ...] = IMAGES
) -> tuple[list[str], str]:
    """What it wrote, and the Pod's UID."""
    async with node_world(directory, images=images, plain_because=plain_because) as world:
        await world.run_pod("first", container, restartPolicy="Never")
        pod = await world.until("first", is_phase("Succeeded", "Failed"))
        return world.log(pod), pod["metadata"]["uid"]


@pytest.mark.parametrize("security", [{}, {"runAsUser": 1000, "runAsGroup": 100}])
def test_the_program_begins_in_the_images_directory_and_may_write_there(tmp_path: Path, security: Tree) -> None:
    lines, _ = asyncio.run(run_to_its_end(tmp_path, shell(SCRIPT, securityContext=security)))
    assert lines == [f"in {HOME} of {HOME}", "written"]
    assert not Path(HOME).exists()


def test_they_belong_to_a_read_only_root(tmp_path: Path) -> None:
    security: dict[str, Any] = {"readOnlyRootFilesystem": True}
    lines, _ = asyncio.run(
        run_to_its_end(tmp_path, shell("touch here 2>/dev/null || echo refused", securityContext=security))
    )
    assert lines == ["refused"]


def test_volumes_lie_beneath_and_over_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node_world(tmp_path, images=IMAGES) as world:
            mounts = [{"name": "v", "mountPath": f"{HOME}/samples"}, {"name": "w", "mountPath": "/data-of-an-image"}]
            script = "touch samples/a /data-of-an-image/b && ls; exec sleep 1000"
            volumes = [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]
            await world.run_pod("first", shell(script, volumeMounts=mounts), volumes=volumes)
            pod = await world.until("first", is_phase("Running"))
            assert await world.until_log(pod, "samples") == ["samples"]
            kept = tmp_path / "pods" / pod["metadata"]["uid"] / "volumes"
            assert [path.name for path in sorted(kept.glob("[vw]/*"))] == ["a", "b"]

    asyncio.run(scenario())


@pytest.mark.parametrize("image", ["busybox", "elsewhere"])
def test_without_namespaces_the_program_begins_in_a_directory_of_the_pods_own(tmp_path: Path, image: str) -> None:
    container = {**shell("echo $PWD; touch here && echo written"), "image": image}
    lines, uid = asyncio.run(run_to_its_end(tmp_path, container, plain_because="this is a test"))
    assert lines[0].startswith(f"{tmp_path}/pods/{uid}/")
    assert lines[1] == "written"


@pytest.mark.parametrize("because", ["", "this is a test"], ids=["namespaces", "none"])
def test_a_login_shell_finds_what_the_image_has(tmp_path: Path, because: str) -> None:
    program = tmp_path / "bin" / "of-the-image"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    image = structs.replace(IMAGES[0], path=(str(program.parent),), visible=(str(program.parent),))
    container = {**shell(""), "command": ["/bin/bash", "-lc", "of-the-image"]}
    lines, _ = asyncio.run(run_to_its_end(tmp_path / "node", container, because, (image,)))
    assert lines == ["found"]


def test_a_container_without_any_command_says_which_entry_lacks_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node_world(tmp_path, images=IMAGES) as world:
            await world.run_pod("first", {"name": "c", "image": "elsewhere:1"})
            pod = await world.until("first", lambda pod: state(pod).get("waiting", {}).get("message"))
            assert 'add command = ["program"] to that entry in images.toml' in state(pod)["waiting"]["message"]
            assert state(pod)["waiting"]["reason"] == "ErrImagePull"

    asyncio.run(scenario())
