"""The writer thread: the only user of the connection once the store is open.

Rules: whatever has arrived while a commit was under way is the next group; a group is told durable after its commit, in
order; a group for which there is no room is refused with everything behind it, up to the word that the store goes on
from what is durable; any other error is told once and ends the thread. Old rows are deleted a few at a time between
groups, so that compaction never keeps a write waiting for long; without room they wait for the next work.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.storage.journal import Refused
from heliostat.embedded.storage.records import Event
from heliostat.embedded.storage.sqlite_rows import GROUP_MAX, delete_rows, insert_events

DELETE_MAX = 128


class Compaction(Struct, frozen=True):
    revision: int
    obsolete: Sequence[int]


class GoOn(Struct, frozen=True):
    """Comes behind everything that the store gave up when it was told that there is no room."""


class Stop(Struct, frozen=True):
    pass


Work: TypeAlias = Event | Compaction | GoOn | Stop


class Told(Struct, frozen=True):
    """Who hears what became of the work, on the event loop's thread."""

    durable: Callable[[int], None]
    refused: Refused
    failed: Refused


class SqliteWriter:
    """Owns the connection: closes it when it stops or fails."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        obsolete: Sequence[int],
        told: Told,
    ) -> None:
        self._connection = connection
        self._mark = 0  # up to where history is to be forgotten, not on disk yet
        self._obsolete = dict.fromkeys(obsolete)
        self._told = told
        self._is_refusing = False  # until the store has heard it
        self._has_room = True
        self._loop = asyncio.get_running_loop()
        self._finished = self._loop.create_future()
        self._work: SimpleQueue[Work] = SimpleQueue()
        # A daemon, so that a process may exit without closing: what was acknowledged is on disk.
        Thread(target=self._run, name="heliostat-storage", daemon=True).start()

    def put(self, work: Work) -> None:
        self._work.put(work)

    async def stop(self) -> None:
        self._work.put(Stop())
        await asyncio.shield(self._finished)

    def _run(self) -> None:
        try:
            while self._work_once():
                pass
            with _suppress_no_room():  # the next start is then as wary as after a kill
                _end_cleanly(self._connection)
        except BaseException as error:  # a thread that ends unheard would leave writers waiting for ever
            self._tell(self._told.failed, error)
            if not isinstance(error, sqlite3.Error):
                raise
        finally:
            with suppress(sqlite3.Error):  # after a failure there is nobody left to tell
                self._connection.close()
            self._tell(self._finished.set_result, None)

    def _work_once(self) -> bool:
        """Commit a group, begin a compaction or delete some rows; whether to go on."""
        group, other = self._gather()
        if group and not self._is_refusing:
            self._commit(group)
        if isinstance(other, GoOn):
            self._is_refusing = False
        if isinstance(other, Compaction):
            self._mark = other.revision
            self._obsolete.update(dict.fromkeys(other.obsolete))
        if self._mark or self._obsolete:
            self._forget_some()
        return not isinstance(other, Stop)

    def _commit(self, group: list[Event]) -> None:
        try:
            insert_events(self._connection, group)
        except sqlite3.OperationalError as error:
            if not _is_no_room(error):
                raise
            self._is_refusing, self._has_room = True, False
            self._tell(self._told.refused, error)
        else:
            self._has_room = True
            self._tell(self._told.durable, group[-1].revision)

    def _forget_some(self) -> None:
        """First the mark, then the rows: a crash in between leaves rows to delete, never a history with holes."""
        self._has_room = False
        with _suppress_no_room():
            if self._mark:
                self._connection.execute("UPDATE state SET compacted = ?", (self._mark,))
                self._mark = 0
            if self._obsolete:
                self._delete_some()
            self._has_room = True

    def _gather(self) -> tuple[list[Event], Work | None]:
        """The events at hand, up to a full group, and what came after them if it is something else."""
        group: list[Event] = []
        with suppress(Empty):
            work = self._work.get(block=not self._obsolete or not self._has_room)
            while isinstance(work, Event):
                group.append(work)
                if len(group) == GROUP_MAX:
                    return group, None
                work = self._work.get_nowait()
            return group, work
        return group, None

    def _delete_some(self) -> None:
        some = tuple(islice(self._obsolete, DELETE_MAX))
        delete_rows(self._connection, some)
        for revision in some:
            del self._obsolete[revision]

    def _tell(self, callback: Callable[..., Any], argument: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(callback, argument)


def _is_no_room(error: sqlite3.Error) -> bool:
    """Whether a page could not be written: a full disk, a quota, a limit on the size of files.

    The statement is then undone, and what is durable is known. Of a failed sync it is not.
    """
    return error.sqlite_errorcode in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


@contextmanager
def _suppress_no_room() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if not _is_no_room(error):
            raise


def _end_cleanly(connection: sqlite3.Connection) -> None:
    """Everything is on disk from here on, whatever the commits before promised."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("UPDATE state SET unsynced_boot = ''")
