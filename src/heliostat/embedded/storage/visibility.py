"""Who waits until a revision is visible: writers for their own, readers for one they were told of.

Revisions become visible one by one, so each is a bucket and nobody is scanned. A waiter that gives up leaves nothing.
"""

import asyncio
from collections.abc import Callable


class RevisionWaiters:
    def __init__(self) -> None:
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}

    async def wait(self, revision: int) -> None:
        """Until ``release`` names the revision; raises what ``refuse`` makes."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(revision, []).append(future)
        try:
            await future
        finally:
            self._forget(revision, future)

    def release(self, revision: int) -> None:
        for future in self._waiting.pop(revision, ()):
            if not future.done():
                future.set_result(None)

    def refuse(self, build_error: Callable[[], Exception]) -> None:
        """End every wait with an error of its own."""
        waiting, self._waiting = self._waiting, {}
        for futures in waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(build_error())

    def _forget(self, revision: int, future: asyncio.Future[None]) -> None:
        futures = self._waiting.get(revision)
        if futures is not None:
            futures.remove(future)
            if not futures:
                del self._waiting[revision]
