"""A working directory as an archive: the same content gives the same name, and rubbish stays at home."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from heliostat.ray import packages
from heliostat.ray.packages import Package, PackageError, build_package


def names(package: Package) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(package.content)).namelist()


def test_files_are_in_it_with_their_modes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.py").write_text("print(1)")
    (tmp_path / "sub" / "tool.sh").write_text("#!/bin/sh")
    (tmp_path / "sub" / "tool.sh").chmod(0o755)
    package = build_package(tmp_path)
    archive = zipfile.ZipFile(io.BytesIO(package.content))
    assert names(package) == ["main.py", "sub/tool.sh"]
    assert archive.read("main.py") == b"print(1)"
    assert archive.getinfo("sub/tool.sh").external_attr >> 16 == 0o755
    assert package.address.startswith("gcs://_ray_pkg_")
    assert package.address.endswith(".zip")


def test_only_the_content_decides_about_the_name(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print(1)")
    first = build_package(tmp_path)
    os.utime(tmp_path / "main.py", (1, 1))
    assert build_package(tmp_path) == first
    (tmp_path / "main.py").write_text("print(2)")
    assert build_package(tmp_path).name != first.name


def test_version_control_caches_and_ignored_files_stay_at_home(tmp_path: Path) -> None:
    for path in (".git/config", ".venv/bin/python", "a/__pycache__/m.pyc", "data/big.bin", "logs/x.log", "keep/y.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / ".gitignore").write_text("# comment\n/data/\n*.log\n")
    assert names(build_package(tmp_path)) == [".gitignore", "keep/y.txt"]


def test_too_much_is_refused_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "LARGEST", 1024 * 1024)
    (tmp_path / "big").write_bytes(bytes(1024 * 1024 + 1))
    with pytest.raises(PackageError, match=r"more than 1 MB of files; name a smaller one with --working-dir"):
        build_package(tmp_path)


def test_a_file_is_measured_before_it_is_read(tmp_path: Path) -> None:
    """It takes no place on the disk, and would take all of the memory."""
    with (tmp_path / "big").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(PackageError, match="more than 200 MB of files"):
        build_package(tmp_path)


def test_what_the_dashboard_would_not_take_is_refused_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "LARGEST_ARCHIVE", 1024 * 1024)
    (tmp_path / "zeros").write_bytes(bytes(2 * 1024 * 1024))  # small when packed
    build_package(tmp_path)
    (tmp_path / "noise").write_bytes(os.urandom(1024 * 1024))
    with pytest.raises(PackageError, match=r"more than the 1 MB, packed, that Ray's dashboard takes; name a smaller"):
        build_package(tmp_path)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="is not a directory"):
        build_package(tmp_path / "nothing")
