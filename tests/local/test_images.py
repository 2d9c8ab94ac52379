"""The images that come along, and the user's before them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heliostat.embedded.node.imaging.image_environments import provide_image
from heliostat.embedded.node.imaging.images import (
    ImageTableError,
    UnknownImageError,
    build_image_environment,
    find_image,
)
from heliostat.embedded.node.imaging.stand_ins import REDIS
from heliostat.local.images import exact_rays, load_images, shipped_images, usual_file


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


def test_ray_images_have_the_home_that_samples_count_on() -> None:
    for image in (find_image("rayproject/ray:2.52.0", shipped_images()), exact_rays()):
        assert build_image_environment(image)["HOME"] == image.work_directory == "/home/ray"
        assert image.directories == ("/home/ray",)


def test_ray_comes_with_serve() -> None:
    serve = subprocess.run([sys.executable, "-c", "import ray.serve"], capture_output=True, text=True, check=False)
    assert serve.returncode == 0, serve.stderr


def test_redis_has_its_data_and_answers_other_pods() -> None:
    image = find_image("docker.io/library/redis:7.4.0", shipped_images())
    assert (image.directories, image.work_directory) == (("/data",), "/data")
    assert build_image_environment(image)["PATH"].startswith(f"{REDIS}:")


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("fluent/fluent-bit:3.2.2", "fluent-bit"),
        ("grafana/grafana:11.0", "grafana"),
        ("quay.io/prometheus/prometheus:v3", "prometheus"),
        ("minio/minio", "minio"),
        ("nginx:1.27", "nginx"),
    ],
)
def test_a_program_that_the_machine_lacks_is_named_with_the_file_to_change(
    name: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name, **_: None)
    with pytest.raises(UnknownImageError) as raised:
        provide_image(name, shipped_images(), "/etc/images.toml")
    assert f"this machine has no {program}; " in str(raised.value)
    assert "in /etc/images.toml: [[image]] match = " in str(raised.value)


def test_entries_of_the_usual_file_count_when_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert usual_file() == tmp_path / "heliostat" / "images.toml"
    assert load_images(None) == shipped_images()
    usual_file().parent.mkdir()
    usual_file().write_text('[[image]]\nmatch = "acme/model*"\ndescription = "mine"\n')
    assert find_image("acme/model:1", load_images(None)).description == "mine"
    other = tmp_path / "other.toml"
    other.write_text("")
    assert load_images(other) == shipped_images()
