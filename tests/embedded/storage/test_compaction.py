"""Compaction: what stays readable, what is refused, and how much is kept."""

import asyncio

import pytest

from embedded.storage.stores import Disk, create, delete, drain, in_loop, memory_disk, pod, update
from embedded.storage.virtual_time import run_in_virtual_time
from heliostat.embedded.storage.compaction import keep_compacting
from heliostat.embedded.storage.errors import CompactedError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.retention import AgeMarks, History, Retention, decide_compaction

PODS = Scope("pods")


@in_loop
async def test_the_compaction_revision_itself_stays_readable_and_watchable(disk: Disk) -> None:
    async with disk.open() as store:
        for name in "abcd":
            await create(store, pod(name))
        store.compact(3)
        assert [record.key.name for record in store.page(PODS, at=3).records] == ["a", "b"]
        assert [event.revision for event in drain(store.watch(PODS, since=3))] == [4, 5]


@in_loop
async def test_older_than_the_compaction_revision_is_refused_never_answered_with_a_gap(disk: Disk) -> None:
    async with disk.open() as store:
        for name in "abcd":
            await create(store, pod(name))
        store.compact(3)
        with pytest.raises(CompactedError, match="revision 2 is no longer kept: history goes back to 3"):
            store.page(PODS, at=2)
        with pytest.raises(CompactedError):
            store.watch(PODS, since=2)
        with pytest.raises(CompactedError):
            store.watch(Scope("nodes"), since=2)


@in_loop
async def test_a_deletion_at_the_compaction_revision_is_not_lost_to_a_watch_from_before_it(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, pod("a"))
        gone = await delete(store, pod("a"))
        store.compact(gone.revision - 1)
        assert [event.kind for event in drain(store.watch(PODS, since=gone.revision - 1))] == ["DELETED"]
        store.compact(gone.revision)
        with pytest.raises(CompactedError):
            store.watch(PODS, since=gone.revision - 1)
        assert drain(store.watch(PODS, since=gone.revision)) == []


@in_loop
async def test_the_first_event_after_compaction_still_knows_what_it_replaced(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, pod("a"), "one")
        second = await update(store, pod("a"), "two")
        third = await update(store, pod("a"), "three")
        store.compact(second.revision)
    async with disk.open() as store:
        (event,) = drain(store.watch(PODS, since=second.revision))
        assert (event.record, event.previous) == (third, second)


@in_loop
async def test_compaction_never_goes_back_nor_beyond_the_present(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, pod("a"))
        store.compact(99)
        assert (store.compacted, store.revision) == (2, 2)
        store.compact(1)
        assert store.compacted == 2
        assert store.get(pod("a")) is not None


@in_loop
async def test_compaction_survives_a_restart(disk: Disk) -> None:
    async with disk.open() as store:
        for number in range(200):
            await create(store, pod(str(number)))
            await update(store, pod(str(number)))
        store.compact(350)
        expected = store.page(PODS, at=350), store.page(PODS)
    async with disk.open() as store:
        assert store.compacted == 350
        assert (store.page(PODS, at=350), store.page(PODS)) == expected
        assert len(drain(store.watch(PODS, since=350))) == store.revision - 350


@in_loop
async def test_history_costs_the_bodies_that_only_it_keeps(disk: Disk) -> None:
    async with disk.open() as store:
        first = await create(store, pod("a"))
        assert store.superseded_bytes == 0
        second = await update(store, pod("a"))
        last = await delete(store, pod("a"))
        assert store.superseded_bytes == len(first.body + second.body + last.body)
        store.compact(second.revision)
        assert store.superseded_bytes == len(second.body + last.body)
        store.compact(last.revision)
        assert store.superseded_bytes == 0


@in_loop
async def test_a_resource_without_objects_or_history_leaves_nothing(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, Key("widgets.example.com", "", "w"))
        await delete(store, Key("widgets.example.com", "", "w"))
        store.compact(store.revision)
        assert not store._model._tables


HISTORY = History(compacted=100, revision=1100, superseded_bytes=5_000)


@pytest.mark.parametrize(
    ("retention", "aged", "expected"),
    [
        (Retention(events=5000, bytes=9_999), 0, 100),
        (Retention(events=400, bytes=9_999), 0, 700),
        (Retention(events=5000, bytes=9_999), 300, 300),
        (Retention(events=400, bytes=9_999), 800, 800),
        (Retention(events=5000, bytes=4_999), 0, 600),
        (Retention(events=5000, bytes=5_000), 0, 100),
        (Retention(events=5000, bytes=9_999), 50, 100),
    ],
)
def test_whichever_limit_is_reached_first_decides(retention: Retention, aged: int, expected: int) -> None:
    assert decide_compaction(retention, HISTORY, aged) == expected


def test_too_many_bytes_end_even_in_a_history_of_one_event() -> None:
    assert decide_compaction(Retention(bytes=0), History(7, 8, 10), aged=0) == 8


def test_age_is_judged_by_the_newest_mark_that_is_old_enough() -> None:
    marks = AgeMarks()
    assert marks.newest_before(100.0) == 0
    for moment, revision in ((10.0, 5), (20.0, 9), (30.0, 12)):
        marks.note(moment, revision)
    assert [marks.newest_before(moment) for moment in (9.0, 10.0, 19.0, 25.0, 30.0, 99.0)] == [0, 5, 5, 9, 12, 12]


def test_the_loop_compacts_by_the_clock_it_is_given_until_the_store_ends() -> None:
    async def story() -> None:
        store = memory_disk().open()
        compacting = asyncio.ensure_future(keep_compacting(store, Retention(seconds=60), every=5))
        await create(store, pod("a"))
        await asyncio.sleep(59)
        assert store.compacted == 1
        await create(store, pod("b"))
        await asyncio.sleep(10)
        assert store.compacted == 2
        await asyncio.sleep(60)
        assert store.compacted == 3
        await store.close()
        await compacting

    assert run_in_virtual_time(story()) == 130.0
