"""Which Ray an image's tag leads to, with --exact-images and without; and the flags that say so."""

import argparse
import sys
from pathlib import Path

import pytest

from heliostat.cli.local_images import add_image_flags, build_image_flags
from heliostat.embedded.node.imaging.image_environments import own_python, plan_build, provide_image
from heliostat.embedded.node.imaging.images import UnknownImageError, find_image
from heliostat.local.images import default_cache, load_images

OWN = own_python()
OWN_TAG = f"py{OWN.replace('.', '')}"
INSTALLED = "2.60.0"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Ray this environment has, or none."""
    monkeypatch.setattr("importlib.metadata.version", lambda _name: INSTALLED)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("rayproject/ray:2.52.0", f"Ray 2.52.0 with Python {OWN}"),
        ("docker.io/rayproject/ray:2.52.0-py39-gpu", "Ray 2.52.0 with Python 3.9"),
        ("rayproject/ray-ml:2.9.3-py310-cpu-aarch64", "Ray 2.9.3 with Python 3.10"),
        ("rayproject/ray:2.60.0rc1", f"Ray 2.60.0rc1 with Python {OWN}"),
        ("rayproject/ray:2.60.0-py39", "Ray 2.60.0 with Python 3.9"),
        # what is installed is exact
        (f"rayproject/ray:{INSTALLED}", ""),
        (f"rayproject/ray:{INSTALLED}-gpu", ""),
        (f"rayproject/ray:{INSTALLED}-{OWN_TAG}-cpu", ""),
        # tags that name no version
        ("rayproject/ray:nightly-py311", ""),
        ("rayproject/ray", ""),
        ("busybox:1.36.1", ""),
    ],
)
def test_a_tag_leads_to_the_ray_that_it_names(tmp_path: Path, name: str, title: str) -> None:
    order = plan_build(name, load_images(None, is_exact=True, cache=tmp_path))
    assert (order.title if order is not None else "") == title
    if order is not None:
        version = title.split()[1]
        assert order.requirements == (f"ray[default,serve]=={version}",)
        assert order.place.parent == tmp_path


def test_nothing_is_built_unless_it_is_asked_for(tmp_path: Path) -> None:
    table = load_images(None, cache=tmp_path)
    assert plan_build("rayproject/ray:2.52.0", table) is None
    assert find_image("rayproject/ray:2.52.0", table).version == INSTALLED


def test_without_ray_the_image_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(UnknownImageError, match=r"this machine has no ray; pip install 'heliostat\[ray\]'"):
        provide_image("rayproject/ray:2.60.0", load_images(None))


def test_the_users_builds_are_kept_where_ours_are_unless_they_say_otherwise(tmp_path: Path) -> None:
    table = tmp_path / "images.toml"
    entry = "[[image]]\nmatch = \"{name}*\"\ntag = '(?P<version>.+)'\nbuild = {{ requirements = []{more} }}\n"
    table.write_text(entry.format(name="a", more="") + entry.format(name="b", more=', directory = "/opt/b"'))
    loaded = load_images(table, cache=tmp_path / "cache")
    for name, directory in (("a:1", str(tmp_path / "cache")), ("b:1", "/opt/b")):
        build = find_image(name, loaded).build
        assert build is not None
        assert build.directory == directory


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "heliostat" / "images"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache" / "heliostat" / "images"


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="x")
    add_image_flags(parser)
    return parser.parse_args(arguments)


def test_flags_are_handed_on_to_a_process_in_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert build_image_flags(parse()) == ()
    handed = build_image_flags(parse("--exact-images", "--images", "images.toml"))
    assert handed == (f"--images={tmp_path}/images.toml", "--exact-images")
    assert build_image_flags(parse(*handed)) == handed


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (None, "No such file or directory; --images names a file with [[image]] entries"),
        (b"\xff", "it is not UTF-8 text"),
        (b"[[image]]\npath = 3", "each entry is an [[image]] with match ="),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, part: str
) -> None:
    table = tmp_path / "images.toml"
    if content is not None:
        table.write_bytes(content)
    with pytest.raises(SystemExit):
        parse(f"--images={table}")
    told = capsys.readouterr().err
    assert f"{table}: " in told
    assert part in told
