"""Create, compare-and-swap, delete: who wins, what it is told, and in which order."""

import asyncio
import functools

import pytest

from embedded.storage.stores import (
    Disk,
    body,
    create,
    delete,
    facts,
    gated_disk,
    in_loop,
    last_body,
    memory_disk,
    pod,
    until,
    update,
)
from heliostat.embedded.storage.errors import AlreadyExistsError, ConflictError, NotFoundError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Facts


@in_loop
async def test_a_created_object_is_kept_as_the_bytes_made_for_its_revision(disk: Disk) -> None:
    async with disk.open() as store:
        labelled = Facts("uid-a", {"app": "x"}, {"status.phase": "Running"}, ("owner-1", "owner-2"))
        record = await store.create(pod("a"), labelled, body("hello"))
        assert record.body == b'{"rv":"%d","text":"hello"}' % record.revision
        assert store.get(pod("a")) == record
        assert record.facts == labelled


@in_loop
async def test_an_empty_store_is_at_revision_one_because_zero_means_any(disk: Disk) -> None:
    async with disk.open() as store:
        assert store.revision == 1
        assert (await create(store, pod("a"))).revision == 2


@in_loop
async def test_every_mutation_takes_the_next_revision_whatever_its_resource(disk: Disk) -> None:
    async with disk.open() as store:
        node = Key("nodes", "", "n")
        records = [await create(store, pod("a")), await create(store, node), await update(store, pod("a"))]
        records.append(await delete(store, node))
        assert [record.revision for record in records] == [2, 3, 4, 5]
        assert store.revision == 5


@in_loop
async def test_create_refuses_a_taken_key_and_says_what_stands_there(disk: Disk) -> None:
    async with disk.open() as store:
        first = await create(store, pod("a"))
        with pytest.raises(AlreadyExistsError, match="pods default/a: already exists, at revision 2") as caught:
            await create(store, pod("a"))
        assert caught.value.current == first
        assert store.revision == first.revision


@in_loop
async def test_the_same_name_is_free_in_another_namespace_and_resource(disk: Disk) -> None:
    async with disk.open() as store:
        for key in (pod("a"), pod("a", "other"), Key("services", "default", "a"), Key("pods", "", "a")):
            await create(store, key)
        assert store.revision == 5


@in_loop
async def test_update_replaces_the_expected_version_only(disk: Disk) -> None:
    async with disk.open() as store:
        first = await create(store, pod("a"))
        second = await store.update(pod("a"), first.facts, body("two"), expected=first.revision)
        with pytest.raises(ConflictError, match="expected revision 2, found 3") as caught:
            await store.update(pod("a"), first.facts, body("three"), expected=first.revision)
        assert caught.value.current == second
        assert store.get(pod("a")) == second


@in_loop
async def test_update_and_delete_of_a_missing_object_are_not_found(disk: Disk) -> None:
    async with disk.open() as store:
        with pytest.raises(NotFoundError, match="pods default/a: not found"):
            await store.update(pod("a"), facts(), body("x"), expected=1)
        with pytest.raises(NotFoundError):
            await store.delete(pod("a"), last_body)


@in_loop
async def test_a_deleted_object_is_gone_and_its_last_state_carries_the_new_revision(disk: Disk) -> None:
    async with disk.open() as store:
        first = await create(store, pod("a"))
        last = await store.delete(pod("a"), last_body, expected=first.revision, uid=first.facts.uid)
        assert store.get(pod("a")) is None
        assert (last.revision, last.facts) == (first.revision + 1, first.facts)
        assert last.body == b'{"rv":"3","last":"2"}'


@pytest.mark.parametrize(("expected", "uid"), [(1, None), (None, "other"), (2, "other"), (1, "uid-a")])
@in_loop
async def test_delete_keeps_an_object_that_is_not_the_expected_one(
    disk: Disk, expected: int | None, uid: str | None
) -> None:
    async with disk.open() as store:
        first = await create(store, pod("a"))
        with pytest.raises(ConflictError) as caught:
            await store.delete(pod("a"), last_body, expected=expected, uid=uid)
        assert caught.value.current == store.get(pod("a")) == first


