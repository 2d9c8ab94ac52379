"""What an image name stands for on a machine without a registry: an environment, found in a table. Pure.

The table is a list of patterns, the first that fits counts; the user's entries come before those that are shipped. An
entry says what the image brings: a user, a directory, variables, a command, and what of the host has to be visible.
"""

import fnmatch
import tomllib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from heliostat.embedded.node.shim.protocol import Mount


class Image(Struct, frozen=True, kw_only=True, rename="kebab"):
    """One entry of the table."""

    match: str  # such as "rayproject/ray*"
    description: str = ""
    path: tuple[str, ...] = ()  # directories that come first in PATH
    environment: dict[str, str] = {}
    command: tuple[str, ...] = ()
    work_directory: str = "/"
    user: int = 0
    group: int = 0
    visible: tuple[str, ...] = ()  # directories of the host that are shown wherever they lie, also beneath /tmp
    needs: str = ""  # a program that must be on the host


class ImageTableError(ValueError):
    """The table cannot be used; the text says where and why."""


class UnknownImageError(Exception):
    """No entry stands for this image; the text names the lines to add."""


_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def read_table(text: str, origin: str) -> tuple[Image, ...]:
    try:
        tree = tomllib.loads(text)
        return tuple(msgspec.convert(tree.get("image", []), list[Image]))
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ImageTableError(f'{origin}: {error}; each entry is an [[image]] with match = "name*"') from None


def find_image(name: str, table: Iterable[Image]) -> Image:
    """``name`` as a Pod has it, with registry, tag and digest or without."""
    short = shorten(name)
    for image in table:
        if fnmatch.fnmatchcase(short, image.match) or fnmatch.fnmatchcase(name, image.match):
            return image
    raise UnknownImageError(
        f'no entry of images.toml stands for the image "{name}"; add one, such as:'
        f' [[image]] match = "{short.partition(":")[0]}*"'
    )


def shorten(name: str) -> str:
    """Without the registry and the digest: docker.io/library/redis:7@sha256:… is redis:7."""
    without_digest = name.partition("@")[0]
    host, slash, rest = without_digest.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        without_digest = rest
    return without_digest.removeprefix("library/")


def build_image_environment(image: Image) -> dict[str, str]:
    path = ":".join((*image.path, _DEFAULT_PATH))
    return {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", **image.environment}


def image_mounts(image: Image) -> tuple[Mount, ...]:
    return tuple(Mount(path, path, is_read_only=True, is_recursive=True) for path in image.visible)
