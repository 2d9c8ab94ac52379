"""The journal that forgets with the process: for tests, for the simulator, for ``--memory``.

Rules: no thread, no clock, no randomness. Without a hook an append is durable at once. With ``before_commit`` appends
are committed in groups, each after the hook: awaiting in it delays the commit, an OSError from it fails the commit as a
full or a broken disk would. What is durable stays in this object: a second store opened on it finds what a restarted
server would find, and what was appended but not committed is gone.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from heliostat.embedded.storage.journal import Refused
from heliostat.embedded.storage.records import Event
from heliostat.embedded.storage.revisions import Revisions

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

BeforeCommit: TypeAlias = Callable[[int], Awaitable[None]]  # is told the last revision of the group


class MemoryJournal:
    def __init__(self, before_commit: BeforeCommit | None = None) -> None:
        self._before_commit = before_commit
        self._model = Revisions()  # the store applies an event to it exactly when the event is durable
        self._appended = self._model.revision
        self._committing: asyncio.Task[None] | None = None

    def open(self, durable: Callable[[int], None], refused: Refused, failed: Refused) -> Revisions:
        if self._committing is not None:
            self._committing.cancel()  # the store before this one has crashed
            self._committing = None
        self._durable = durable
        self._refused = refused
        self._failed = failed
        self._appended = self._model.revision
        return self._model

    def append(self, event: Event) -> None:
        self._appended = event.revision
        if self._before_commit is None:
            self._durable(event.revision)
        elif self._committing is None:
            self._committing = asyncio.get_running_loop().create_task(self._commit_groups(self._before_commit))

    async def _commit_groups(self, before_commit: BeforeCommit) -> None:
        try:
            while self._model.revision < self._appended:
                last = self._appended
                await before_commit(last)
                self._durable(last)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                self._failed(error)
                return  # after a failure no further group is started
            self._appended = self._model.revision
            self._refused(error)
        self._committing = None

    def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """Nothing to do: the model it shares with the store has already forgotten."""

    async def close(self) -> None:
        """Nothing to let go of: the store waits for its writes before it closes."""
