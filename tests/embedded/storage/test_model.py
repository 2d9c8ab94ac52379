"""The store against the simplest model of it: every state it ever had, written down whole."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Struct

from embedded.storage.stores import Disk, body, drain, facts, last_body, memory_disk, sqlite_disk
from heliostat.embedded.storage.errors import (
    AlreadyExistsError,
    CompactedError,
    ConflictError,
    FutureRevisionError,
    NotFoundError,
)
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.store import Store
from heliostat.embedded.storage.subscription import Subscription

pytestmark = pytest.mark.slow

NAMESPACES = ["a", "a-b", "b"]
KEYS = st.builds(Key, st.just("pods"), st.sampled_from(NAMESPACES), st.sampled_from("xyz")) | st.builds(
    Key, st.just("nodes"), st.just(""), st.sampled_from("xy")
)
SCOPES = st.builds(
    Scope, st.just("pods"), st.sampled_from(["", *NAMESPACES]), st.sampled_from(["", "x", "z"])
) | st.builds(Scope, st.just("nodes"), st.just(""), st.sampled_from(["", "x"]))
STEPS_BACK = st.integers(-2, 12)


class Watching(Struct):
    watch: Subscription
    place: int


class StoreAgainstModel(RuleBasedStateMachine):
    disk: Disk

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.disk = self.new_disk()
        self.states: dict[int, dict[Key, Record]] = {1: {}}  # by revision
        self.events: list[Event] = []
        self.compacted = 1
        self.watching: list[Watching] = []
        self.reopen()

    def new_disk(self) -> Disk:
        return memory_disk()

    def reopen(self) -> None:
        async def open_store() -> Store:
            return self.disk.open()

        self.store = self.loop.run_until_complete(open_store())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.loop.run_until_complete(self.store.close())
            self.loop.close()

    @property
    def revision(self) -> int:
        return max(self.states)

    @property
    def present(self) -> dict[Key, Record]:
        return self.states[self.revision]

    def note(self, record: Record, deleted: bool = False) -> None:
        assert record.revision == self.revision + 1
        state = dict(self.present)
        self.events.append(Event(record, state.pop(record.key, None), deleted))
        self.states[record.revision] = state if deleted else state | {record.key: record}

    @rule(key=KEYS, label=st.sampled_from("pq"))
    def create(self, key: Key, label: str) -> None:
        writing = self.store.create(key, facts(f"uid-{self.revision}", app=label), body(label))
        if key in self.present:
            with pytest.raises(AlreadyExistsError):
                self.loop.run_until_complete(writing)
        else:
            self.note(self.loop.run_until_complete(writing))

    @rule(key=KEYS, wrong_by=st.sampled_from([0, 0, 0, 1, -1]))
    def update(self, key: Key, wrong_by: int) -> None:
        current = self.present.get(key)
        expected = (current.revision if current else self.revision) + wrong_by
        writing = self.store.update(key, current.facts if current else facts(), body("new"), expected=expected)
        if current is None or wrong_by:
            with pytest.raises(NotFoundError if current is None else ConflictError):
                self.loop.run_until_complete(writing)
        else:
            self.note(self.loop.run_until_complete(writing))

    @rule(key=KEYS, other_uid=st.sampled_from([False, False, True]))
    def delete(self, key: Key, other_uid: bool) -> None:
        current = self.present.get(key)
        uid = "other" if current is None or other_uid else current.facts.uid
        writing = self.store.delete(key, last_body, uid=uid)
        if current is None or other_uid:
            with pytest.raises(NotFoundError if current is None else ConflictError):
                self.loop.run_until_complete(writing)
        else:
            self.note(self.loop.run_until_complete(writing), deleted=True)

    @rule(scope=SCOPES, back=STEPS_BACK, limit=st.integers(1, 4))
    def list_in_pages(self, scope: Scope, back: int, limit: int) -> None:
        at = self.revision - back
        if at < self.compacted or at > self.revision:
            with pytest.raises(CompactedError if at < self.compacted else FutureRevisionError):
                self.store.page(scope, at=at)
            return
        expected = [
            record
            for _, record in sorted((record.key.path, record) for record in self.states[at].values())
            if scope.covers(record.key)
        ]
        assert self.store.page(scope, at=at).records == expected
        after, listed = None, []
        while True:
            page = self.store.page(scope, at=at, after=after, limit=limit)
            listed += page.records
            after = page.after
            if not scope.name:
                assert page.remaining == len(expected) - len(listed)
            if after is None:
                break
        assert listed == expected

    @rule(scope=SCOPES)
    def count(self, scope: Scope) -> None:
        assert self.store.count(scope) == sum(1 for key in self.present if scope.covers(key))

    @rule(scope=SCOPES, back=STEPS_BACK)
    def watch(self, scope: Scope, back: int) -> None:
        since = self.revision - back
        if since < self.compacted:
            with pytest.raises(CompactedError):
                self.store.watch(scope, since)
        else:
            self.watching.append(Watching(self.store.watch(scope, since), since))

    @precondition(lambda self: self.watching)
    @rule(data=st.data(), limit=st.integers(1, 3))
    def take(self, data: st.DataObject, limit: int) -> None:
        watching = data.draw(st.sampled_from(self.watching))
        scope = watching.watch.scope
        due = [event for event in self.events if event.revision > watching.place and scope.covers(event.record.key)]
        try:
            taken = watching.watch.take_ready(limit)
        except CompactedError:
            assert watching.place < self.compacted
            self.watching.remove(watching)
            return
        assert taken == due[:limit]
        if taken:
            watching.place = taken[-1].revision
        # A bookmark may name a revision only if nothing up to it is still due.
        assert all(event.revision > watching.watch.progress for event in due[len(taken) :])

    @rule(back=st.integers(0, 6))
    def compact(self, back: int) -> None:
        self.store.compact(self.revision - back)
        self.compacted = max(self.compacted, self.revision - back)

    @rule()
    def restart(self) -> None:
        self.loop.run_until_complete(self.store.close())
        self.watching.clear()
        self.reopen()
        kept = [event for event in self.events if event.revision > self.compacted]
        for resource in ("pods", "nodes"):
            of_resource = [event for event in kept if event.record.key.resource == resource]
            assert drain(self.store.watch(Scope(resource), self.compacted)) == of_resource

    @invariant()
    def the_present_is_that_of_the_model(self) -> None:
        if hasattr(self, "store"):
            assert (self.store.revision, self.store.compacted) == (self.revision, self.compacted)
            for key, record in self.present.items():
                assert self.store.get(key) == record


class SqliteAgainstModel(StoreAgainstModel):
    def new_disk(self) -> Disk:
        self.directory = Path(tempfile.mkdtemp())
        return sqlite_disk(self.directory)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)


# More of them with HELIOSTAT_EXAMPLES.
EXAMPLES = int(os.environ.get("HELIOSTAT_EXAMPLES", "100"))

TestMemory = StoreAgainstModel.TestCase
TestMemory.settings = settings(max_examples=EXAMPLES, stateful_step_count=50, deadline=None)
TestSqlite = SqliteAgainstModel.TestCase
TestSqlite.settings = settings(max_examples=EXAMPLES // 4, stateful_step_count=40, deadline=None)
