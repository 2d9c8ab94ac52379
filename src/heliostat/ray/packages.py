"""A working directory as Ray wants it: a zip archive, named by its content, small enough to be sent. Deterministic.

Files are measured before they are read and packed piece by piece, so that a directory that is too large is refused
before it is in memory. What version control, caches and virtual environments leave around is left out, and so is what
``.gitignore`` names at the top of the directory.
"""

import fnmatch
import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

LARGEST = 200 * 1024 * 1024  # bytes of files
LARGEST_ARCHIVE = 100 * 1024 * 1024  # bytes; Ray's dashboard takes no larger body
_MEGABYTE = 1024 * 1024
_NEVER = frozenset(
    (".git", ".hg", ".svn", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
     "node_modules", ".heliostat")
)  # fmt: skip
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # times must not change the content


class PackageError(Exception):
    """The directory cannot be sent; the text says why and what to do."""


class Package(Struct, frozen=True):
    name: str  # gcs://NAME is what a runtime environment calls it
    content: bytes

    @property
    def address(self) -> str:
        return f"gcs://{self.name}"


def build_package(directory: Path) -> Package:
    if not directory.is_dir():
        raise PackageError(f"{directory} is not a directory; name one with --working-dir")
    buffer = io.BytesIO()
    size = 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in list_files(directory):
            size += path.stat().st_size
            if size > LARGEST:
                raise _too_large(directory, f"more than {LARGEST // _MEGABYTE} MB of files")
            _pack(archive, path, directory)
            if buffer.tell() > LARGEST_ARCHIVE:
                raise _too_large(
                    directory, f"more than the {LARGEST_ARCHIVE // _MEGABYTE} MB, packed, that Ray's dashboard takes"
                )
    content = buffer.getvalue()
    return Package(f"_ray_pkg_{hashlib.sha1(content, usedforsecurity=False).hexdigest()[:16]}.zip", content)


def _pack(archive: zipfile.ZipFile, path: Path, directory: Path) -> None:
    entry = zipfile.ZipInfo(str(path.relative_to(directory)), _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (path.stat().st_mode & 0o777) << 16
    with path.open("rb") as source, archive.open(entry, "w") as packed:
        left = LARGEST  # of a file that grows meanwhile, too
        while left > 0 and (piece := source.read(min(_MEGABYTE, left))):
            packed.write(piece)
            left -= len(piece)


def _too_large(directory: Path, why: str) -> PackageError:
    return PackageError(f"{directory} has {why}; name a smaller one with --working-dir")


def list_files(directory: Path) -> Iterator[Path]:
    ignored = tuple(_patterns(directory / ".gitignore"))
    for path in sorted(directory.rglob("*")):
        parts = path.relative_to(directory).parts
        if path.is_file() and not _NEVER.intersection(parts) and not _is_ignored(parts, ignored):
            yield path


def _patterns(file: Path) -> Iterator[str]:
    if file.is_file():
        for line in file.read_text(errors="replace").splitlines():
            pattern = line.strip()
            if pattern and not pattern.startswith(("#", "!")):
                yield pattern.strip("/")


def _is_ignored(parts: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    beginnings = ["/".join(parts[: length + 1]) for length in range(len(parts))]
    names = (*parts, *beginnings)
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in names)
