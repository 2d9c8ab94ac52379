"""``kill -9`` at any instant: what was acknowledged is there, nothing is half there, no revision comes twice.

Ten kills; more with HELIOSTAT_KILLS.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from threading import Timer

from msgspec import Struct, field

from embedded.storage import kill_writer
from embedded.storage.kill_writer import WORKERS, Operation
from embedded.storage.stores import DEADLINE_SECONDS, drain, sqlite_disk
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.store import Store

KILLS = int(os.environ.get("HELIOSTAT_KILLS", "10"))
THINGS = Scope("things")


class Known(Struct):
    """What the judge knows: of every worker its last operation that happened, and of all the newest revision."""

    last: list[int] = field(default_factory=lambda: [-1] * WORKERS)
    revision: int = 1
    acknowledged: dict[int, Operation] = field(default_factory=dict)  # of the run just killed


def run_and_kill(path: Path, known: Known, after: int) -> None:
    """Let the writers work until so many acknowledgements have come, then kill them."""
    firsts = ",".join(str(number + 1) for number in known.last)
    command = [sys.executable, kill_writer.__file__, str(path), firsts]
    known.acknowledged = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        deadline = Timer(DEADLINE_SECONDS, process.kill)
        deadline.start()
        for line in process.stdout:
            revision, worker, number = map(int, line.split())
            assert revision not in known.acknowledged
            known.acknowledged[revision] = Operation(worker, number)
            if len(known.acknowledged) == after:
                process.kill()  # the lines already in the pipe are still read: they were acknowledged too
        deadline.cancel()
    assert len(known.acknowledged) >= after, "the writer stopped before it was killed"


def judge(store: Store, known: Known) -> None:
    assert min(known.acknowledged) > known.revision, "a revision was given out twice"
    assert store.revision >= max(known.acknowledged), "the revision went back"
    for operation in known.acknowledged.values():
        known.last[operation.worker] = max(known.last[operation.worker], operation.number)
    events = drain(store.watch(THINGS, since=store.compacted))
    judge_history(events, known, store)
    judge_state(store, known)
    known.revision = store.revision


def judge_history(events: list[Event], known: Known, store: Store) -> None:
    """Every event kept is an acknowledged one, or the one its worker had under way when it was killed."""
    assert [event.revision for event in events] == list(range(store.compacted + 1, store.revision + 1))
    for event in events:
        operation = known.acknowledged.get(event.revision)
        if operation is None and event.revision > known.revision:
            operation = Operation(*map(int, event.record.body.split()[1:3]))
            assert operation.number == known.last[operation.worker] + 1, "neither acknowledged nor under way"
            known.last[operation.worker] += 1
        if operation is not None:
            assert event.record.body == operation.build_body(event.revision)
            assert event.kind[0] == operation.verb[0].upper()


def judge_state(store: Store, known: Known) -> None:
    expected: dict[Key, Operation] = {}
    for worker, last in enumerate(known.last):
        for number in range(max(0, last - kill_writer.KEYS_EACH + 1), last + 1):
            operation = Operation(worker, number)
            if operation.verb != "delete":
                expected[operation.key] = operation
    found = {record.key: payload_of(record) for record in store.page(THINGS).records}
    assert found == expected


def payload_of(record: Record) -> Operation:
    revision, worker, number = map(int, record.body.split()[:3])
    assert revision == record.revision
    return Operation(worker, number)


async def restart_and_judge(directory: Path, known: Known) -> None:
    async with sqlite_disk(directory).open() as store:
        judge(store, known)


def test_kill_9_at_any_instant_loses_nothing_acknowledged(tmp_path: Path) -> None:
    lot = Random("kill")  # noqa: S311
    known = Known()
    for _ in range(KILLS):
        after = lot.choice([lot.randint(1, 5), lot.randint(5, 100), lot.randint(100, 800)])
        run_and_kill(tmp_path / "store.db", known, after)
        asyncio.run(restart_and_judge(tmp_path, known))
