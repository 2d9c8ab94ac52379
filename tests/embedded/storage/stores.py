"""What every storage test needs: a disk to open stores on, objects to put there, and an event loop with a deadline."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec

from heliostat.embedded.storage.journal import Journal
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.records import Event, Facts, Record
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store
from heliostat.embedded.storage.subscription import Subscription

DEADLINE_SECONDS = 60

P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test to its end, or fail it at the deadline."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def with_deadline() -> None:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await test(*args, **kwargs)

        asyncio.run(with_deadline())

    return run


class Disk:
    """Where a store keeps its data: opening again finds what was durable."""

    def __init__(self, build_journal: Callable[[], Journal]) -> None:
        self._build_journal = build_journal

    def open(self) -> Store:
        return Store(self._build_journal())


def memory_disk() -> Disk:
    journal = MemoryJournal()
    return Disk(lambda: journal)


def sqlite_disk(directory: Path) -> Disk:
    return Disk(lambda: SqliteJournal(directory / "store.db"))


def gated_disk(gate: Callable[[int], Awaitable[None]]) -> Disk:
    journal = MemoryJournal(before_commit=gate)
    return Disk(lambda: journal)


def pod(name: str, namespace: str = "default") -> Key:
    return Key("pods", namespace, name)


def body(text: str) -> Callable[[int], bytes]:
    return lambda revision: b'{"rv":"%d","text":"%s"}' % (revision, text.encode())


def last_body(revision: int, last: Record) -> bytes:
    return b'{"rv":"%d","last":"%d"}' % (revision, last.revision)


def facts(uid: str = "u", **labels: str) -> Facts:
    return Facts(uid, labels)


async def create(store: Store, key: Key, text: str = "new") -> Record:
    return await store.create(key, facts(f"uid-{key.name}"), body(text))


async def update(store: Store, key: Key, text: str = "changed") -> Record:
    current = store.get(key)
    assert current is not None
    return await store.update(key, current.facts, body(text), expected=current.revision)


async def delete(store: Store, key: Key) -> Record:
    return await store.delete(key, last_body)


def drain(watch: Subscription) -> list[Event]:
    """Everything the watch has ready."""
    events: list[Event] = []
    while ready := watch.take_ready(7):
        events += ready
    return events


async def until(is_so: Callable[[], bool]) -> None:
    """Until a condition holds; the deadline of the test bounds it."""
    while not is_so():
        await asyncio.sleep(0)
