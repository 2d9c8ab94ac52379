"""A working directory as Ray wants it: a zip archive, named by its content, small enough to be sent. Deterministic.

What version control, caches and virtual environments leave around is left out, and so is what ``.gitignore`` names at
the top of the directory.
"""

import fnmatch
import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

LARGEST = 200 * 1024 * 1024
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
            content = path.read_bytes()
            size += len(content)
            if size > LARGEST:
                most = LARGEST // 1024 // 1024
                raise PackageError(
                    f"{directory} has more than {most} MB of files; name a smaller one with --working-dir"
                )
            entry = zipfile.ZipInfo(str(path.relative_to(directory)), _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (path.stat().st_mode & 0o777) << 16
            archive.writestr(entry, content)
    content = buffer.getvalue()
    return Package(f"_ray_pkg_{hashlib.sha1(content, usedforsecurity=False).hexdigest()[:16]}.zip", content)


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
