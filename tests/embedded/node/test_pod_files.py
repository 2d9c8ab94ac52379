"""The volumes of a Pod on disk: with just what they should hold, and host paths."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node.pod_shapes import build_pod, container
from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.pods import Container
from heliostat.embedded.node.storage.pod_files import (
    check_hidden,
    check_host_path,
    check_sub_paths,
    make_shared,
    write_files,
    write_volumes,
)
from heliostat.embedded.node.storage.volumes import Empty, File, Files, HostPath, Memory


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_volume_holds_just_its_files_with_their_modes(tmp_path: Path) -> None:
    write_files(tmp_path / "v", (File("a", b"1"), File("d/b", b"2", 0o400)))
    assert ((tmp_path / "v/a").read_bytes(), _mode(tmp_path / "v/a")) == (b"1", 0o644)
    assert ((tmp_path / "v/d/b").read_bytes(), _mode(tmp_path / "v/d/b")) == (b"2", 0o400)
    write_files(tmp_path / "v", (File("a", b"3", 0o600),))
    assert [path.name for path in (tmp_path / "v").rglob("*") if path.is_file()] == ["a"]
    assert ((tmp_path / "v/a").read_bytes(), _mode(tmp_path / "v/a")) == (b"3", 0o600)


def test_a_file_that_stays_the_same_is_not_written_again(tmp_path: Path) -> None:
    write_files(tmp_path, (File("a", b"1"),))
    before = (tmp_path / "a").stat().st_ino
    write_files(tmp_path, (File("a", b"1"),))
    assert (tmp_path / "a").stat().st_ino == before
    write_files(tmp_path, (File("a", b"2"),))
    assert (tmp_path / "a").stat().st_ino != before  # replaced as a whole: nobody reads half of it


def test_a_state_directory_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_files(tmp_path / "link" / "v", (File("a", b"1"),))
    assert (tmp_path / "real/v/a").read_bytes() == b"1"


@pytest.mark.parametrize("path", ["../x", "d/../../x", "/etc/heliostat-x"])
def test_no_file_is_written_outside_its_volume(tmp_path: Path, path: str) -> None:
    with pytest.raises(MissingReferenceError, match="leads out of its volume"):
        write_files(tmp_path / "v", (File(path, b""),))
    assert not (tmp_path / "x").exists()


_NAMES = st.dictionaries(st.sampled_from(["a", "b", "d1/a", "d1/b", "d2/d3/a"]), st.binary(max_size=8), max_size=5)


@given(st.lists(_NAMES, min_size=1, max_size=4))
def test_whatever_was_there_before_a_volume_ends_as_the_last_writing(
    tmp_path_factory: pytest.TempPathFactory, contents: list[dict[str, bytes]]
) -> None:
    directory = tmp_path_factory.mktemp("v")
    for content in contents:
        write_files(directory, tuple(File(path, data) for path, data in content.items()))
    found = {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert found == contents[-1]


def test_everybody_may_write_to_an_empty_directory_and_what_is_in_it_stays(tmp_path: Path) -> None:
    make_shared(tmp_path / "v", None)
    assert _mode(tmp_path / "v") == 0o777
    (tmp_path / "v/x").touch()
    make_shared(tmp_path / "v", None)
    assert (tmp_path / "v/x").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving away directories needs root")
def test_with_an_fs_group_it_is_the_groups(tmp_path: Path) -> None:
    write_volumes(tmp_path, {"v": Empty(), "m": Memory(1)}, 1234)
    for name in ("v", "m"):  # memory will cover its directory, and be as that is
        assert ((tmp_path / name).stat().st_gid, _mode(tmp_path / name)) == (1234, 0o2777)


@pytest.mark.parametrize(
    ("kind", "there", "expected"),
    [
        ("", None, "directory"),
        ("DirectoryOrCreate", None, "directory"),
        ("FileOrCreate", None, "file"),
        ("File", "file", "file"),
        ("Directory", "directory", "directory"),
        ("Directory", None, "is not a directory"),
        ("Directory", "file", "is not a directory"),
        ("File", None, "is not a file"),
        ("FileOrCreate", "directory", "is not a file"),
    ],
)
def test_host_paths_are_checked_and_made(tmp_path: Path, kind: str, there: str | None, expected: str) -> None:
    path = tmp_path / "sub" / "x"
    if there == "file":
        path.parent.mkdir()
        path.touch()
    elif there == "directory":
        path.mkdir(parents=True)
    if expected.startswith("is not"):
        with pytest.raises(MissingReferenceError, match=expected):
            check_host_path(HostPath(str(path), kind))
    else:
        check_host_path(HostPath(str(path), kind))
        assert path.is_dir() == (expected == "directory")


def _mounting(**fields: str) -> Container:
    return build_pod(container(volumeMounts=[{"name": "v", "mountPath": "/m", **fields}])).spec.containers[0]


def test_a_link_in_a_volume_leads_no_mount_out_of_it(tmp_path: Path) -> None:
    make_shared(tmp_path / "v", None)
    (tmp_path / "v/out").symlink_to("/etc")
    (tmp_path / "v/in").symlink_to("sub")
    with pytest.raises(MissingReferenceError, match="by a link"):
        check_sub_paths(_mounting(subPath="out"), {"v": Empty()}, tmp_path, {})
    check_sub_paths(_mounting(subPath="sub"), {"v": Empty()}, tmp_path, {})
    check_sub_paths(_mounting(subPath="in"), {"v": Empty()}, tmp_path, {})


def test_a_file_of_a_config_map_may_be_mounted_alone(tmp_path: Path) -> None:
    write_files(tmp_path / "v", (File("a", b"1"),))
    check_sub_paths(_mounting(subPath="a"), {"v": Files((File("a", b"1"),))}, tmp_path, {})
    assert (tmp_path / "v/a").read_bytes() == b"1"
    with pytest.raises(MissingReferenceError, match='subPath "b" is not in volume "v"'):
        check_sub_paths(_mounting(subPath="b"), {"v": Files((File("a", b"1"),))}, tmp_path, {})


@pytest.mark.parametrize("path", ["state", "state/kubeconfig", "link/server"])
def test_a_host_path_in_a_hidden_directory_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "link").symlink_to("state")
    hidden = (str(tmp_path / "state"),)
    with pytest.raises(MissingReferenceError, match="lies in Heliostat's own state directory"):
        check_hidden({"v": HostPath(str(tmp_path / path))}, hidden)
    check_hidden({"v": HostPath(str(tmp_path)), "w": HostPath(str(tmp_path / path), is_claimed=True)}, hidden)
