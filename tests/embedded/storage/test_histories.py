"""Many clients at once: one order explains what they saw. And the judges of that are judged."""

import asyncio
import hashlib
from collections.abc import Callable
from random import Random

import pytest

from embedded.storage.histories import Bookmark, History, record_history
from embedded.storage.stores import Disk, gated_disk, in_loop
from embedded.storage.validators import complaints
from embedded.storage.virtual_time import run_in_virtual_time
from heliostat.embedded.storage.records import Event

pytestmark = pytest.mark.slow

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
@in_loop
async def test_concurrent_clients_see_one_order(disk: Disk, seed: int) -> None:
    async with disk.open() as store:
        history = await record_history(store, seed)
    assert complaints(history) == []
    assert len(history.writes) > 50
    assert sum(len(session.seen) for session in history.sessions) > 50


def record_in_virtual_time(seed: int) -> History:
    """With commits that take their time, drawn by lot."""
    lot = Random(f"commit/{seed}")  # noqa: S311

    async def slow_commit(revision: int) -> None:
        await asyncio.sleep(lot.random())

    async def story() -> None:
        async with gated_disk(slow_commit).open() as store:
            histories.append(await record_history(store, seed, writes=20, step=0.1))

    histories: list[History] = []
    run_in_virtual_time(story())
    return histories[0]


@pytest.mark.parametrize("seed", range(10))
def test_slow_commits_change_nothing_about_it(seed: int) -> None:
    history = record_in_virtual_time(seed)
    assert complaints(history) == []
    assert len(history.writes) > 30


def test_the_same_seed_gives_the_same_history() -> None:
    traces = {hashlib.sha256(repr(record_in_virtual_time(7)).encode()).hexdigest() for _ in range(3)}
    assert len(traces) == 1


def watched_history() -> History:
    """One good history with a session that saw at least four events and a bookmark after them."""
    history = record_in_virtual_time(1)
    history.sessions = [session for session in history.sessions if _is_rich(session.seen)][:1]
    assert history.sessions
    return history


def _is_rich(seen: list[Event | Bookmark]) -> bool:
    return [type(item) for item in seen].count(Event) >= 4 and isinstance(seen[-1], Bookmark)


def _event_places(history: History) -> list[int]:
    return [place for place, item in enumerate(history.sessions[0].seen) if isinstance(item, Event)]


def lose_an_event(history: History) -> None:
    del history.sessions[0].seen[_event_places(history)[1]]


def lose_the_first_event(history: History) -> None:
    del history.sessions[0].seen[_event_places(history)[0]]


def swap_two_events(history: History) -> None:
    seen, places = history.sessions[0].seen, _event_places(history)
    seen[places[1]], seen[places[2]] = seen[places[2]], seen[places[1]]


def repeat_an_event(history: History) -> None:
    seen, place = history.sessions[0].seen, _event_places(history)[1]
    seen.insert(place, seen[place])


def promise_too_much(history: History) -> None:
    history.sessions[0].seen.insert(0, Bookmark(10**6))


def forget_what_was_replaced(history: History) -> None:
    seen = history.sessions[0].seen
    for place in _event_places(history):
        event = seen[place]
        assert isinstance(event, Event)
        if event.previous is not None:
            seen[place] = Event(event.record, None, event.deleted)
            return
    raise AssertionError("no update was seen")


def reuse_a_revision(history: History) -> None:
    history.writes.append(history.writes[0])


def lose_a_write(history: History) -> None:
    del history.writes[len(history.writes) // 2]


def list_a_stale_state(history: History) -> None:
    newest = max(history.listings, key=lambda listing: listing.revision)
    oldest = next(listing for listing in history.listings if listing.scope == newest.scope)
    assert oldest.records != newest.records
    newest.records[:] = oldest.records


@pytest.mark.parametrize(
    ("spoil", "objector"),
    [
        (lose_an_event, "reliable"),
        (lose_the_first_event, "resumable"),
        (swap_two_events, "ordered"),
        (repeat_an_event, "unique"),
        (promise_too_much, "bookmarkable"),
        (forget_what_was_replaced, "faithful"),
        (reuse_a_revision, "one_total_order"),
        (lose_a_write, "compare_and_swap"),
        (list_a_stale_state, "reads_show_one_state"),
    ],
)
def test_a_spoilt_history_is_objected_to(spoil: Callable[[History], None], objector: str) -> None:
    history = watched_history()
    assert complaints(history) == []
    spoil(history)
    assert any(complaint.startswith(f"{objector}:") for complaint in complaints(history))
