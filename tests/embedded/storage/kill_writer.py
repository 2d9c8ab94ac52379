"""A process made to be killed: writes known payloads as fast as it can and says of each when it was acknowledged.

Run as ``kill_writer.py FILE FIRST,FIRST,...``: each worker counts its operations from its FIRST on. A line is written
per acknowledgement, unbuffered: ``revision worker number``. What an operation does follows from its number alone, given
that all before it happened, so the judge knows every payload.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Facts, Record
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store

WORKERS = 8
KEYS_EACH = 3
PADDING = b"." * 2000
Verb: TypeAlias = Literal["create", "update", "delete"]


class Operation(Struct, frozen=True):
    worker: int
    number: int

    @property
    def key(self) -> Key:
        return Key("things", f"worker-{self.worker}", f"thing-{self.number % KEYS_EACH}")

    @property
    def verb(self) -> Verb:
        """Each key in turn: made, changed twice, removed."""
        verbs: tuple[Verb, ...] = ("create", "update", "update", "delete")
        return verbs[self.number // KEYS_EACH % 4]

    def build_body(self, revision: int) -> bytes:
        return b"%d %d %d " % (revision, self.worker, self.number) + PADDING

    async def run(self, store: Store) -> Record:
        if self.verb == "create":
            return await store.create(self.key, Facts(f"uid-{self.worker}-{self.number}"), self.build_body)
        current = store.get(self.key)
        assert current is not None
        if self.verb == "delete":
            return await store.delete(self.key, lambda revision, _: self.build_body(revision))
        return await store.update(self.key, current.facts, self.build_body, expected=current.revision)


async def work(store: Store, worker: int, number: int) -> None:
    while True:
        record = await Operation(worker, number).run(store)
        os.write(1, b"%d %d %d\n" % (record.revision, worker, number))
        if number % 10 == 0:
            store.compact(store.revision - 150)
        number += 1


async def main(path: Path, firsts: list[int]) -> None:
    async with Store(SqliteJournal(path)) as store:
        await asyncio.gather(*(work(store, worker, first) for worker, first in enumerate(firsts)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), list(map(int, sys.argv[2].split(",")))))