@in_loop
async def test_a_recreated_object_is_another_one(disk: Disk) -> None:
    async with disk.open() as store:
        first = await store.create(pod("a"), facts("one"), body("x"))
        await delete(store, pod("a"))
        second = await store.create(pod("a"), facts("two"), body("x"))
        assert second.revision == first.revision + 2
        with pytest.raises(ConflictError):
            await store.delete(pod("a"), last_body, uid="one")


@in_loop
async def test_a_body_that_cannot_be_made_costs_no_revision(disk: Disk) -> None:
    def broken(revision: int) -> bytes:
        raise ValueError("not encodable")

    async with disk.open() as store:
        with pytest.raises(ValueError, match="not encodable"):
            await store.create(pod("a"), facts(), broken)
        assert (await create(store, pod("a"))).revision == 2


@in_loop
async def test_of_many_creates_of_one_key_exactly_one_wins(disk: Disk) -> None:
    async with disk.open() as store:
        attempts = (create(store, pod("a"), str(number)) for number in range(20))
        results = await asyncio.gather(*attempts, return_exceptions=True)
        winners = [result for result in results if not isinstance(result, AlreadyExistsError)]
        assert winners == [store.get(pod("a"))]


@in_loop
async def test_concurrent_compare_and_swap_loops_lose_no_increment(disk: Disk) -> None:
    async with disk.open() as store:
        await store.create(pod("counter"), facts(), lambda _: b"0")

        async def increment() -> None:
            while (current := store.get(pod("counter"))) is not None:
                value = b"%d" % (int(current.body) + 1)
                try:
                    await store.update(
                        pod("counter"), facts(), functools.partial(_return, value), expected=current.revision
                    )
                except ConflictError:
                    continue
                return

        await asyncio.gather(*(increment() for _ in range(30)))
        counter = store.get(pod("counter"))
        assert counter is not None
        assert counter.body == b"30"


def _return(value: bytes, revision: int) -> bytes:
    return value


