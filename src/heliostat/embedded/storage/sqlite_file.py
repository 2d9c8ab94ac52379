"""The database file: who may read it, who uses it, which format it has.

Rules: file 0600 in a directory 0700; one process at a time (SQLite's exclusive lock, gone with the process); a file
that is not ours, or of another format, is refused and left as it is. Commits reach the disk one by one (``FULL``) or,
with ``NORMAL``, at checkpoints: then a power failure, but no killed process, may lose the last acknowledged writes.
"""

import errno
import os
import sqlite3
from pathlib import Path
from typing import Literal, TypeAlias

from heliostat.embedded.storage.errors import StoreUnusableError
from heliostat.embedded.storage.seal import explain_loss

Synchronous: TypeAlias = Literal["FULL", "NORMAL"]

APPLICATION_ID = 0x48656C69  # "Heli": which program a SQLite file belongs to
FORMAT = 1
PAGE_BYTES = 8192  # three objects of 2 kB to a page; measured fastest of 4, 8 and 16 kB for groups of 1 to 16
CACHE_KB = 512  # nothing is read from the file once it is loaded; with 2,000 writes are no faster
STATEMENTS_CACHED = 160  # every size of a group of writes, and the rest

# A row of the log is one mutation; the newest row of a key that is no deletion is the object.
# ``state`` has one row; ``unsynced_boot`` names the boot in which commits are not synced one by one, else it is empty.
SCHEMA = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY, deleted INTEGER NOT NULL,
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    facts BLOB NOT NULL, body BLOB NOT NULL
);
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1), compacted INTEGER NOT NULL, unsynced_boot TEXT NOT NULL
);
"""


def open_database(path: Path, first_revision: int, sealed: int = 0) -> sqlite3.Connection:
    """A connection that owns the file, which is made when it is not there and nobody knows of more.

    Commits reach the disk one by one.
    """
    try:
        _make_private_file(path)
    except OSError as error:
        raise explain(path, error) from error
    connection = sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS_CACHED
    )
    try:
        _take_over(connection, path, first_revision, sealed)
    except sqlite3.Error as error:
        connection.close()
        raise explain(path, error) from error
    except BaseException:  # whatever it was, the open file must not outlive the failed opening
        connection.close()
        raise
    return connection


def _take_over(connection: sqlite3.Connection, path: Path, first_revision: int, sealed: int) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    is_new = _check_format(connection, path)
    if is_new and sealed > first_revision:
        raise explain_loss(path, first_revision, sealed)
    if is_new:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN EXCLUSIVE")  # from here on the lock is ours until the connection closes
    if is_new:
        for statement in SCHEMA.split(";")[:-1]:
            connection.execute(statement)
        connection.execute("INSERT INTO state VALUES (1, ?, '')", (first_revision,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _check_format(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is still empty; refuses one that is not ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables and not application and not version:
        return True
    if application != APPLICATION_ID:
        raise StoreUnusableError(
            str(path), "is a SQLite database of another program", "name another file or data directory"
        )
    if version != FORMAT:
        raise StoreUnusableError(
            str(path),
            f"has format {version}, this version of Heliostat reads format {FORMAT}",
            "use the version of Heliostat that wrote it, or another data directory",
        )
    return False


def _make_private_file(path: Path) -> None:
    directory = path.parent
    if not directory.exists():
        directory.mkdir(mode=0o700, parents=True)
        _sync_directory(directory.parent)
    _refuse_if_open_to_others(directory, "700")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        _refuse_if_open_to_others(path, "600")
    else:
        _sync_directory(directory)  # so that the name survives a power failure too


def _refuse_if_open_to_others(path: Path, mode: str) -> None:
    if path.stat().st_mode & 0o077:
        raise StoreUnusableError(
            str(path), "other users can reach it, and it holds secrets", f"run: chmod {mode} {path}"
        )


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def explain(path: Path, error: sqlite3.Error | OSError) -> StoreUnusableError:
    """What is in the way, as far as it can be found out, and what to do about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnusableError(
            str(path), "is in use by another server", "stop that one first, or name another data directory"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return StoreUnusableError(str(path), "is not a SQLite database", "name another file or data directory")
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnusableError(str(path), "there is no room on its disk", "free space there, then start again")
    if path.parent.exists() and not os.access(path.parent, os.W_OK):
        return StoreUnusableError(
            str(path), _explain_unwritable(path.parent), "make it writable, or name another data directory"
        )
    return StoreUnusableError(
        str(path), f"cannot be opened: {error}", "free the disk or restore the file from a copy, then start again"
    )


def _explain_unwritable(directory: Path) -> str:
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        return "its file system is mounted read-only, and the server must write there"
    return f"this user may not write into {directory}, and the server must"
