"""What an image name stands for on a machine without a registry: an environment, found in a table. Pure.

The table is a list of patterns, the first that fits counts; the user's entries come before those that are shipped. An
entry says what the image brings: a user, a directory, variables, a command, and what of the host has to be visible. One
with a ``build`` stands for environments that are made when they are needed, each for a version that a tag names.
"""

import fnmatch
import re
import tomllib
from collections.abc import Iterable
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from heliostat.embedded.node.shim.protocol import Mount


class Build(Struct, frozen=True, kw_only=True, rename="kebab"):
    """A Python environment to be made. ``{version}`` is what the tag says."""

    requirements: tuple[str, ...]  # such as "ray[default,serve]=={version}"
    directory: str = ""  # where environments are kept; empty: where the node keeps them


class Tag(Struct, frozen=True):
    """What the tag of an image says; empty: nothing."""

    version: str
    python: str = ""  # such as 3.11


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
    directories: tuple[str, ...] = ()  # empty ones that the container gets, and that every user may write to
    programs: dict[str, tuple[str, ...]] = {}  # files that the image has: what starts each of them on this machine
    needs: str = ""  # a program that must be on the host, or in ``path``
    install: str = ""  # how to get it, for people
    product: str = ""  # what versions are versions of, for people
    version: str = ""  # the one that is there; empty: nobody knows, or it is built
    tag: str = ""  # a pattern for tags, with a group "version" and perhaps one "python": 311 is 3.11
    build: Build | None = None


class ImageTableError(ValueError):
    """The table cannot be used; the text says where and why."""


class UnknownImageError(Exception):
    """No entry stands for this image; the text names the lines to add."""


_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def read_table(text: str, origin: str) -> tuple[Image, ...]:
    try:
        tree = tomllib.loads(text)
        images = tuple(msgspec.convert(tree.get("image", []), list[Image]))
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ImageTableError(f'{origin}: {error}; each entry is an [[image]] with match = "name*"') from None
    for image in images:
        problem = _find_problem(image)
        if problem:
            raise ImageTableError(f'{origin}: the entry for "{image.match}": {problem}')
    return images


def _find_problem(image: Image) -> str:
    for field, paths in (("directories", image.directories), ("programs", image.programs)):
        for path in map(PurePosixPath, paths):
            if not path.is_absolute() or ".." in path.parts or len(path.parts) == 1:
                return f'{field}: "{path}" is no absolute path below /; write one such as "/data"'
    if not all(image.programs.values()):
        return 'programs: a file that starts nothing; write what it starts, as in {"/tool" = ["python3", "-m", "tool"]}'
    if image.build is None and not image.tag:
        return ""
    if not image.tag:
        return r"a build needs to know the version: add tag = '(?P<version>\d+\.\d+\.\d+).*'"
    try:
        groups = re.compile(image.tag).groupindex
    except re.error as error:
        return f"tag is no pattern: {error}"
    return "" if "version" in groups else "tag names no version: write the part that does as (?P<version>…)"


def find_image(name: str, table: Iterable[Image], file: str = "images.toml") -> Image:
    """``name`` as a Pod has it, with registry, tag and digest or without; ``file`` is where users add entries.

    An entry that builds stands for no image whose tag does not say which version.
    """
    short = shorten(name)
    for image in table:
        fits = fnmatch.fnmatchcase(short, image.match) or fnmatch.fnmatchcase(name, image.match)
        if fits and (image.build is None or read_tag(name, image.tag) is not None):
            return image
    raise UnknownImageError(
        f'no entry of images.toml stands for the image "{name}"; add these two lines to {file}, and where its programs'
        f' are if PATH has them not (path = ["/opt/…/bin"]): [[image]] match = "{short.partition(":")[0]}*"'
    )


def shorten(name: str) -> str:
    """Without the registry and the digest: docker.io/library/redis:7@sha256:… is redis:7."""
    without_digest = name.partition("@")[0]
    host, slash, rest = without_digest.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        without_digest = rest
    return without_digest.removeprefix("library/")


def read_tag(name: str, pattern: str) -> Tag | None:
    """None: the name has no tag, or one that says nothing about a version."""
    tag = shorten(name).rpartition("/")[2].partition(":")[2]
    found = re.fullmatch(pattern, tag) if pattern and tag else None
    if found is None:
        return None
    python = found.groupdict().get("python") or ""
    return Tag(found["version"], f"{python[0]}.{python[1:]}" if python.isdecimal() and len(python) > 1 else python)


def build_image_environment(image: Image) -> dict[str, str]:
    path = ":".join((*image.path, _DEFAULT_PATH))
    return {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", **image.environment}


def image_mounts(image: Image) -> tuple[Mount, ...]:
    return tuple(Mount(path, path, is_read_only=True, is_recursive=True) for path in image.visible)