class Gate:
    """Holds every commit back until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.asked: list[int] = []

    async def __call__(self, revision: int) -> None:
        self.asked.append(revision)
        await self.opened.wait()

    def open_once(self) -> None:
        """For those who wait now, not for who comes next."""
        self.opened.set()
        self.opened.clear()


@in_loop
async def test_nobody_sees_a_write_before_its_commit() -> None:
    gate = Gate()
    async with gated_disk(gate).open() as store:
        writing = asyncio.ensure_future(create(store, pod("a")))
        await until(lambda: bool(gate.asked))
        assert (store.get(pod("a")), store.revision, writing.done()) == (None, 1, False)
        gate.opened.set()
        assert await writing == store.get(pod("a"))


@in_loop
async def test_writes_that_arrive_during_a_commit_share_the_next_one() -> None:
    gate = Gate()
    async with gated_disk(gate).open() as store:
        writes = [asyncio.ensure_future(create(store, pod("first")))]
        await until(lambda: gate.asked == [2])
        writes += [asyncio.ensure_future(create(store, pod(str(number)))) for number in range(5)]
        await asyncio.sleep(0)
        gate.opened.set()
        await asyncio.gather(*writes)
        assert gate.asked == [2, 7]


@in_loop
async def test_a_refusal_waits_for_the_commit_it_rests_on() -> None:
    """Otherwise a crash could undo the very write that was named as the reason."""
    gate = Gate()
    async with gated_disk(gate).open() as store:
        writing = asyncio.ensure_future(create(store, pod("a")))
        await until(lambda: bool(gate.asked))
        refused = [
            asyncio.ensure_future(create(store, pod("a"))),
            asyncio.ensure_future(store.update(pod("a"), facts(), body("x"), expected=1)),
            asyncio.ensure_future(store.delete(pod("a"), last_body, uid="other")),
        ]
        await asyncio.sleep(0)
        assert not any(attempt.done() for attempt in refused)
        gate.opened.set()
        await writing
        outcomes = await asyncio.gather(*refused, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [AlreadyExistsError, ConflictError, ConflictError]


@in_loop
async def test_a_write_may_build_on_one_that_is_not_durable_yet() -> None:
    gate = Gate()
    async with gated_disk(gate).open() as store:
        steps = [asyncio.ensure_future(create(store, pod("a")))]
        await until(lambda: bool(gate.asked))
        steps.append(asyncio.ensure_future(store.update(pod("a"), facts(), body("x"), expected=2)))
        await asyncio.sleep(0)
        steps.append(asyncio.ensure_future(delete(store, pod("a"))))
        await asyncio.sleep(0)
        steps.append(asyncio.ensure_future(create(store, pod("a"))))
        await asyncio.sleep(0)
        gate.opened.set()
        assert [record.revision for record in await asyncio.gather(*steps)] == [2, 3, 4, 5]


@in_loop
async def test_a_write_is_judged_against_the_last_accepted_one_although_an_earlier_one_became_durable() -> None:
    gate = Gate()
    async with gated_disk(gate).open() as store:
        first = asyncio.ensure_future(create(store, pod("a")))
        await until(lambda: gate.asked == [2])
        second = asyncio.ensure_future(store.update(pod("a"), facts(), body("x"), expected=2))
        await asyncio.sleep(0)
        gate.open_once()
        await first
        await until(lambda: gate.asked == [2, 3])  # the second is accepted, but not durable
        late = asyncio.ensure_future(store.update(pod("a"), facts(), body("y"), expected=2))
        await asyncio.sleep(0)
        gate.opened.set()
        with pytest.raises(ConflictError, match="expected revision 2, found 3"):
            await late
        assert store.get(pod("a")) == await second


@in_loop
async def test_a_cancelled_write_still_happens_and_blocks_nobody() -> None:
    gate = Gate()
    async with gated_disk(gate).open() as store:
        writing = asyncio.ensure_future(create(store, pod("a")))
        await until(lambda: bool(gate.asked))
        writing.cancel()
        gate.opened.set()
        await create(store, pod("b"))
        assert store.get(pod("a")) is not None


@in_loop
async def test_waiting_for_a_revision_ends_when_it_is_visible(disk: Disk) -> None:
    async with disk.open() as store:
        waiting = asyncio.ensure_future(store.wait_for(3))
        await create(store, pod("a"))
        assert not waiting.done()
        await create(store, pod("b"))
        await waiting
        await store.wait_for(2)


@in_loop
async def test_waiting_for_a_revision_that_never_comes_ends_at_the_callers_deadline_and_leaves_nothing(
    disk: Disk,
) -> None:
    async with disk.open() as store:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await store.wait_for(10**15)
        assert not store._waiters._waiting


@in_loop
async def test_a_crash_loses_only_what_was_not_committed() -> None:
    gate = Gate()
    disk = gated_disk(gate)
    crashed = disk.open()
    gate.opened.set()
    await create(crashed, pod("durable"))
    gate.opened.clear()
    lost = asyncio.ensure_future(create(crashed, pod("lost")))
    await until(lambda: len(gate.asked) == 2)
    store = disk.open()
    gate.opened.set()
    assert [record.key.name for record in store.page(Scope("pods")).records] == ["durable"]
    assert (await create(store, pod("next"))).revision == 3
    assert not lost.done()
    lost.cancel()
    await store.close()


@in_loop
async def test_the_memory_journal_starts_no_task_and_no_thread_for_a_write() -> None:
    async with memory_disk().open() as store:
        before = asyncio.all_tasks()
        writing = create(store, pod("a"))
        with pytest.raises(StopIteration):
            writing.send(None)  # it ends without a single pause
        assert asyncio.all_tasks() == before
