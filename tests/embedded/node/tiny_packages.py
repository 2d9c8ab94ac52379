"""A package of a few bytes in a few versions, so that uv really builds environments without a network."""

import zipfile
from pathlib import Path

import pytest

from heliostat.embedded.node.imaging.images import Build, Image

TAG = r"(?P<version>\d+\.\d+\.\d+)(?:-py(?P<python>\d+))?(?:-.*)?"
_METADATA = "Metadata-Version: 2.1\nName: tinything\nVersion: {version}\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_ENTRY = "[console_scripts]\ntinything = tinything:main\n"
_CODE = "import sys\n\n\ndef main() -> None:\n    print('tinything {version}', sys.prefix, flush=True)\n"


def write_wheel(directory: Path, version: str) -> None:
    info = f"tinything-{version}.dist-info"
    files = {
        "tinything/__init__.py": _CODE.format(version=version),
        f"{info}/METADATA": _METADATA.format(version=version),
        f"{info}/WHEEL": _WHEEL,
        f"{info}/entry_points.txt": _ENTRY,
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(directory / f"tinything-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in (*files.items(), (f"{info}/RECORD", record)):
            wheel.writestr(name, text)


def offer_tiny_packages(directory: Path, monkeypatch: pytest.MonkeyPatch, *versions: str) -> Path:
    """uv finds these and nothing else; where it finds them. What it knows of interpreters is kept between tests."""
    offered = directory / "offered"
    for version in versions:
        write_wheel(offered, version)
    offered.mkdir(parents=True, exist_ok=True)
    for name, value in (
        ("NO_INDEX", "1"),
        ("FIND_LINKS", str(offered)),
        ("CACHE_DIR", str(directory.parent / "uv-cache")),
    ):
        monkeypatch.setenv(f"UV_{name}", value)
    return offered


def build_entry(directory: Path) -> Image:
    return Image(
        match="team/tiny*",
        product="Tiny",
        tag=TAG,
        build=Build(requirements=("tinything=={version}",), directory=str(directory / "environments")),
    )
