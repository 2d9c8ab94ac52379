"""The file in which the history of objects is kept: one SQLite database, written by the server, read by anybody.

Rules: what happened and how far it is written down are committed together, so after ``kill -9`` nothing is missing or
double; nothing waits for the disk, so after a power failure the last seconds may be missing; a file that cannot be read
is put aside. A living object has its state as of its last moment; one that is gone has its last state.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from heliostat.embedded.history.moments import Moment, build_facts
from heliostat.embedded.history.retention import Kept, Limits, plan_removals
from heliostat.embedded.storage.keys import Key
from heliostat.kube.jsontree import JsonObject

MOST_MOMENTS: Final = 500  # of one object; the oldest go
_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE objects (
    uid TEXT PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    gone_at REAL, body BLOB NOT NULL, moments INTEGER NOT NULL, bytes INTEGER NOT NULL
);
CREATE TABLE moments (
    uid TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, facts BLOB NOT NULL, PRIMARY KEY (uid, number)
) WITHOUT ROWID;
CREATE TABLE places (resource TEXT PRIMARY KEY, revision INTEGER NOT NULL);
"""
_ADD: Final = """
INSERT INTO objects VALUES (?, ?, ?, ?, NULL, ?, 1, ?) ON CONFLICT (uid) DO UPDATE SET
    body = excluded.body, moments = moments + 1, bytes = bytes - length(body) + excluded.bytes
RETURNING moments
"""


class LedgerError(Exception):
    """It cannot be read; the text says which and why."""


class Version(Struct, frozen=True):
    """An object as it was at some moment."""

    key: Key
    uid: str
    body: bytes


class Gone(Struct, frozen=True):
    """An object of the past: as it was last, and when it went."""

    key: Key
    uid: str
    gone_at: float
    tree: JsonObject


class Ledger:
    """For the one who writes."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._connection = _open(path)
        self._last: dict[str, dict[str, str]] = {}  # the facts of living objects, by uid

    def close(self) -> None:
        self._connection.close()

    def place(self, resource: str) -> int:
        """The revision up to which everything about the resource is written down; -1: nothing is."""
        row = self._connection.execute("SELECT revision FROM places WHERE resource = ?", (resource,)).fetchone()
        return int(row[0]) if row is not None else -1

    def living(self, resource: str) -> dict[str, Version]:
        """By uid, those that have not been seen to go."""
        query = "SELECT uid, namespace, name, body FROM objects WHERE resource = ? AND gone_at IS NULL"
        rows = self._connection.execute(query, (resource,))
        return {uid: Version(Key(resource, namespace, name), uid, body) for uid, namespace, name, body in rows}

    @contextmanager
    def writing(self, resource: str, revision: int) -> Iterator[None]:
        """All of what is noted inside, up to this revision, or nothing of it."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("INSERT OR REPLACE INTO places VALUES (?, ?)", (resource, revision))
            self._connection.execute("COMMIT")
        except BaseException:  # cancelled, too: half a turn must neither stay open nor be taken for known
            self._last.clear()
            self._connection.execute("ROLLBACK")
            raise

    def note(self, version: Version, now: float) -> None:
        """A moment, if anything worth telling has changed."""
        facts = build_facts(msgspec.json.decode(version.body))
        if facts != self._known(version.uid):
            self._add_moment(version, facts, now)

    def end(self, version: Version, now: float) -> None:
        """It is gone, and this is how it was last."""
        self.note(version, now)
        self._connection.execute(
            "UPDATE objects SET gone_at = ?, bytes = bytes - length(body) + ?, body = ? WHERE uid = ?",
            (now, len(version.body), version.body, version.uid),
        )
        self._last.pop(version.uid, None)

    def distrust_places(self) -> None:
        """The store is another one than before: nothing is known of how far it was followed."""
        self._connection.execute("DELETE FROM places")

    def forget(self, now: float, limits: Limits) -> int:
        """How many objects of the past are no longer remembered: the oldest, when there are too many."""
        rows = self._connection.execute("SELECT uid, gone_at, bytes FROM objects WHERE gone_at IS NOT NULL").fetchall()
        removals = plan_removals([Kept(*row) for row in rows], now, limits)
        self._connection.execute("BEGIN IMMEDIATE")
        for table in ("objects", "moments"):
            uids = [(removal.path,) for removal in removals]
            self._connection.executemany(f"DELETE FROM {table} WHERE uid = ?", uids)  # noqa: S608  our own names
        self._connection.execute("COMMIT")
        return len(removals)

    def _known(self, uid: str) -> dict[str, str] | None:
        """The facts of the last moment."""
        if uid not in self._last:
            query = "SELECT facts FROM moments WHERE uid = ? ORDER BY number DESC LIMIT 1"
            row = self._connection.execute(query, (uid,)).fetchone()
            if row is None:
                return None
            self._last[uid] = msgspec.json.decode(row[0], type=dict[str, str])
        return self._last[uid]

    def _add_moment(self, version: Version, facts: dict[str, str], now: float) -> None:
        key, uid, encoded = version.key, version.uid, msgspec.json.encode(facts)
        values = (uid, key.resource, key.namespace, key.name, version.body, len(version.body) + len(encoded))
        ((number,),) = self._connection.execute(_ADD, values).fetchall()
        self._connection.execute("INSERT INTO moments VALUES (?, ?, ?, ?)", (uid, number, now, encoded))
        self._connection.execute("DELETE FROM moments WHERE uid = ? AND number <= ?", (uid, number - MOST_MOMENTS))
        self._last[uid] = facts


def _open(path: Path) -> sqlite3.Connection:
    try:
        return _connect(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # the disk, not the file
        path.replace(path.with_name(f"{path.name}.unreadable"))
        for suffix in ("-wal", "-shm"):
            path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        _check_format(connection)
    except BaseException:  # cannot be used, whatever the reason: nobody else knows this connection
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not version:
        connection.executescript(f"{_SCHEMA}PRAGMA user_version = {_FORMAT};")
    elif version != _FORMAT:
        raise sqlite3.DatabaseError(f"format {version}")


# for those who ask


def read_gone(path: Path) -> list[Gone]:
    """All of them, the last to go first; without a file there is nothing to remember. Raises LedgerError."""
    query = "SELECT resource, namespace, name, uid, gone_at, body FROM objects WHERE gone_at IS NOT NULL"
    return [
        Gone(Key(resource, namespace, name), uid, gone_at, msgspec.json.decode(body))
        for resource, namespace, name, uid, gone_at, body in _read(path, f"{query} ORDER BY gone_at DESC, uid")
    ]


def read_timeline(path: Path, uid: str) -> list[Moment]:
    rows = _read(path, "SELECT at, facts FROM moments WHERE uid = ? ORDER BY number", uid)
    return [Moment(at, msgspec.json.decode(facts, type=dict[str, str])) for at, facts in rows]


def _read(path: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10.0)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise LedgerError(f"the history of objects, {path}, cannot be read: {error}") from None
