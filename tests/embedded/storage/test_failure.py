"""A commit that fails ends the store: every write under way, every watch and every later call is told so."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.storage.stores import create, gated_disk, in_loop, pod, sqlite_disk
from heliostat.embedded.storage.errors import StoreFailedError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.store import Store

PODS = Scope("pods")


async def broken_disk(revision: int) -> None:
    if revision > 2:
        raise OSError(28, "No space left on device")


@in_loop
async def test_a_failed_commit_fails_the_writes_under_way_and_shows_none_of_them() -> None:
    store = gated_disk(broken_disk).open()
    await create(store, pod("good"))
    watch = store.watch(PODS, since=2)
    taking = asyncio.ensure_future(watch.take())
    writes = [asyncio.ensure_future(create(store, pod(str(number)))) for number in range(3)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreFailedError] * 3
    with pytest.raises(StoreFailedError, match=r"a commit failed: OSError: .*No space left"):
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


FULL_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from embedded.storage.stores import create, pod, sqlite_disk
from embedded.storage.test_failure import assert_refuses_everything
from heliostat.embedded.storage.errors import StoreFailedError

async def main():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    store = sqlite_disk(Path(sys.argv[1])).open()
    acknowledged = []
    async def write(worker):
        for number in range(1000):
            record = await create(store, pod(f"{worker}-{number}"), "." * 2000)
            acknowledged.append(record.key.name)
    outcomes = await asyncio.gather(*map(write, range(4)), return_exceptions=True)
    await assert_refuses_everything(store)
    await store.close()
    print(json.dumps([acknowledged, [type(outcome).__name__ for outcome in outcomes], str(outcomes[0])]))

asyncio.run(main())
"""


@in_loop
async def test_a_full_disk_stops_a_real_store_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    tests = Path(__file__).parents[2]
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), str(tests)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    acknowledged, outcomes, message = json.loads(result.stdout)
    assert outcomes == [StoreFailedError.__name__] * 4
    assert "a commit failed: OperationalError" in message
    assert result.stderr == ""
    async with sqlite_disk(tmp_path).open() as store:
        kept = {record.key.name for record in store.page(PODS).records}
        assert len(acknowledged) > 10
        assert kept >= set(acknowledged)
        await create(store, pod("after"))
