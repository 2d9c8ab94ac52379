"""Files that hold secrets: 0600, ours, in a directory 0700, whole or not there.

Rules: a file appears under its name only when it is complete and on disk; creating never overwrites, replacing is one
rename; the mode does not depend on the umask; what others could have read or planted (mode, owner, symbolic link) is
refused with the command that mends it, never used and never silently changed.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from heliostat.kube.hidden import Hidden

_IsKind: TypeAlias = Callable[[int], bool]

LARGEST = 1024 * 1024  # nothing we write comes near; a file that does is not ours


class UnsafeFileError(Exception):
    """What is wrong with a secret file or its directory, and how to fix it."""

    def __init__(self, path: Path, problem: str, fix: str) -> None:
        super().__init__(f"{path}: {problem}; {fix}")
        self.path = path
        self.problem = problem
        self.fix = fix


def make_private_directory(path: Path) -> None:
    """Make the directory, or refuse it when others can reach into it."""
    try:
        if not path.exists():
            path.mkdir(mode=0o700, parents=True)
            path.chmod(0o700)
        found = path.stat()
    except OSError as error:
        raise _explain(path, error) from error
    _refuse_unsafe(path, found, is_kind=stat.S_ISDIR, kind="a directory", mode="700")


def read_private(path: Path) -> Hidden | None:
    """The text of the file, or None when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _explain(path, error) from error
    try:
        _refuse_unsafe(path, os.fstat(descriptor), is_kind=stat.S_ISREG, kind="a regular file", mode="600")
        with open(descriptor, "rb", closefd=False) as file:
            return Hidden(_decode(path, file.read(LARGEST + 1)))
    finally:
        os.close(descriptor)


def create_private(path: Path, text: Hidden) -> bool:
    """Write a new file; False when the name is already taken, whoever took it."""
    draft = _write_draft(path, text)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise _explain(path, error) from error
    finally:
        draft.unlink()
    _sync_directory(path.parent)
    return True


def replace_private(path: Path, text: Hidden) -> None:
    """Write the file anew. A symbolic link of that name is replaced, never followed."""
    draft = _write_draft(path, text)
    try:
        draft.replace(path)
    except OSError as error:
        draft.unlink()
        raise _explain(path, error) from error
    _sync_directory(path.parent)


def _write_draft(path: Path, text: Hidden) -> Path:
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _explain(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text.reveal().encode())
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        draft.unlink()
        raise _explain(path, error) from error
    return draft


def _refuse_unsafe(path: Path, found: os.stat_result, *, is_kind: _IsKind, kind: str, mode: str) -> None:
    if not is_kind(found.st_mode):
        raise UnsafeFileError(path, f"is not {kind}", "move it away or choose another directory")
    if found.st_uid != os.geteuid():
        raise UnsafeFileError(path, "belongs to another user", "choose another directory")
    if found.st_mode & 0o077:
        present = f"{stat.S_IMODE(found.st_mode):04o}"
        raise UnsafeFileError(path, f"other users can reach it (mode {present})", f"run: chmod {mode} {path}")


def _decode(path: Path, data: bytes) -> str:
    if len(data) > LARGEST:
        raise UnsafeFileError(path, f"is larger than {LARGEST} bytes", "move it away; it was not written by Heliostat")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnsafeFileError(path, "is not text", "move it away; it was not written by Heliostat") from None


def _explain(path: Path, error: OSError) -> UnsafeFileError:
    return UnsafeFileError(path, f"cannot be used: {error.strerror}", "mend that or choose another directory")


def _sync_directory(directory: Path) -> None:
    """So that the name survives a power failure too."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
