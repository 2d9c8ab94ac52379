"""Watches: what they deliver, from where, and what becomes of slow ones."""

import asyncio

import pytest

from embedded.storage.stores import Disk, create, delete, drain, in_loop, pod, update
from heliostat.embedded.storage.errors import ClosedError, CompactedError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event

PODS = Scope("pods")


def told(events: list[Event]) -> list[tuple[int, str, str]]:
    return [(event.revision, event.kind, event.record.key.name) for event in events]


@in_loop
async def test_a_watch_replays_history_and_goes_on_live(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, pod("a"))
        watch = store.watch(PODS, since=1)
        await update(store, pod("a"))
        assert told(await watch.take()) == [(2, "CREATED", "a"), (3, "UPDATED", "a")]
        await delete(store, pod("a"))
        assert told(await watch.take()) == [(4, "DELETED", "a")]


@in_loop
async def test_a_waiting_watch_is_woken_by_the_write(disk: Disk) -> None:
    async with disk.open() as store:
        watch = store.watch(PODS, since=store.revision)
        taking = asyncio.ensure_future(watch.take())
        await asyncio.sleep(0)
        await create(store, pod("a"))
        assert told(await taking) == [(2, "CREATED", "a")]


@in_loop
async def test_events_carry_what_they_replaced(disk: Disk) -> None:
    async with disk.open() as store:
        watch = store.watch(PODS, since=1)
        first = await create(store, pod("a"))
        second = await update(store, pod("a"))
        last = await delete(store, pod("a"))
        again = await create(store, pod("a"))
        pairs = [(event.record, event.previous) for event in drain(watch)]
        assert pairs == [(first, None), (second, first), (last, second), (again, None)]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope("pods"), ["a/x", "a/y", "b/x"]),
        (Scope("pods", "a"), ["a/x", "a/y"]),
        (Scope("pods", "a", "x"), ["a/x"]),
        (Scope("pods", "", "x"), ["a/x", "b/x"]),
        (Scope("nodes"), ["x"]),
        (Scope("nodes", "", "x"), ["x"]),
        (Scope("nodes", "", "y"), []),
    ],
)
@in_loop
async def test_a_watch_is_told_of_its_scope_only_and_once(disk: Disk, scope: Scope, expected: list[str]) -> None:
    async with disk.open() as store:
        live = store.watch(scope, since=1)
        assert live.take_ready() == []
        for key in (Key("pods", "a", "x"), Key("pods", "a", "y"), Key("nodes", "", "x"), Key("pods", "b", "x")):
            await create(store, key)
        replayed = store.watch(scope, since=1)
        for watch in (live, replayed):
            assert [event.record.key.path for event in drain(watch)] == expected


@in_loop
async def test_a_watch_resumes_after_any_event_without_gap_or_repetition(disk: Disk) -> None:
    async with disk.open() as store:
        for number in range(10):
            await create(store, pod(str(number)))
        everything = drain(store.watch(PODS, since=1))
        assert [event.revision for event in everything] == list(range(2, 12))
        for event in everything:
            assert drain(store.watch(PODS, since=event.revision)) == everything[event.revision - 1 :]


@in_loop
async def test_a_watch_resumes_over_a_restart(disk: Disk) -> None:
    async with disk.open() as store:
        await create(store, pod("a"))
        await update(store, pod("a"))
        await delete(store, pod("a"))
        seen = drain(store.watch(PODS, since=1))
    async with disk.open() as store:
        await create(store, pod("b"))
        resumed = drain(store.watch(PODS, since=seen[0].revision))
        assert resumed[:2] == seen[1:]
        assert told(resumed[2:]) == [(5, "CREATED", "b")]


@in_loop
async def test_a_watch_from_a_revision_still_to_come_waits_for_what_is_after_it(disk: Disk) -> None:
    async with disk.open() as store:
        watch = store.watch(PODS, since=3)
        taking = asyncio.ensure_future(watch.take())
        for name in "abc":
            await create(store, pod(name))
        assert told(await taking) == [(4, "CREATED", "c")]


@in_loop
async def test_a_watch_takes_no_more_than_it_asked_for(disk: Disk) -> None:
    async with disk.open() as store:
        for number in range(5):
            await create(store, pod(str(number)))
        watch = store.watch(PODS, since=1)
        sizes = [len(watch.take_ready(2)) for _ in range(4)]
        assert sizes == [2, 2, 1, 0]


