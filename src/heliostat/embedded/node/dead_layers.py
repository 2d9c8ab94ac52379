"""What dead containers have written to their roots is removed, all but the last one's, which somebody may want to see.

A head that keeps crashing would otherwise keep every /tmp/ray. It is removed beside the loop, as it may be much.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.storage.removal import remove_tree

_LAYERS = "layers"


def find_dead(runs: Sequence[Run]) -> list[str]:
    """The ids of runs that are over, without the last of each container; ``runs`` come in the order of their start."""
    ended = [run for run in runs if run.is_over]
    last = {run.name: run.id for run in ended}
    return [run.id for run in ended if last[run.name] != run.id]


class DeadLayers:
    def __init__(self) -> None:
        self._removing: dict[Path, asyncio.Task[None]] = {}

    def prune(self, containers: Path, runs: Sequence[Run]) -> None:
        """``containers`` has a directory for each run, by its id."""
        for id_ in find_dead(runs):
            place = containers / id_ / _LAYERS
            if place not in self._removing and place.exists():
                removing = asyncio.create_task(asyncio.to_thread(remove_tree, place), name=f"remove {place}")
                self._removing[place] = removing
                removing.add_done_callback(lambda _done, place=place: self._removing.pop(place))  # type: ignore[misc]

    async def close(self) -> None:
        await asyncio.gather(*self._removing.values(), return_exceptions=True)
