"""Paths that others change meanwhile, and trees that they leave: no link of theirs leads us anywhere else."""

import os
import stat
from pathlib import Path

import pytest

from heliostat.embedded.node.shim import beneath
from heliostat.embedded.node.storage.removal import remove_tree


def open_and_name(root: Path, path: str, **wishes: bool | int) -> str:
    found = beneath.open_inside(root, path, **wishes)  # type: ignore[arg-type]
    try:
        return str(Path(beneath.name_of(found)).readlink())
    finally:
        os.close(found)


def test_links_lead_where_they_would_inside(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "absolute").symlink_to("/a")
    (tmp_path / "upwards").symlink_to("../../../a")
    for path in ("a/b", "absolute/b", "upwards/b", "/a/../a/b", "../a/b"):
        assert open_and_name(tmp_path, path) == str(tmp_path / "a" / "b")
    assert open_and_name(tmp_path, "/") == str(tmp_path)


def test_a_directory_that_becomes_a_link_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the way was found and before it is walked, as a container at work in the volume can do it."""
    (tmp_path / "way").symlink_to("/etc")
    monkeypatch.setattr(beneath, "resolve_inside", lambda root, _path: root / "way" / "passwd")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(OSError, match="way has become a link"):
        beneath.open_inside(tmp_path, "anything")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_what_is_missing_is_made_as_it_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        beneath.open_inside(tmp_path, "a/b")
    assert open_and_name(tmp_path, "a/b", mode=0o777) == str(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "a/b").stat().st_mode) == 0o777
    open_and_name(tmp_path, "a/file", mode=0o755, is_file=True)
    assert (tmp_path / "a" / "file").is_file()


def test_removal_changes_nothing_that_a_link_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o755)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(kept)
    monkeypatch.setattr("shutil.rmtree", lambda *_args, **_wishes: None)  # as where something cannot be removed
    remove_tree(tree)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o755
