"""Directories of the host that an image names: seen wherever they lie, and never in the way of mounts beneath."""

import asyncio
import os
from pathlib import Path

import pytest

from embedded.node.node_world import is_phase, node_world, shell
from heliostat.embedded.node.imaging.images import Image
from heliostat.embedded.node.shim import host_layers

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")


def run_to_end(directory: Path, visible: str, script: str) -> list[str]:
    """What a container of an image with this directory says; it has a volume in /usr/share, too."""
    said: list[str] = []

    async def play() -> None:
        image = Image(match="busybox*", visible=(visible,))
        async with asyncio.timeout(60), node_world(directory, images=(image,)) as world:
            container = shell(script, volumeMounts=[{"name": "room", "mountPath": "/usr/share/mounted"}])
            volumes = [{"name": "room", "emptyDir": {}}]
            await world.run_pod("seer", container, restartPolicy="Never", volumes=volumes)
            said.extend(world.log(await world.until("seer", is_phase("Succeeded", "Failed"))))

    asyncio.run(play())
    return said


def test_an_environment_in_usr_leaves_room_for_programs_and_volumes_beneath_it(tmp_path: Path) -> None:
    script = "ls /usr/local/lib/heliostat-programs/wget; echo x > /usr/share/mounted/file; cat /usr/share/mounted/file"
    said = run_to_end(tmp_path, "/usr", script)
    assert said == ["/usr/local/lib/heliostat-programs/wget", "x"]


def test_what_a_container_writes_to_an_environment_is_kept_aside(tmp_path: Path) -> None:
    name = f"/usr/local/heliostat-{os.getpid()}"
    assert run_to_end(tmp_path, "/usr", f"echo aside > {name}; cat {name}") == ["aside"]
    assert not Path(name).exists()


def test_a_directory_where_containers_have_their_own_is_seen_and_read_only(tmp_path: Path) -> None:
    place = tmp_path / "environment"
    place.mkdir()
    (place / "file").write_text("seen\n")
    script = f"cat {place}/file; touch {place}/file 2> /dev/null || echo refused"
    assert run_to_end(tmp_path, str(place), script) == ["seen", "refused"]


@pytest.mark.parametrize(
    ("place", "is_shown"),
    [("/usr", True), ("/", True), ("/tmp/environment", False), ("/run/user", False), ("/srv/state/environment", False)],
)
def test_only_what_containers_do_not_see_anyway_is_mounted(place: str, *, is_shown: bool) -> None:
    assert host_layers.is_shown(place, hidden=("/srv/state",)) is is_shown
