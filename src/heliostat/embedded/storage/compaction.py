"""The loop that keeps history within its limits, at the pace of the event loop's own clock."""

import asyncio

from heliostat.embedded.storage.errors import ClosedError, StoreFailedError
from heliostat.embedded.storage.retention import AgeMarks, History, Retention, decide_compaction
from heliostat.embedded.storage.store import Store

STEP = 5_000  # revisions forgotten in one go: a few milliseconds


async def keep_compacting(store: Store, retention: Retention, every: float = 5.0) -> None:
    """Compact every so many seconds until the store ends. Run it as a task."""
    loop = asyncio.get_running_loop()
    marks = AgeMarks()
    try:
        while True:
            marks.note(loop.time(), store.revision)
            history = History(store.compacted, store.revision, store.superseded_bytes)
            aged = marks.newest_before(loop.time() - retention.seconds)
            await _compact_in_steps(store, decide_compaction(retention, history, aged))
            await asyncio.sleep(every)
    except (ClosedError, StoreFailedError):
        return  # whoever waits for the store's end is told there


async def _compact_in_steps(store: Store, revision: int) -> None:
    while store.compacted < revision:
        store.compact(min(revision, store.compacted + STEP))
        await asyncio.sleep(0)
