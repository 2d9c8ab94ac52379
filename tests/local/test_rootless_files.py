"""What a container sees of the machine's files without root: with overlays, and where the system has none for it."""

import os
import sys
from pathlib import Path

import pytest

from heliostat.embedded.node.shim.host_layers import pieces_of
from local.unprivileged import unprivileged

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

ONE_CONTAINER = Path(__file__).with_name("one_container.py")
CASES = {
    "a directory of the machine's root has a volume in it": (
        "touch /usr/share/heliostat/volume/x && ls /usr/share/heliostat/volume",
        "x",
    ),
    "the programs of the machine are there": ("ls /usr/bin/env", "/usr/bin/env"),
    "the directory to begin in is made": ("pwd", "/srv/heliostat-work"),
    "the root takes what is written": ("echo y > /new && cat /new", "y"),
    "the home takes what is written": ("cd && echo z > file && pwd && cat file", "/root\nz"),
}


@pytest.fixture(scope="module", params=["overlays", "no overlays"])
def said(request: pytest.FixtureRequest) -> dict[str, str]:
    """What the script of each case wrote, in one container."""
    script = "\n".join(f'echo "== {name}"\n( {script} )' for name, (script, _) in CASES.items())
    with unprivileged(has_overlays=request.param == "overlays") as user:
        result = user.run(sys.executable, str(ONE_CONTAINER), str(user.home / "one"), script)
    _, *parts = result.stdout.split("== ")
    assert parts, result.stdout + result.stderr
    return {name: text for name, _, text in (part.partition("\n") for part in parts)}


@needs_root
@pytest.mark.parametrize("name", CASES)
def test_a_container_sees_the_machine_and_writes_aside(said: dict[str, str], name: str) -> None:
    assert said[name].strip() == CASES[name][1]


def test_a_place_is_taken_apart_where_something_lies_beneath(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e/f"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    found = [str(Path(piece).relative_to(tmp_path)) for piece in pieces_of(str(tmp_path), [f"{tmp_path}/a/b/c"])]
    assert found == ["a/b/c", "a/d", "e", "link"]


@pytest.mark.parametrize(("most", "pieces"), [(2, ["many"]), (3, ["many/a/x", "many/b", "many/c"])])
def test_a_place_of_too_many_entries_stays_whole(tmp_path: Path, most: int, pieces: list[str]) -> None:
    for name in ("a/x", "b", "c"):
        (tmp_path / "many" / name).mkdir(parents=True)
    found = pieces_of(str(tmp_path), [f"{tmp_path}/many/a/x"], most)
    assert [str(Path(piece).relative_to(tmp_path)) for piece in found] == pieces


CLOSE_AND_REMOVE = """
from pathlib import Path
from heliostat.embedded.node.storage.removal import remove_tree
closed = Path("tree/closed")
(closed / "inner").mkdir(parents=True)
closed.chmod(0o000)
remove_tree(Path("tree"))
raise SystemExit(Path("tree").exists())
"""


@needs_root
def test_what_is_closed_to_its_owner_is_removed() -> None:
    """For a user without rights; root would not notice."""
    with unprivileged() as user:
        done = user.run(sys.executable, "-c", CLOSE_AND_REMOVE)
        assert done.returncode == 0, done.stderr
