"""What a server must offer to be put to the suite, and the watch that every target reads in the same way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from conformance.model import Json
from conformance.recording import Reply, decode_body


class Sent(Struct, frozen=True):
    """A request with every variable filled in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Target(Protocol):
    @property
    def name(self) -> str: ...

    async def send(self, sent: Sent) -> Reply: ...

    async def watch(self, sent: Sent) -> "tuple[Reply, WatchReader | None]":
        """The answer, and the stream if it was granted."""
        ...

    async def settle(self, reader: "WatchReader", seen: int) -> None:
        """Until ``seen`` events came (if that is known) and no more are on their way."""
        ...

    async def compact(self) -> None: ...

    async def catch_up(self) -> None:
        """Until the server's own caches have seen every write."""
        ...


class WatchReader:
    """Collects the events of one stream while other things happen."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self.events: list[Json] = []
        self.ended = False
        self.grown = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._collect(chunks))

    async def _collect(self, chunks: AsyncIterator[bytes]) -> None:
        rest = b""
        try:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                self.events += [decode_body(line) for line in lines if line.strip()]
                self.grown.set()
        finally:
            self.ended = True
            self.grown.set()

    async def wait_quiet(self, seconds: float, at_least: int = 0, patience: float = 5.0) -> None:
        """Until nothing came for ``seconds``; longer, within patience, while events are missing."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        while not self.ended:
            self.grown.clear()
            missing = len(self.events) < at_least and loop.time() < deadline
            try:
                async with asyncio.timeout(max(seconds, deadline - loop.time()) if missing else seconds):
                    await self.grown.wait()
            except TimeoutError:
                return

    def take(self) -> tuple[Json, ...]:
        taken, self.events = tuple(self.events), []
        return taken

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
