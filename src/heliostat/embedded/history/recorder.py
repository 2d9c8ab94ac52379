"""Follows what happens in the store and writes it into the ledger, so that objects are remembered when they are gone.

Rules: it goes on where the ledger ends; where the store no longer has that, what is there now is compared with what was
there last, and what is missing is gone. It decides nothing and holds nobody up: a ledger that cannot be written is told
of and tried again later, while the store goes on.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from heliostat.embedded.history.ledger import Ledger, Version
from heliostat.embedded.history.retention import DAY, MEGABYTE, Limits
from heliostat.embedded.storage.errors import ClosedError, CompactedError, StoreFailedError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.store import Store

LEDGER: Final = "objects.db"
_FORGET_SECONDS: Final = 600.0
_AGAIN_SECONDS: Final = 30.0


class HistoryOptions(Struct, frozen=True, kw_only=True):
    directory: Path
    resources: tuple[str, ...]  # as the store calls them: pods, jobs.batch
    has_same_store: bool = True  # as the last time; one in memory is another one at every start
    limits: Limits = Limits(7 * DAY, 100 * MEGABYTE)


async def keep_history(
    store: Store, options: HistoryOptions, *, on_problem: Callable[[BaseException], None], again: float = _AGAIN_SECONDS
) -> None:
    """Until the store ends. Where nothing can be written that is told, and tried again after so many seconds."""
    while True:
        try:
            recorder = Recorder(store, options, on_problem=on_problem)
            await recorder.run()
        except (OSError, sqlite3.Error, ExceptionGroup) as error:  # a bug must not end the server either
            on_problem(error)
            await asyncio.sleep(again)
        else:
            return


class Recorder:
    def __init__(
        self,
        store: Store,
        options: HistoryOptions,
        *,
        on_problem: Callable[[BaseException], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``clock`` tells the time of day. Raises OSError or sqlite3.Error when there is no place for a ledger."""
        self._store = store
        self._options = options
        self._on_problem = on_problem
        self._clock = clock
        self._ledger = Ledger(options.directory / LEDGER)
        if not options.has_same_store:
            self._ledger.distrust_places()

    def close(self) -> None:
        self._ledger.close()

    async def run(self) -> None:
        """Until the store ends."""
        try:
            async with asyncio.TaskGroup() as group:
                forgetting = group.create_task(self._keep_forgetting())
                following = [group.create_task(self._follow(resource)) for resource in self._options.resources]
                await asyncio.gather(*following)
                forgetting.cancel()
        finally:
            self.close()

    async def _follow(self, resource: str) -> None:
        while True:
            try:
                if not self._can_go_on(resource):
                    self._compare(resource)
                await self._follow_on(resource)
            except CompactedError:
                continue  # it was too slow: what it missed is found by comparing
            except sqlite3.Error as error:
                self._on_problem(error)
                await asyncio.sleep(_AGAIN_SECONDS)
            except (ClosedError, StoreFailedError):
                return

    def _can_go_on(self, resource: str) -> bool:
        return self._store.compacted <= self._ledger.place(resource) <= self._store.revision

    async def _follow_on(self, resource: str) -> None:
        subscription = self._store.watch(Scope(resource), self._ledger.place(resource))
        try:
            while True:
                self._write(resource, await subscription.take())
        finally:
            subscription.close()

    def _write(self, resource: str, events: list[Event]) -> None:
        now = self._clock()
        with self._ledger.writing(resource, events[-1].revision):
            for event in events:
                if event.deleted:
                    self._ledger.end(_version(event.record), now)
                else:
                    self._ledger.note(_version(event.record), now)

    def _compare(self, resource: str) -> None:
        """What was there last and is not there now went at some time in between."""
        now, page = self._clock(), self._store.page(Scope(resource))
        missing = self._ledger.living(resource)
        with self._ledger.writing(resource, page.revision):
            for record in page.records:
                missing.pop(record.facts.uid, None)
                self._ledger.note(_version(record), now)
            for version in missing.values():
                self._ledger.end(version, now)

    async def _keep_forgetting(self) -> None:
        while True:
            try:
                self._ledger.forget(self._clock(), self._options.limits)
            except sqlite3.Error as error:
                self._on_problem(error)
            await asyncio.sleep(_FORGET_SECONDS)


def _version(record: Record) -> Version:
    return Version(record.key, record.facts.uid, record.body)
