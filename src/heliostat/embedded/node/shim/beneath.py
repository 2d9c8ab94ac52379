"""Paths beneath a directory that others may change meanwhile, opened so that none of their links leads out of it.

Rules: links are followed as somebody would whose root the directory is, and then the way that was found is walked again
descriptor by descriptor, following none: who swaps a directory for a link in between is refused, not obeyed. What is
mounted is the descriptor, never the path.
"""

import os
import stat
from pathlib import Path

_MOST_LINKS = 255
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_inside(root: Path, path: str, *, mode: int | None = None, is_file: bool = False) -> int:
    """What is there. With a ``mode``, missing directories are made with it, and the last part as a file if wanted."""
    *ways, last = resolve_inside(root, path).relative_to(root).parts or ("",)
    here = os.open(root, os.O_PATH | os.O_CLOEXEC)
    for name in ways:
        here = _step(here, name, mode)
    return _step(here, last, mode, is_file=is_file) if last else here


def name_of(descriptor: int) -> str:
    """A path to what is open, for calls that take no descriptors."""
    return f"/proc/self/fd/{descriptor}"


def _step(here: int, name: str, mode: int | None, *, is_file: bool = False) -> int:
    """``here`` is closed."""
    try:
        try:
            found = os.open(name, _LOOK, dir_fd=here)
        except FileNotFoundError:
            if mode is None:
                raise
            _make(here, name, mode, is_file=is_file)
            found = os.open(name, _LOOK, dir_fd=here)
    finally:
        os.close(here)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise OSError(f"{name} has become a link while it was looked at")
    return found


def _make(here: int, name: str, mode: int, *, is_file: bool) -> None:
    if is_file:
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(name, flags, 0o644, dir_fd=here))
        return
    os.mkdir(name, dir_fd=here)
    made = os.open(name, _LOOK | os.O_DIRECTORY, dir_fd=here)
    try:
        os.chmod(name_of(made), mode)  # noqa: PTH101  whatever the umask is
    finally:
        os.close(made)


def resolve_inside(root: Path, path: str) -> Path:
    """Where an absolute path lies under a root, links followed as somebody inside would: none leads out of it."""
    done: list[str] = []
    todo = _parts(path)
    for _ in range(_MOST_LINKS + len(todo)):
        if not todo:
            return root.joinpath(*done)
        part = todo.pop()
        if part == "..":
            done = done[:-1]
            continue
        place = root.joinpath(*done, part)
        if not place.is_symlink():
            done.append(part)
            continue
        link = str(place.readlink())
        done = [] if link.startswith("/") else done
        todo += _parts(link)
    raise OSError(f"{path}: too many links")


def _parts(path: str) -> list[str]:
    """The last one first."""
    return [part for part in path.split("/") if part not in ("", ".")][::-1]
