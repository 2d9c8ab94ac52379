"""A watch as a program hears it that has a fault: late, cut, silent, repeated, or too far behind."""

import asyncio
import random
import zlib
from collections.abc import Callable
from typing import Self

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import encode_json
from heliostat.kube.objects import Object
from heliostat.runtime.transport import Chunks
from heliostat.testing.simulation.faults import Cut, Deaf, Fault, Lag, Miss, Repeat

_EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: it was compacted"}
_TOO_FAR_BEHIND = encode_json({"type": "ERROR", "object": _EXPIRED}) + b"\n"


class _Line(Struct, frozen=True):
    object: Object


_decode = msgspec.json.Decoder(_Line).decode


class FaultyStream:
    """Every line takes its time, and they never overtake each other.

    ``told_at`` is the moment at which a revision was made, ``until`` the one at which the server ends the watch.
    """

    def __init__(
        self,
        chunks: Chunks,
        fault: Fault | None,
        chance: random.Random,
        *,
        told_at: Callable[[int], float],
        until: float,
    ) -> None:
        self._chunks = chunks
        self._fault = fault
        self._chance = chance
        self._told_at = told_at
        self._until = until
        self._lines: list[bytes] = []
        self._told = 0
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            raise StopAsyncIteration
        while not self._lines:
            self._lines = (await anext(self._chunks)).splitlines(keepends=True)
        line = self._lines.pop(0)
        await asyncio.sleep(self._chance.uniform(0.0005, 0.02))
        match self._fault:
            case Cut(lines, mid_line) if self._told >= lines:
                if not mid_line:
                    raise StopAsyncIteration
                line = self._end_with(line[: len(line) // 2])
            case Deaf(lines) if self._told >= lines:
                await asyncio.get_running_loop().create_future()
            case Miss(lines, seconds) if self._told >= lines:
                await asyncio.sleep(seconds)
                line = self._end_with(_TOO_FAR_BEHIND)
            case Lag() as lag:
                await self._wait_for(line, lag)
            case Repeat():
                line += line
            case _:
                pass
        self._told += 1
        return line

    def _end_with(self, line: bytes) -> bytes:
        self._is_over = True
        return line

    async def aclose(self) -> None:
        await self._chunks.aclose()

    async def _wait_for(self, line: bytes, lag: Lag) -> None:
        """Until a server that is so far behind would know; it ends the watch in its time, with this untold."""
        metadata = _decode(line).object.metadata
        if zlib.crc32(metadata.name.encode()) % lag.one_in:
            return
        now = asyncio.get_running_loop().time()
        due = self._told_at(metadata.revision) + lag.seconds
        await asyncio.sleep(max(0.0, min(due, self._until) - now))
        if due > self._until:
            raise StopAsyncIteration