@in_loop
async def test_a_cancelled_take_loses_no_event(disk: Disk) -> None:
    async with disk.open() as store:
        watch = store.watch(PODS, since=1)
        taking = asyncio.ensure_future(watch.take())
        await asyncio.sleep(0)
        await create(store, pod("a"))  # on a journal without delay the reader is woken, but has not run yet
        taking.cancel()
        outcome = (await asyncio.gather(taking, return_exceptions=True))[0]
        taken = outcome if isinstance(outcome, list) else []
        assert told(taken + drain(watch)) == [(2, "CREATED", "a")]


@in_loop
async def test_progress_names_a_revision_up_to_which_everything_was_handed_out(disk: Disk) -> None:
    async with disk.open() as store:
        watch = store.watch(PODS, since=1)
        assert watch.progress == 1
        await create(store, Key("nodes", "", "n"))
        assert watch.progress == 2  # nothing of the scope was missed
        await create(store, pod("a"))
        await create(store, pod("b"))
        assert watch.progress == 2
        assert watch.take_ready(1)[0].revision == 3
        assert watch.progress == 3
        assert watch.take_ready(2)[0].revision == 4
        await create(store, Key("nodes", "", "m"))
        assert watch.progress == store.revision == 5


@in_loop
async def test_a_list_and_a_watch_from_its_revision_miss_nothing(disk: Disk) -> None:
    async with disk.open() as store:

        async def write() -> None:
            for number in range(50):
                await create(store, pod(str(number)))

        writing = asyncio.ensure_future(write())
        await store.wait_for(20)
        page = store.page(PODS)
        watch = store.watch(PODS, since=page.revision)
        await writing
        seen = [record.key.name for record in page.records] + [event.record.key.name for event in drain(watch)]
        assert sorted(seen) == sorted(map(str, range(50)))


@in_loop
async def test_a_slow_watch_delays_nobody_and_is_cut_off_when_history_has_passed_it(disk: Disk) -> None:
    async with disk.open() as store:
        slow, quick = store.watch(PODS, since=1), store.watch(PODS, since=1)
        for number in range(200):
            await create(store, pod(str(number)))
            assert quick.take_ready()[0].revision == store.revision
        store.compact(store.revision - 10)
        with pytest.raises(CompactedError) as caught:
            slow.take_ready()
        assert (caught.value.requested, caught.value.oldest) == (1, store.revision - 10)
        await create(store, pod("last"))
        assert len(await quick.take()) == 1


@in_loop
async def test_a_watch_holds_no_events_of_its_own(disk: Disk) -> None:
    async with disk.open() as store:
        slow = store.watch(PODS, since=1)
        for number in range(200):
            await create(store, pod(str(number)))
        assert not any(isinstance(getattr(slow, name), list | dict | set) for name in vars(slow))


@in_loop
async def test_a_quiet_watch_survives_the_compaction_of_what_did_not_concern_it(disk: Disk) -> None:
    async with disk.open() as store:
        quiet = store.watch(Scope("pods", "default", "a"), since=1)
        for number in range(20):
            await create(store, pod(str(number)))
        store.compact(store.revision)
        await create(store, pod("a"))
        assert told(await quiet.take()) == [(22, "CREATED", "a")]


@in_loop
async def test_a_closed_watch_gets_nothing_more_and_leaves_nothing(disk: Disk) -> None:
    async with disk.open() as store:
        watch, other = store.watch(PODS, since=1), store.watch(PODS, since=1)
        taking = asyncio.ensure_future(watch.take())
        await asyncio.sleep(0)
        watch.close()
        with pytest.raises(ClosedError, match="the watch is closed"):
            await taking
        await create(store, pod("a"))
        with pytest.raises(ClosedError):
            watch.take_ready()
        assert len(await other.take()) == 1
        other.close()
        watch.close()
        assert not store._watchers._by_scope


@in_loop
async def test_closing_the_store_ends_every_watch_and_every_wait(disk: Disk) -> None:
    store = disk.open()
    taking = asyncio.ensure_future(store.watch(PODS, since=1).take())
    waiting = asyncio.ensure_future(store.wait_for(99))
    await asyncio.sleep(0)
    await store.close()
    for task in (taking, waiting):
        with pytest.raises(ClosedError, match="the store is closed"):
            await task
    with pytest.raises(ClosedError):
        store.get(pod("a"))
    with pytest.raises(ClosedError):
        await create(store, pod("a"))
    assert isinstance(await store.wait_ended(), ClosedError)
    await store.close()
