"""The logs of Pods that are gone, for as long as there is time and room for them.

    history/<namespace>/<name>-<uid>/  record.json  containers.jsonl  logs/<container>/<attempt>.log

Rules: a Pod's directory becomes its history by one rename, after everything else in it is gone, so that a crash leaves
one or the other; a Pod nobody wrote anything down about leaves nothing.
"""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.history.retention import Kept, Limits, plan_removals
from heliostat.embedded.node.pod_record import RECORD, PodRecord, read_record
from heliostat.embedded.node.shim.protocol import JOURNAL

DIRECTORY = "history"
LOGS = "logs"
_STAYS = frozenset((RECORD, JOURNAL, LOGS))
_PAUSE_SECONDS = 60.0  # many Pods may go at once, and all that is kept is looked at
_LOOK_SECONDS = 3600.0


class Gone(Struct, frozen=True):
    """A Pod of the past."""

    place: Path
    record: PodRecord
    ended_at: float


class History:
    """``directory`` is that of the node, in which Pods have theirs too: a rename does not cross file systems."""

    def __init__(self, directory: Path, limits: Limits | None = None) -> None:
        self._directory = directory / DIRECTORY
        self._limits = limits or Limits()
        self._grown = asyncio.Event()

    async def keep(self, place: Path) -> None:
        """Nothing is left of ``place``, and what is worth keeping is here."""
        await asyncio.to_thread(_move, place, self._directory)
        self._grown.set()

    async def run(self) -> None:
        """Forget what is too old or too much, for ever."""
        while True:
            await asyncio.to_thread(self.forget, time.time())
            self._grown.clear()
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._grown.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(_PAUSE_SECONDS)

    def forget(self, now: float) -> None:
        kept = [Kept(str(place), _ended_at(place), _size(place)) for place in _places(self._directory)]
        for removal in plan_removals(kept, now, self._limits):
            shutil.rmtree(removal.path, ignore_errors=True)


def list_gone(directory: Path) -> list[Gone]:
    """Those of a node's directory, the last to go first."""
    found = [(place, read_record(place)) for place in _places(directory / DIRECTORY)]
    gone = [Gone(place, record, _ended_at(place)) for place, record in found if record is not None]
    return sorted(gone, key=lambda each: (each.ended_at, str(each.place)), reverse=True)


def _move(place: Path, history: Path) -> None:
    record = read_record(place)
    if record is not None:
        with contextlib.suppress(OSError):  # a full disk costs the history; the Pod has to go all the same
            _strip(place)
            _rename(place, record, history)
    shutil.rmtree(place, ignore_errors=True)


def _rename(place: Path, record: PodRecord, history: Path) -> None:
    target = history / record.namespace / f"{record.name}-{record.uid}"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    os.utime(place)  # when it ended
    place.rename(target)


def _strip(place: Path) -> None:
    for path in place.iterdir():
        if path.name in _STAYS:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _places(history: Path) -> Iterator[Path]:
    if history.is_dir():
        for namespace in sorted(history.iterdir()):
            yield from sorted(namespace.iterdir())


def _ended_at(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0  # it is just being forgotten


def _size(place: Path) -> int:
    """Bytes on disk, as far as they can be seen."""
    total = 0
    for directory, _names, files in os.walk(place):
        for name in files:
            try:
                total += (Path(directory) / name).stat().st_blocks * 512
            except OSError:
                continue
    return total
