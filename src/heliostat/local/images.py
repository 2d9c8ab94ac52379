"""The images that come with Heliostat: what well-known names stand for on a machine without containers.

``rayproject/ray`` is the Python environment that Heliostat itself runs in, with the Ray that is installed there.
"""

import sys
from pathlib import Path

from msgspec.structs import replace

import heliostat
from heliostat.embedded.node.images import Image, read_table

_OF_THE_HOST = ("busybox", "alpine", "debian", "ubuntu", "curlimages/curl", "bitnami/kubectl")


def load_images(users: Path | None) -> tuple[Image, ...]:
    """The user's entries first. Raises ImageTableError with the place of the mistake."""
    own = read_table(users.read_text(), str(users)) if users is not None and users.exists() else ()
    return (*own, *shipped_images())


def shipped_images() -> tuple[Image, ...]:
    environment = this_environment("rayproject/ray*")
    return (
        environment,
        replace(environment, match="python*", command=("python3",)),
        *(
            Image(match=f"{name}*", description="the root of this machine", command=("/bin/sh",))
            for name in _OF_THE_HOST
        ),
        Image(
            match="redis*", description="the machine's redis-server", command=("redis-server",), needs="redis-server"
        ),
    )


def this_environment(match: str) -> Image:
    """The Python environment of this process, wherever it lies."""
    places = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent, _source_root())
    return Image(
        match=match,
        description="the Python environment that Heliostat runs in",
        path=(str(Path(sys.prefix) / "bin"),),
        environment={"VIRTUAL_ENV": sys.prefix, "PYTHONUNBUFFERED": "1"},
        work_directory="/root",
        visible=tuple(dict.fromkeys(map(str, places))),
    )


def _source_root() -> Path:
    """Where the heliostat package is imported from: in a development tree that is not the environment."""
    return Path(heliostat.__file__).parent.parent
