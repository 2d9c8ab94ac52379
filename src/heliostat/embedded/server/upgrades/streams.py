"""What a protocol of an upgraded connection is taken apart into: streams of bytes, each with a beginning and an end.

Whatever is spoken on the connection, a command or a forwarded port sees these alone.
"""

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, Protocol

from heliostat.embedded.server.messages import GoneError


class ByteStream(Protocol):
    async def read(self) -> bytes:
        """The next piece; empty at the end."""

    async def write(self, data: bytes) -> None:
        """Waits while the client does not read. Raises GoneError when there is nobody to write to."""

    async def finish(self) -> None:
        """Nothing more will be written; reading goes on."""


class Nowhere:
    """A stream that the client did not ask for: nothing comes, and what is written is dropped."""

    async def read(self) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        """Dropped."""

    async def finish(self) -> None:
        """Nothing to finish."""


async def converse_until_gone(session: Coroutine[Any, Any, None], incoming: Coroutine[Any, Any, None]) -> None:
    """Both sides at once. When the client is gone (``incoming`` ends) the session is cancelled. Raises its bugs."""
    tasks = (asyncio.ensure_future(session), asyncio.ensure_future(incoming))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await _until_ended(tasks)
    for task in tasks:
        error = None if task.cancelled() else task.exception()
        if error is not None and not _is_gone(error):
            raise error


async def _until_ended(tasks: Collection[asyncio.Task[None]]) -> None:
    """Whoever is cleaning up is not cancelled a second time: a process would be left behind."""
    cancelled: asyncio.CancelledError | None = None
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _is_gone(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_gone(each) for each in error.exceptions)
    return isinstance(error, GoneError)
