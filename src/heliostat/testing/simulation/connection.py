"""The way from one life of a program to the simulated server: latency, faults, and death.

Rules: a dead program sends nothing more, and what it sent before may still land; everything random comes from the
connection's own stream, so a draw here moves nothing elsewhere.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, Self, TypeAlias

from msgspec import Struct

from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.messages import Answer, Request
from heliostat.kube.jsontree import encode_json
from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing.simulation.faults import (
    Compact,
    Crash,
    Cut,
    Deaf,
    Fault,
    Jump,
    Lag,
    LandLate,
    LoseReply,
    LoseRequest,
    Pause,
    Refuse,
    Repeat,
    Slow,
    Stale,
)

Handle: TypeAlias = Callable[[Request], Awaitable[Answer]]

REASONS = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Server(Struct, frozen=True, kw_only=True):
    """What a connection needs of the world."""

    transport: InProcessTransport
    revision: Callable[[], int]
    compact: Callable[[], None]
    spawn: Callable[[Awaitable[object]], "asyncio.Task[Any]"]  # goes on although its program is dead or stands still
    pause: Callable[[float], None]  # the program that holds the connection
    jump: Callable[[float, float], None]  # its wall clock, by how much and for how long


class Connection:
    """``fault_at`` decides by the call; ``die`` kills the program that holds this connection."""

    def __init__(
        self,
        server: Server,
        *,
        fault_at: Callable[[Call, str], Fault | None],
        die: Callable[[], None],
        chance: random.Random,
        traced: Callable[[Call, str], None],
    ) -> None:
        self._server = server
        self._fault_at = fault_at
        self.die = die
        self._chance = chance
        self._traced = traced
        self.is_dead = False
        self.first_lists_lie = False  # then even a life that knows nothing yet is told old things
        self._listed: set[str] = set()
        self._companions: list[Connection] = []

    def accompany(self, other: "Connection") -> None:
        """Another way of the same program to the server: it dies with this one."""
        self._companions.append(other)

    def end(self) -> None:
        """Nothing more is sent, not even what a program would tidy up on its way out."""
        self.is_dead = True
        for companion in self._companions:
            companion.is_dead = True

    async def send(self, call: Call, seconds: float) -> Reply:
        self._check_alive(call)
        fault = self._fault_at(call, "write" if call.is_write else "read")
        match fault:
            case Crash():
                await self._crash(call, seconds, fault)
            case LoseRequest():
                await self._never_answer(call, seconds)
            case LoseReply():
                self._server.spawn(self._exchange(call, seconds))
                await self._never_answer(call, seconds)
            case LandLate(part):
                self._server.spawn(self._land(call, seconds, seconds * part))
                await self._never_answer(call, seconds)
            case Refuse(code):
                await self._travel()
                self._traced(call, str(code))
                return _refusal(code)
            case Slow(delay) if delay >= seconds:
                await self._never_answer(call, seconds)
            case Slow(delay):
                return await self._answer(call, seconds, delay)
            case Stale(revisions) if self.first_lists_lie or call.path in self._listed:
                call = _as_of(call, max(1, self._server.revision() - revisions))
            case _:
                self._disturb(fault)
        reply = await self._answer(call, seconds)
        self._listed.add(call.path)
        return reply

    def _disturb(self, fault: Fault | None) -> None:
        """What happens to the server or to the program while this call is on its way."""
        match fault:
            case Compact():
                self._server.compact()
            case Pause(seconds):
                self._server.pause(seconds)
            case Jump(seconds, lasting):
                self._server.jump(seconds, lasting)
            case _:
                pass

    async def _answer(self, call: Call, seconds: float, delay: float = 0.0) -> Reply:
        """Once sent it is on its way, whatever becomes of the program; who sleeps past the deadline hears nothing."""
        clock = asyncio.get_running_loop().time
        sent = clock()
        reply: Reply = await asyncio.shield(self._server.spawn(self._exchange(call, seconds, delay)))
        if clock() - sent > seconds:
            raise AmbiguousError(f"{call}: no answer within {seconds:g} s")
        return reply

    async def _exchange(self, call: Call, seconds: float, delay: float = 0.0) -> Reply:
        await self._travel()
        await asyncio.sleep(delay)
        reply = await self._server.transport.send(call, seconds)
        self._traced(call, str(reply.status))
        await self._travel()
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        self._check_alive(call)
        fault = self._fault_at(call, "watch")
        await self._travel()
        match fault:
            case Crash():
                await self._crash(call, seconds, fault)
            case Refuse(code):
                return _refusal(code)
            case _:
                self._disturb(fault)
        answer = await self._server.transport.open(call, seconds)
        if isinstance(answer, Reply):
            return answer
        return _Stream(answer, fault, self._chance)

    async def close(self) -> None:
        """Nothing is held."""

    async def _travel(self) -> None:
        await asyncio.sleep(self._chance.uniform(0.0005, 0.02))

    async def _crash(self, call: Call, seconds: float, crash: Crash) -> NoReturn:
        self._traced(call, f"crash {crash.when}")
        if crash.when == "after" and call.is_write:
            await self._server.transport.send(call, seconds)
        elif crash.when == "late" and call.is_write:
            self._server.spawn(self._land(call, seconds, crash.landing))
        self.is_dead = True
        self.die()
        await asyncio.get_running_loop().create_future()  # until the cancellation comes
        raise AssertionError("a dead program goes on")

    async def _land(self, call: Call, seconds: float, delay: float) -> None:
        await asyncio.sleep(delay)
        self._traced(call, "lands late")
        await self._server.transport.send(call, seconds)

    async def _never_answer(self, call: Call, seconds: float) -> NoReturn:
        self._traced(call, "no answer")
        await asyncio.sleep(seconds)
        raise AmbiguousError(f"{call}: no answer within {seconds:g} s")

    def _check_alive(self, call: Call) -> None:
        if self.is_dead:
            raise UnavailableError(f"{call}: sent by a dead program")


def _refusal(code: int) -> Reply:
    reason = REASONS.get(code, "Unknown")
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": "injected"}
    return Reply(code, encode_json({**status, "code": code}), "1" if code == 429 else "")


def _as_of(call: Call, revision: int) -> Call:
    """The same list, from an older revision; a single object cannot be asked for like that."""
    names = [name for name, _value in call.query]
    if "limit" not in names or "continue" in names:
        return call
    query = (*call.query, ("resourceVersion", str(revision)), ("resourceVersionMatch", "Exact"))
    return Call(method=call.method, path=call.path, query=query, accept=call.accept)


class _Stream:
    """A watch with its fault. Every line takes its time, and they never overtake each other."""

    def __init__(self, chunks: Chunks, fault: Fault | None, chance: random.Random) -> None:
        self._chunks = chunks
        self._fault = fault
        self._chance = chance
        self._lines: list[bytes] = []
        self._told = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines:
            self._lines = (await anext(self._chunks)).splitlines(keepends=True)
        line = self._lines.pop(0)
        await asyncio.sleep(self._chance.uniform(0.0005, 0.02))
        match self._fault:
            case Cut(lines, mid_line) if self._told >= lines:
                if not mid_line or self._told > lines:
                    raise StopAsyncIteration
                line = line[: len(line) // 2]
            case Deaf(lines) if self._told >= lines:
                await asyncio.get_running_loop().create_future()
            case Lag(seconds):
                await asyncio.sleep(seconds)
            case Repeat():
                line += line
            case _:
                pass
        self._told += 1
        return line

    async def aclose(self) -> None:
        await self._chunks.aclose()
