"""A commit that fails ends the store: every write under way, every watch and every later call is told so.

Not when there is only no room for it: then the writes under way are refused, and everything else goes on.
"""

import asyncio
import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.storage.stores import create, drain, gated_disk, in_loop, pod, sqlite_disk, update
from heliostat.embedded.storage.errors import ClosedError, NoRoomError, StoreFailedError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store

PODS = Scope("pods")


async def broken_disk(revision: int) -> None:
    if revision > 2:
        raise OSError(errno.EIO, "Input/output error")


@in_loop
async def test_a_failed_commit_fails_the_writes_under_way_and_shows_none_of_them() -> None:
    store = gated_disk(broken_disk).open()
    await create(store, pod("good"))
    watch = store.watch(PODS, since=2)
    taking = asyncio.ensure_future(watch.take())
    writes = [asyncio.ensure_future(create(store, pod(str(number)))) for number in range(3)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreFailedError] * 3
    with pytest.raises(StoreFailedError, match=r"a commit failed: OSError: .*Input/output error"):
        await taking
    await store.close()


@in_loop
async def test_a_failed_store_refuses_everything_afterwards() -> None:
    store = gated_disk(broken_disk).open()
    await create(store, pod("good"))
    with pytest.raises(StoreFailedError):
        await create(store, pod("bad"))
    await assert_refuses_everything(store)
    failure = await store.wait_ended()
    assert isinstance(failure, StoreFailedError)
    assert isinstance(failure.__cause__, OSError)
    await store.close()
    assert isinstance(await store.wait_ended(), StoreFailedError)


async def assert_refuses_everything(store: Store) -> None:
    for call in (
        lambda: store.get(pod("good")),
        lambda: store.page(PODS),
        lambda: store.count(PODS),
        lambda: store.watch(PODS, since=2),
        lambda: store.compact(2),
        lambda: store.revision,
        lambda: store.compacted,
        lambda: store.superseded_bytes,
    ):
        with pytest.raises(StoreFailedError):
            call()
    with pytest.raises(StoreFailedError):
        await create(store, pod("late"))
    with pytest.raises(StoreFailedError):
        await store.wait_for(99)


@in_loop
async def test_closing_during_a_failing_commit_is_quiet() -> None:
    store = gated_disk(broken_disk).open()
    writing = asyncio.ensure_future(create(store, pod("a")))
    other = asyncio.ensure_future(create(store, pod("b")))
    await asyncio.sleep(0)
    await store.close()
    outcomes = await asyncio.gather(writing, other, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {StoreFailedError}


class SmallDisk:
    """Full from some moment on, until there is room again."""

    is_full = False

    async def commit(self, _revision: int) -> None:
        await asyncio.sleep(0)
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")


@in_loop
async def test_a_full_disk_refuses_the_writes_under_way_and_nothing_else() -> None:
    disk = SmallDisk()
    store = gated_disk(disk.commit).open()
    await create(store, pod("good"))
    watch = store.watch(PODS, since=2)
    disk.is_full = True
    writes = [create(store, pod("bad")), create(store, pod("bad")), update(store, pod("good"))]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [NoRoomError] * 3
    assert "nothing was written, and reads go on; free space" in str(outcomes[0])
    assert ([record.key.name for record in store.page(PODS).records], store.revision) == (["good"], 2)
    disk.is_full = False
    assert (await create(store, pod("bad"))).revision == 3
    assert [event.revision for event in drain(watch)] == [3]
    await store.close()


@in_loop
async def test_closing_on_a_full_disk_is_quiet() -> None:
    disk = SmallDisk()
    disk.is_full = True
    store = gated_disk(disk.commit).open()
    writing = asyncio.ensure_future(create(store, pod("a")))
    await asyncio.sleep(0)
    await store.close()
    assert isinstance((await asyncio.gather(writing, return_exceptions=True))[0], NoRoomError)
    assert isinstance(await store.wait_ended(), ClosedError)


@in_loop
async def test_a_real_store_goes_on_after_a_full_disk(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "store.db")
    async with Store(journal) as store:
        await create(store, pod("good"))
        connection = journal._writer._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        writes = [create(store, pod(str(number)), "." * 20_000) for number in range(200)]
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {NoRoomError}
        store.compact(store.revision)  # needs room too, and must not end anything
        with pytest.raises(NoRoomError, match="database or disk is full"):
            await create(store, pod("late"), "." * 20_000)
        assert ([record.key.name for record in store.page(PODS).records], store.revision) == (["good"], 2)
        connection.execute("PRAGMA max_page_count = 1000000")
        for number in range(200):
            assert (await create(store, pod(str(number)), "." * 20_000)).revision == number + 3
    async with sqlite_disk(tmp_path).open() as store:
        assert (store.count(PODS), store.revision) == (201, 202)


FULL_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from embedded.storage.stores import create, pod, sqlite_disk

async def main():
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    store = sqlite_disk(Path(sys.argv[1])).open()
    acknowledged = []
    async def write(worker):
        for number in range(1000):
            record = await create(store, pod(f"{worker}-{number}"), "." * 2000)
            acknowledged.append(record.key.name)
    outcomes = await asyncio.gather(*map(write, range(4)), return_exceptions=True)
    read = all(store.get(pod(name)) is not None for name in acknowledged)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    acknowledged.append((await create(store, pod("after"))).key.name)
    if sys.argv[3] == "close":
        await store.close()
    print(json.dumps([acknowledged, [type(outcome).__name__ for outcome in outcomes], read]))

asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["close", "exit"])
@in_loop
async def test_files_that_may_not_grow_lose_nothing_and_grow_again(tmp_path: Path, end: str) -> None:
    tests = Path(__file__).parents[2]
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), str(tests), end]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    acknowledged, outcomes, could_read = json.loads(result.stdout)
    assert (outcomes, could_read) == ([NoRoomError.__name__] * 4, True)
    assert result.stderr == ""
    async with sqlite_disk(tmp_path).open() as store:
        kept = {record.key.name for record in store.page(PODS).records}
        assert len(acknowledged) > 10
        assert kept == set(acknowledged)
        await create(store, pod("later"))
