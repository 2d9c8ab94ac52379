"""The images that come along, and the user's before them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heliostat.embedded.node.images import ImageTableError, UnknownImageError, build_image_environment, find_image
from heliostat.local.images import load_images, shipped_images


@pytest.mark.parametrize(
    "name",
    ["rayproject/ray:2.52.0", "docker.io/rayproject/ray-ml:2.9.0-py311-gpu", "quay.io/rayproject/ray@sha256:00"],
)
def test_ray_is_the_environment_that_this_runs_in(name: str) -> None:
    image = find_image(name, shipped_images())
    path = build_image_environment(image)["PATH"]
    python = shutil.which("python", path=path)
    assert python is not None
    shown = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == sys.prefix
    assert all(Path(place).is_dir() for place in image.visible)


@pytest.mark.parametrize("name", ["busybox", "python:3.11-slim", "docker.io/library/redis:7", "ubuntu@sha256:00"])
def test_well_known_names_are_provided(name: str) -> None:
    assert find_image(name, shipped_images()).description


def test_the_users_entries_come_first(tmp_path: Path) -> None:
    table = tmp_path / "images.toml"
    table.write_text('[[image]]\nmatch = "rayproject/ray*"\ndescription = "mine"\npath = ["/opt/mine/bin"]\n')
    image = find_image("rayproject/ray:2", load_images(table))
    assert image.description == "mine"
    assert build_image_environment(image)["PATH"].startswith("/opt/mine/bin:")


def test_a_mistake_in_the_table_says_where(tmp_path: Path) -> None:
    table = tmp_path / "images.toml"
    table.write_text("[[image]]\npath = 3\n")
    with pytest.raises(ImageTableError, match=r"images\.toml.*match"):
        load_images(table)


def test_an_image_that_nobody_provides_names_the_line_to_add() -> None:
    with pytest.raises(UnknownImageError, match=r'\[\[image\]\] match = "acme/model\*"'):
        find_image("registry.example.org:5000/acme/model:v1", shipped_images())
