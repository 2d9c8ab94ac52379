"""What the recorder writes down while a store lives, dies and comes back."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliostat.embedded.history.ledger import MOST_MOMENTS, Ledger, Version, read_gone, read_timeline
from heliostat.embedded.history.recorder import LEDGER, HistoryOptions, Recorder, keep_history
from heliostat.embedded.history.retention import Limits
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.records import Facts
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store

PODS = "pods"


def build_body(name: str, phase: str) -> bytes:
    tree = {"kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "status": {"phase": phase}}
    return msgspec.json.encode(tree)


def version(name: str, phase: str) -> Version:
    return Version(Key(PODS, "default", name), name, build_body(name, phase))


class World:
    """A store with Pods whose uid is their name, and the history of it in a directory."""

    def __init__(self, store: Store, ledger: Path) -> None:
        self.store = store
        self.ledger = ledger

    async def put(self, name: str, phase: str, resource: str = PODS) -> None:
        key, body = Key(resource, "default", name), build_body(name, phase)
        found = self.store.get(key)
        if found is None:
            await self.store.create(key, Facts(name), lambda _revision: body)
        else:
            await self.store.update(key, Facts(name), lambda _revision: body, expected=found.revision)

    async def delete(self, name: str) -> None:
        await self.store.delete(Key(PODS, "default", name), lambda _revision, record: record.body)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not is_so():
                await asyncio.sleep(0.005)

    async def until_gone(self, *names: str) -> None:
        await self.until(lambda: {*names} <= {gone.key.name for gone in read_gone(self.ledger)})

    async def until_uid_gone(self, uid: str) -> None:
        await self.until(lambda: uid in {gone.uid for gone in read_gone(self.ledger)})

    async def until_phases(self, uid: str, *phases: str) -> None:
        await self.until(lambda: self.phases(uid) == [*phases])

    def phases(self, uid: str) -> list[str]:
        return [moment.facts.get("phase", "") for moment in read_timeline(self.ledger, uid)]


@asynccontextmanager
async def remembered(directory: Path, *, in_memory: bool = False, records: bool = True) -> AsyncIterator[World]:
    journal = MemoryJournal() if in_memory else SqliteJournal(directory / "state.db", "NORMAL")
    options = HistoryOptions(directory=directory, resources=(PODS,), has_same_store=not in_memory)
    problems: list[BaseException] = []
    async with Store(journal) as store:
        keeping = asyncio.create_task(keep_history(store, options, on_problem=problems.append)) if records else None
        try:
            yield World(store, directory / LEDGER)
        finally:
            if keeping is not None:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
    assert problems == []


def test_an_object_that_is_gone_is_remembered_as_it_was_last(tmp_path: Path) -> None:
    async def scene() -> None:
        async with remembered(tmp_path) as world:
            for phase in ("Pending", "Running", "Running", "Failed"):
                await world.put("a", phase)
            await world.put("b", "Running")
            await world.put("c", "Running", resource="secrets")
            await world.delete("a")
            await world.until_gone("a")
            assert world.phases("a") == ["Pending", "Running", "Failed"]
            (gone,) = read_gone(world.ledger)
            assert (gone.key, gone.uid) == (Key(PODS, "default", "a"), "a")
            assert gone.tree["status"] == {"phase": "Failed"}

    asyncio.run(scene())


def test_a_name_that_is_used_again_is_another_object(tmp_path: Path) -> None:
    async def scene() -> None:
        async with remembered(tmp_path) as world:
            for uid in ("first", "second"):
                key = Key(PODS, "default", "a")
                await world.store.create(key, Facts(uid), lambda _revision: build_body("a", "Running"))
                await world.delete("a")
                await world.until_uid_gone(uid)
            assert [gone.uid for gone in read_gone(world.ledger)] == ["second", "first"]

    asyncio.run(scene())


def test_what_happened_while_nobody_wrote_it_down_is_caught_up_with(tmp_path: Path) -> None:
    async def scene() -> None:
        async with remembered(tmp_path) as world:
            await world.put("a", "Pending")
            await world.until_phases("a", "Pending")
        async with remembered(tmp_path, records=False) as world:
            await world.put("a", "Running")
            await world.put("brief", "Running")
            await world.delete("brief")
            await world.delete("a")
        async with remembered(tmp_path) as world:
            await world.until_gone("a", "brief")
            assert world.phases("a") == ["Pending", "Running"]
            assert world.phases("brief") == ["Running"]

    asyncio.run(scene())


@pytest.mark.parametrize("in_memory", [False, True], ids=["compacted meanwhile", "another store"])
def test_where_the_past_cannot_be_read_what_is_missing_is_gone(tmp_path: Path, *, in_memory: bool) -> None:
    async def scene() -> None:
        async with remembered(tmp_path, in_memory=in_memory) as world:
            for name in ("gone", "stays"):
                await world.put(name, "Running")
                await world.until_phases(name, "Running")
        async with remembered(tmp_path, in_memory=in_memory, records=False) as world:
            if not in_memory:
                await world.delete("gone")
                await world.put("other", "Running")
                world.store.compact(world.store.revision)
        async with remembered(tmp_path, in_memory=in_memory) as world:
            await world.until_gone("gone")
            gone = {each.key.name: each.tree["status"]["phase"] for each in read_gone(world.ledger)}
            assert gone == {"gone": "Running"} | ({"stays": "Running"} if in_memory else {})

    asyncio.run(scene())


def test_a_place_that_cannot_be_written_is_told_and_tried_again(tmp_path: Path) -> None:
    in_the_way = tmp_path / "history"
    in_the_way.write_text("a file")

    async def scene() -> list[BaseException]:
        problems: list[BaseException] = []
        async with Store(MemoryJournal()) as store:
            options = HistoryOptions(directory=in_the_way, resources=(PODS,))
            keeping = asyncio.create_task(keep_history(store, options, on_problem=problems.append, again=0.01))
            world = World(store, in_the_way / LEDGER)
            await world.until(lambda: bool(problems))
            in_the_way.unlink()
            await world.put("a", "Running")
            await world.until_phases("a", "Running")
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        return problems

    assert all(isinstance(problem, OSError) for problem in asyncio.run(scene()))


def test_the_recorder_ends_with_the_store(tmp_path: Path) -> None:
    async def scene() -> None:
        store = Store(MemoryJournal())
        options = HistoryOptions(directory=tmp_path, resources=(PODS, "services"))
        recorder = Recorder(store, options, on_problem=lambda error: pytest.fail(str(error)))
        running = asyncio.create_task(recorder.run())
        await asyncio.sleep(0)
        await store.close()
        async with asyncio.timeout(10):
            await running

    asyncio.run(scene())


# the ledger


def write(ledger: Ledger, *steps: tuple[str, Version], now: float = 0.0) -> None:
    for number, (what, each) in enumerate(steps):
        with ledger.writing(PODS, number):
            (ledger.end if what == "end" else ledger.note)(each, now)


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    Ledger(tmp_path / "deep" / LEDGER).close()
    assert [(tmp_path / "deep" / part).stat().st_mode & 0o777 for part in ("", LEDGER)] == [0o700, 0o600]


def test_what_cannot_be_written_as_a_whole_is_not_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / LEDGER)
    torn = Version(Key(PODS, "default", "b"), "b", b"{torn")

    def write_both() -> None:
        with ledger.writing(PODS, 7):
            ledger.note(version("a", "Running"), 0.0)
            ledger.note(torn, 0.0)

    with pytest.raises(msgspec.DecodeError):
        write_both()
    assert (ledger.place(PODS), ledger.living(PODS)) == (-1, {})
    write(ledger, ("note", version("a", "Running")))
    assert list(ledger.living(PODS)) == ["a"]
    ledger.close()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""], ids=["damaged", "empty"])
def test_a_file_that_is_no_ledger_is_put_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LEDGER).write_bytes(content)
    ledger = Ledger(tmp_path / LEDGER)
    write(ledger, ("end", version("a", "Running")))
    ledger.close()
    assert [gone.key.name for gone in read_gone(tmp_path / LEDGER)] == ["a"]
    assert (tmp_path / f"{LEDGER}.unreadable").exists() == bool(content)


def test_a_ledger_of_another_version_is_put_aside(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / LEDGER)
    other.execute("PRAGMA user_version = 99")
    other.close()
    Ledger(tmp_path / LEDGER).close()
    assert (tmp_path / f"{LEDGER}.unreadable").exists()


def test_the_oldest_moments_of_a_restless_object_are_dropped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / LEDGER)
    phases = [f"phase-{number}" for number in range(MOST_MOMENTS + 5)]
    with ledger.writing(PODS, 1):
        for phase in phases:
            ledger.note(version("a", phase), 0.0)
    ledger.close()
    moments = read_timeline(tmp_path / LEDGER, "a")
    assert [moment.facts["phase"] for moment in moments] == phases[5:]


def test_what_is_too_old_is_forgotten_and_what_lives_never(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / LEDGER)
    write(ledger, ("end", version("old", "Failed")), ("note", version("living", "Running")), now=0.0)
    write(ledger, ("end", version("new", "Failed")), now=90.0)
    assert ledger.forget(150.0, Limits(seconds=100.0, size=1_000_000)) == 1
    assert [gone.uid for gone in read_gone(tmp_path / LEDGER)] == ["new"]
    assert read_timeline(tmp_path / LEDGER, "old") == []
    assert list(ledger.living(PODS)) == ["living"]
    ledger.close()


Steps = list[tuple[str, str, str]]
steps = st.lists(
    st.tuples(st.sampled_from(("note", "end")), st.sampled_from("abc"), st.sampled_from(("Pending", "Running"))),
    max_size=20,
)


@settings(max_examples=25, deadline=None)
@given(steps, st.integers(0, 20))
def test_a_ledger_that_is_opened_again_goes_on_as_if_nothing_had_been(
    tmp_path_factory: pytest.TempPathFactory, given_steps: Steps, cut: int
) -> None:
    """Written in one life or in two, it tells the same."""
    told: list[Any] = []
    for parts in ([given_steps], [given_steps[:cut], given_steps[cut:]]):
        path, ended = tmp_path_factory.mktemp("ledger") / LEDGER, set()
        for part in parts:
            ledger = Ledger(path)
            for number, (what, name, phase) in enumerate(part):
                if name not in ended:
                    write(ledger, (what, version(name, phase)), now=float(number))
                    ended |= {name} if what == "end" else set()
            ledger.close()
        told.append(([gone.tree for gone in sorted(read_gone(path), key=lambda gone: gone.uid)], _facts(path)))
    assert told[0] == told[1]


def _facts(path: Path) -> dict[str, list[dict[str, str]]]:
    return {name: [moment.facts for moment in read_timeline(path, name)] for name in "abc"}
