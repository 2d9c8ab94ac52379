"""Connections to back ends: those that rest between two requests are used again, and all are known by their target.

Rules: one that has rested for longer than ``REST_SECONDS`` is not used again, because the shortest keep-alive of common
servers is 2 s, and who closes first loses a request; one that says something unasked is not, either. A target that has
left gets no new connections, its resting ones are closed at once, and those in use go on until their deadline.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from ipaddress import IPv4Address
from socket import socket
from typing import TypeAlias

from heliostat.embedded.gateway.weights import Drains
from heliostat.embedded.gateway.wire import Wire

Target: TypeAlias = tuple[IPv4Address, int]
Dial: TypeAlias = Callable[[str, int], Awaitable[socket]]

DIAL_SECONDS = 5.0
REST_SECONDS = 1.5
DRAIN_SECONDS = 300.0


class Upstreams:
    def __init__(self, dial: Dial, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        self._dial = dial
        self._resting: dict[Target, list[tuple[float, Wire]]] = {}
        self._in_use: dict[Target, set[Wire]] = {}
        self._drains: Drains[Target] = Drains(drain_seconds)
        self._clock = asyncio.get_running_loop().time

    def take_rested(self, target: Target) -> Wire | None:
        """One that is there already, and not for long."""
        resting = self._resting.get(target)
        while resting:
            since, wire = resting.pop()
            if wire.is_quiet and self._clock() - since < REST_SECONDS:
                self._in_use.setdefault(target, set()).add(wire)
                return wire
            wire.abort()
        return None

    async def connect(self, target: Target) -> Wire:
        """A new one. Raises OSError and TimeoutError."""
        async with asyncio.timeout(DIAL_SECONDS):
            connection = await self._dial(str(target[0]), target[1])
            try:
                _, wire = await asyncio.get_running_loop().create_connection(Wire, sock=connection)
            except BaseException:  # cancelled or refused: nobody else knows this connection
                connection.close()
                raise
        self._in_use.setdefault(target, set()).add(wire)
        return wire

    def give_back(self, target: Target, wire: Wire, *, is_usable: bool) -> None:
        in_use = self._in_use.get(target, set())
        in_use.discard(wire)
        if not in_use:
            self._in_use.pop(target, None)
        if is_usable and wire.is_quiet:
            self._resting.setdefault(target, []).append((self._clock(), wire))
        else:
            wire.abort()

    def keep_only(self, wanted: Collection[Target]) -> None:
        """Also called from time to time, so that nothing rests for ever."""
        now = self._clock()
        for target in list(self._resting):
            kept = [each for each in self._resting.pop(target) if self._keeps(each, target in wanted, now)]
            if kept:
                self._resting[target] = kept
        self._drains.update(wanted, self._in_use, now)
        for target in self._drains.due(now):
            for wire in list(self._in_use.get(target, ())):
                wire.abort()

    def _keeps(self, resting: tuple[float, Wire], is_wanted: bool, now: float) -> bool:
        since, wire = resting
        if is_wanted and wire.is_quiet and now - since < REST_SECONDS:
            return True
        wire.abort()
        return False

    def close(self) -> None:
        for resting in self._resting.values():
            for _, wire in resting:
                wire.abort()
        for wires in self._in_use.values():
            for wire in list(wires):
                wire.abort()
        self._resting.clear()
