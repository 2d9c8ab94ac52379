"""The way from one life of a program to the simulated server: latency, faults, and death.

Rules: a dead program sends nothing more, and what it sent before may still land; everything random comes from the
connection's own stream, so a draw here moves nothing elsewhere.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeAlias

from msgspec import Struct

from heliostat.embedded.doors.inside import Answer, Request
from heliostat.kube.jsontree import encode_json
from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.testing.simulation.faults import (
    Compact,
    Crash,
    Fault,
    Jump,
    LandLate,
    LoseReply,
    LoseRequest,
    Pause,
    Refuse,
    Reset,
    Slow,
    Stale,
)
from heliostat.testing.simulation.script import PAGE, READ, WATCH, WRITE
from heliostat.testing.simulation.streams import FaultyStream

Handle: TypeAlias = Callable[[Request], Awaitable[Answer]]

_AT_ONCE = Slow(0.0)

REASONS = {
    403: "Forbidden",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Server(Struct, frozen=True, kw_only=True):
    """What a connection needs of the world."""

    transport: Transport
    revision: Callable[[], int]
    told_at: Callable[[int], float]  # when a revision was made
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
        fault = self._fault_at(call, _kind_of(call))
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
            case Reset(carried_out):
                await self._reset(call, seconds, carried_out=carried_out)
            case Refuse(code):
                if fault.carried_out:
                    self._server.spawn(self._exchange(call, seconds))
                await self._travel()
                self._traced(call, str(code))
                return _refusal(fault)
            case Slow(delay, body) if delay >= seconds:
                if body:
                    self._server.spawn(self._exchange(call, seconds))
                await self._never_answer(call, seconds)
            case Slow() as slow:
                return await self._answer(call, seconds, slow)
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

    async def _answer(self, call: Call, seconds: float, slow: Slow = _AT_ONCE) -> Reply:
        """Once sent it is on its way, whatever becomes of the program; who sleeps past the deadline hears nothing."""
        clock = asyncio.get_running_loop().time
        sent = clock()
        reply: Reply = await asyncio.shield(self._server.spawn(self._exchange(call, seconds, slow)))
        if clock() - sent > seconds:
            raise AmbiguousError(f"{call}: no answer within {seconds:g} s")
        return reply

    async def _exchange(self, call: Call, seconds: float, slow: Slow = _AT_ONCE) -> Reply:
        await self._travel()
        await asyncio.sleep(0.0 if slow.body else slow.seconds)
        reply = await self._server.transport.send(call, seconds)
        self._traced(call, str(reply.status))
        await asyncio.sleep(slow.seconds if slow.body else 0.0)
        await self._travel()
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        self._check_alive(call)
        fault = self._fault_at(call, WATCH)
        await self._travel()
        match fault:
            case Crash():
                await self._crash(call, seconds, fault)
            case Refuse():
                return _refusal(fault)
            case _:
                self._disturb(fault)
        ends = asyncio.get_running_loop().time() + float(dict(call.query)["timeoutSeconds"])
        answer = await self._server.transport.open(call, seconds)
        if isinstance(answer, Reply):
            return answer
        return FaultyStream(answer, fault, self._chance, told_at=self._server.told_at, until=ends)

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

    async def _reset(self, call: Call, seconds: float, *, carried_out: bool) -> NoReturn:
        if carried_out:
            self._server.spawn(self._exchange(call, seconds))
        await self._travel()
        self._traced(call, "connection reset")
        raise AmbiguousError(f"{call}: the connection was reset")

    async def _never_answer(self, call: Call, seconds: float) -> NoReturn:
        self._traced(call, "no answer")
        await asyncio.sleep(seconds)
        raise AmbiguousError(f"{call}: no answer within {seconds:g} s")

    def _check_alive(self, call: Call) -> None:
        if self.is_dead:
            raise UnavailableError(f"{call}: sent by a dead program")


def _kind_of(call: Call) -> str:
    if call.is_write:
        return WRITE
    return PAGE if any(name == "continue" and value for name, value in call.query) else READ


def _refusal(refuse: Refuse) -> Reply:
    code, reason = refuse.code, REASONS.get(refuse.code, "Unknown")
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": refuse.words}
    return Reply(code, encode_json({**status, "code": code}), "1" if code == 429 else "")


def _as_of(call: Call, revision: int) -> Call:
    """The same list, from an older revision; a single object cannot be asked for like that."""
    names = [name for name, _value in call.query]
    if "limit" not in names or "continue" in names:
        return call
    query = (*call.query, ("resourceVersion", str(revision)), ("resourceVersionMatch", "Exact"))
    return Call(method=call.method, path=call.path, query=query, accept=call.accept)
