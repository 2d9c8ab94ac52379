"""The store of the embedded API server: writes, lists, growth, memory, start.

Each figure comes with a ratio against plain sqlite3 doing the same by the simplest means, right beside it on the same
disk: one INSERT per commit (WAL, synchronous=FULL) for writes, one indexed SELECT for lists. Objects are 2 kB.
"""

import asyncio
import gc
import itertools
import sqlite3
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from heliostat.embedded.storage.journal import Journal
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.records import Facts
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store

CONFIG_MAPS = Scope("configmaps")
PADDING = b"x" * 1800
FEW, MANY = 1_000, 50_000


def build_key(number: int) -> Key:
    """Names scattered over the order, as those of real objects are."""
    return Key("configmaps", f"team-{number % 20}", f"settings-{number * 7919 % 1_000_003:07}")


def build_facts(number: int) -> Facts:
    return Facts(f"6f1e5c1a-0000-4000-8000-{number:012}", {"app": "bench", "number": str(number)})


def build_body(revision: int) -> bytes:
    return b'{"kind":"ConfigMap","metadata":{"resourceVersion":"%d"},"data":{"text":"%s"}}' % (revision, PADDING)


async def write(store: Store, numbers: Iterator[int]) -> None:
    for number in numbers:
        await store.create(build_key(number), build_facts(number), build_body)


async def fill(store: Store, numbers: range, writers: int = 64) -> float:
    """Create the objects with so many writers at once; gives the seconds."""
    shared = iter(numbers)
    started = time.perf_counter()
    await asyncio.gather(*(write(store, shared) for _ in range(writers)))
    return time.perf_counter() - started


def measure_raw_commits(directory: Path, count: int) -> float:
    """Plain sqlite3, one commit per write: writes per second."""
    connection = connect_raw(directory / "raw.db")
    started = time.perf_counter()
    for number in range(count):
        row = (None, build_key(number).path, build_body(number))
        connection.execute("INSERT INTO objects VALUES (?, ?, ?)", row)
    seconds = time.perf_counter() - started
    connection.close()
    return count / seconds


def connect_raw(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS objects (revision INTEGER PRIMARY KEY, path TEXT, body BLOB)")
    return connection


async def measure_writes(journal: Journal, writers: int, count: int) -> float:
    async with Store(journal) as store:
        return count / await fill(store, range(count), writers)


def compare_writes(directory: Path) -> None:
    numbers = itertools.count()
    journals: dict[str, Callable[[], Journal]] = {
        "memory": MemoryJournal,
        "sqlite FULL": lambda: SqliteJournal(directory / f"{next(numbers)}" / "store.db"),
        "sqlite NORMAL": lambda: SqliteJournal(directory / f"{next(numbers)}" / "store.db", "NORMAL"),
    }
    for name, build_journal in journals.items():
        for writers in (1, 16, 64):
            count = 20_000 if name == "memory" else 2_000 if writers == 1 else 10_000
            before = measure_raw_commits(directory, 500)
            rate = asyncio.run(measure_writes(build_journal(), writers, count))
            raw = (before + measure_raw_commits(directory, 500)) / 2
            print(f"{name:14} {writers:3} writers {rate:9,.0f} writes/s, {rate / raw:6.2f}x plain sqlite3 ({raw:,.0f})")


def median_seconds(action: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


async def compare_lists_and_start(directory: Path) -> None:
    path = directory / "many" / "store.db"
    async with Store(SqliteJournal(path, "NORMAL")) as store:
        await fill(store, range(MANY))
    started = time.perf_counter()
    async with Store(SqliteJournal(path)) as store:
        seconds = time.perf_counter() - started
        listed = median_seconds(lambda: b",".join([r.body for r in store.page(CONFIG_MAPS, limit=500).records]), 200)
        whole = median_seconds(lambda: store.page(CONFIG_MAPS), 5)
    raw_load, raw_listed = measure_raw_reads(directory / "raw-many.db")
    print(f"start with {MANY:,} objects: {seconds:.2f} s, {seconds / raw_load:.2f}x the time of a plain SELECT of all")
    print(f"list of 500: {1 / listed:,.0f}/s, {raw_listed / listed:.1f}x as many as a plain SELECT by path")
    print(f"list of {MANY:,}: {whole * 1000:.1f} ms")


def measure_raw_reads(path: Path) -> tuple[float, float]:
    connection = connect_raw(path)
    rows = ((None, build_key(number).path, build_body(number)) for number in range(MANY))
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO objects VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.execute("CREATE INDEX by_path ON objects (path)")
    whole = median_seconds(lambda: connection.execute("SELECT * FROM objects").fetchall(), 1)
    query = "SELECT body FROM objects ORDER BY path LIMIT 500"
    listed = median_seconds(lambda: b",".join([body for (body,) in connection.execute(query)]), 50)
    connection.close()
    return whole, listed


async def compare_growth() -> None:
    """The same writes among few and among many objects, in turns, so that both meet the same machine."""
    stores = {size: Store(MemoryJournal()) for size in (FEW, MANY)}
    for size, store in stores.items():
        await fill(store, range(size))
    costs: dict[int, list[float]] = {size: [] for size in stores}
    for turn in range(20):
        for size, store in stores.items():
            first = 100_000 + turn * 200
            costs[size].append(await fill(store, range(first, first + 200), writers=1) / 200)
            await remove(store, range(first, first + 200))
            store.compact(store.revision)
    few, many = (statistics.median(costs[size]) * 1e6 for size in (FEW, MANY))
    print(f"a create among {FEW:,}: {few:.1f} us, among {MANY:,}: {many:.1f} us, {many / few:.2f}x")


async def measure_watches() -> None:
    """A thousand watches of everything, each fed every event."""
    events, watches = 100, 1_000
    async with Store(MemoryJournal()) as store:

        async def follow() -> None:
            watch = store.watch(CONFIG_MAPS, since=1)
            while watch.progress < events + 1:
                await watch.take()

        followers = [asyncio.ensure_future(follow()) for _ in range(watches)]
        await asyncio.sleep(0)
        started = time.perf_counter()
        for number in range(events):
            await store.create(build_key(number), build_facts(number), build_body)
            await asyncio.sleep(0)  # every event wakes every watch: the worst case
        await asyncio.gather(*followers)
        rate = events * watches / (time.perf_counter() - started)
    print(f"{watches:,} watches: {rate:,.0f} events/s handed out, {rate / 20_000:.1f}x the 20 events/s each must get")


async def remove(store: Store, numbers: range) -> None:
    for number in numbers:
        await store.delete(build_key(number), lambda revision, _: build_body(revision))


async def measure_memory() -> None:
    gc.collect()
    tracemalloc.start()
    count, size = 10_000, sys.getsizeof(build_body(10_000))
    async with Store(MemoryJournal()) as store:
        await fill(store, range(count))
        peak: float = tracemalloc.get_traced_memory()[1]
        store.compact(store.revision)
        settled: float = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    peak, settled = peak / count - size, settled / count - size
    print(f"memory per object beside its {size:,} bytes: peak {peak:,.0f}, once compacted {settled:,.0f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        compare_writes(Path(directory))
        asyncio.run(compare_lists_and_start(Path(directory)))
    asyncio.run(compare_growth())
    asyncio.run(measure_watches())
    asyncio.run(measure_memory())


if __name__ == "__main__":
    main()
