"""Secret files: who can read them, and what happens to those that others could have read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliostat.embedded.access.private_files import (
    LARGEST,
    UnsafeFileError,
    create_private,
    make_private_directory,
    read_private,
    replace_private,
)
from heliostat.kube.hidden import Hidden

TEXT = Hidden("a secret\n")


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    directory = tmp_path / "keys"
    make_private_directory(directory)
    assert mode(directory) == 0o700
    assert create_private(directory / "new", TEXT)
    replace_private(directory / "again", TEXT)
    assert mode(directory / "new") == mode(directory / "again") == 0o600


def test_creating_never_overwrites(tmp_path: Path) -> None:
    assert create_private(tmp_path / "key", TEXT)
    assert not create_private(tmp_path / "key", Hidden("other"))
    found = read_private(tmp_path / "key")
    assert found is not None
    assert found.reveal() == "a secret\n"


def test_creating_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    assert not create_private(tmp_path / "key", TEXT)
    assert not (tmp_path / "elsewhere").exists()


def test_replacing_a_link_leaves_its_target_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "key").symlink_to(target)
    replace_private(tmp_path / "key", TEXT)
    assert target.read_text() == "precious"
    assert not (tmp_path / "key").is_symlink()


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    create_private(tmp_path / "key", TEXT)
    create_private(tmp_path / "key", TEXT)
    replace_private(tmp_path / "key", TEXT)
    assert list(tmp_path.iterdir()) == [tmp_path / "key"]


def test_a_failed_replacement_leaves_no_secret_behind(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(UnsafeFileError, match="cannot be used"):
        replace_private(tmp_path / "key", TEXT)
    assert list(tmp_path.iterdir()) == [tmp_path / "key"]


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_private(tmp_path / "key") is None


@pytest.mark.parametrize("open_mode", [0o604, 0o640, 0o660, 0o644, 0o601])
def test_a_file_others_can_reach_is_refused_with_the_cure(tmp_path: Path, open_mode: int) -> None:
    path = tmp_path / "key"
    create_private(path, TEXT)
    path.chmod(open_mode)
    with pytest.raises(UnsafeFileError) as caught:
        read_private(path)
    assert caught.value.fix == f"run: chmod 600 {path}"
    assert f"{open_mode:04o}" in str(caught.value)
    assert mode(path) == open_mode, "it is the owner's to mend"
    path.chmod(0o600)
    assert read_private(path) is not None


@pytest.mark.parametrize("open_mode", [0o750, 0o701, 0o755, 0o777])
def test_a_directory_others_can_reach_is_refused_with_the_cure(tmp_path: Path, open_mode: int) -> None:
    directory = tmp_path / "keys"
    directory.mkdir()
    directory.chmod(open_mode)
    with pytest.raises(UnsafeFileError, match=f"run: chmod 700 {directory}"):
        make_private_directory(directory)


def test_a_private_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    make_private_directory(tmp_path / "keys")
    make_private_directory(tmp_path / "keys")
    (tmp_path / "link").symlink_to(tmp_path / "keys")
    make_private_directory(tmp_path / "link")


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("")
    with pytest.raises(UnsafeFileError, match="is not a directory"):
        make_private_directory(tmp_path / "keys")
    with pytest.raises(UnsafeFileError, match="Not a directory"):
        make_private_directory(tmp_path / "keys" / "below")


def test_links_and_other_things_are_not_read(tmp_path: Path) -> None:
    create_private(tmp_path / "real", TEXT)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "directory").mkdir(mode=0o700)
    for name in ("link", "pipe", "directory"):
        with pytest.raises(UnsafeFileError):
            read_private(tmp_path / name)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * (LARGEST + 1)])
def test_what_we_cannot_have_written_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(UnsafeFileError, match="not written by Heliostat"):
        read_private(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_and_directories_of_somebody_else_are_refused(tmp_path: Path) -> None:
    create_private(tmp_path / "key", TEXT)
    make_private_directory(tmp_path / "keys")
    for name in ("key", "keys"):
        os.chown(tmp_path / name, 12345, 12345)
    with pytest.raises(UnsafeFileError, match="belongs to another user"):
        read_private(tmp_path / "key")
    with pytest.raises(UnsafeFileError, match="belongs to another user"):
        make_private_directory(tmp_path / "keys")
