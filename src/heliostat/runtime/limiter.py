"""Client-side flow control: so many requests at once as ``limit`` allows, reads and writes in turn, urgent ones first.

Rules: within reads and within writes first come, first served; when both wait they go in alternately, so that neither
a storm of lists nor one of writes keeps the other out. An urgent request (the renewal of a lease) never waits, but
counts. It knows no clock but the one it is given, and draws nothing.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from heliostat.runtime.limit import Lane, LimitState, Reception, Sample, decide_limit


class Ticket(Struct, frozen=True):
    """One request inside the gate."""

    lane: Lane
    started: float
    in_flight: int


class Limiter:
    def __init__(self, clock: Callable[[], float], state: LimitState | None = None) -> None:
        self._clock = clock
        self._state = state or LimitState()
        self._in_flight = 0
        self._reads: deque[asyncio.Future[None]] = deque()
        self._writes: deque[asyncio.Future[None]] = deque()
        self._writes_next = False

    @property
    def limit(self) -> int:
        return int(self._state.limit)

    @property
    def in_flight(self) -> int:
        return self._in_flight

    @property
    def waiting(self) -> int:
        return len(self._reads) + len(self._writes)

    def enter_at_once(self, lane: Lane, *, is_urgent: bool = False) -> Ticket | None:
        """None when it is not its turn yet."""
        if is_urgent or (self._in_flight < self.limit and not self.waiting):
            self._in_flight += 1
            return Ticket(lane, self._clock(), self._in_flight)
        return None

    async def enter(self, lane: Lane, *, is_urgent: bool = False) -> Ticket:
        """Wait for a turn. Every ticket has to be given back with ``leave``."""
        ticket = self.enter_at_once(lane, is_urgent=is_urgent)
        if ticket is not None:
            return ticket
        await self._wait(self._writes if lane is Lane.WRITE else self._reads)
        return Ticket(lane, self._clock(), self._in_flight)

    def leave(self, ticket: Ticket, verdict: Reception) -> None:
        sample = Sample(ticket.lane, ticket.started, self._clock(), ticket.in_flight, verdict)
        self._state = decide_limit(self._state, sample)
        self._in_flight -= 1
        if self.waiting:
            self._admit()

    async def _wait(self, line: deque[asyncio.Future[None]]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # already passed over by others
                    line.remove(turn)
            else:  # admitted and given up in the same moment: the turn goes to the next one
                self._in_flight -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._in_flight < self.limit and self.waiting:
            turn = self._next_line().popleft()
            if not turn.done():  # a cancelled one is no longer waiting
                self._in_flight += 1
                turn.set_result(None)

    def _next_line(self) -> deque[asyncio.Future[None]]:
        first, second = (self._writes, self._reads) if self._writes_next else (self._reads, self._writes)
        chosen = first or second
        self._writes_next = chosen is self._reads
        return chosen
