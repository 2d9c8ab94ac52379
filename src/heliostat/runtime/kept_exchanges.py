"""Connections that are kept for the next request, each to one place, and how new ones are made.

Rules: the connection that was used last is used first, and one that nobody has needed for a while is closed; until a
connection is there nothing was sent. Names are looked up once for all who ask at the same time; of several addresses
the one that worked last is tried first, and one that keeps silent has no more than a moment while there is another.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address

from msgspec import Struct

from heliostat.runtime.http_exchange import HttpExchange

KEPT_SECONDS = 30.0  # unused; servers keep theirs for longer, so a request rarely meets one that is being closed
_NEXT_SECONDS = 1.0  # that an address may keep silent while there is another one
_MOST_NAMES = 1000  # remembered; a name that is forgotten is looked up again


class Place(Struct, frozen=True):
    """Requests to equal ones share connections."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    tls_name: str = ""  # whose certificate is expected, when it is not that of the host


class KeptExchanges:
    """``on_resolve`` hears of every look-up of a name, and how long it took; what was found counts for
    ``known_seconds``."""

    def __init__(self, on_resolve: Callable[[str, float], None] | None = None, known_seconds: float = 0.0) -> None:
        self._idle: dict[Place, list[HttpExchange]] = {}
        self._swept = 0.0
        self._names = _Names(on_resolve, known_seconds)

    def take(self, place: Place) -> HttpExchange | None:
        kept = self._idle.get(place)
        while kept:
            exchange = kept.pop()
            if not kept:
                del self._idle[place]
            if exchange.is_idle:
                return exchange
        return None

    def keep(self, place: Place, exchange: HttpExchange) -> None:
        """After an answer; one that cannot be used again is not kept."""
        now = exchange.idle_since = asyncio.get_running_loop().time()
        if exchange.is_idle:
            self._idle.setdefault(place, []).append(exchange)
        if now > self._swept + KEPT_SECONDS:
            self._sweep(now)

    async def connect(self, place: Place) -> HttpExchange:
        """Raises OSError, with the words of the last address that was tried."""
        *others, last = await self._names.find(place.host, place.port)
        for address in others:
            with suppress(OSError):  # a refusal, or silence
                async with asyncio.timeout(_NEXT_SECONDS):
                    return await self._dial(place, address)
        exchange = await self._dial(place, last)
        self._names.prefer(place.host, last)
        return exchange

    def close(self) -> None:
        for kept in list(self._idle.values()):
            for exchange in list(kept):
                exchange.end()
        self._idle.clear()
        self._names.close()

    async def _dial(self, place: Place, address: str) -> HttpExchange:
        _transport, exchange = await asyncio.get_running_loop().create_connection(
            lambda: HttpExchange(lambda lost: self._lost(place, lost)),
            address,
            place.port,
            ssl=place.tls,
            server_hostname=place.tls_name or place.host if place.tls is not None else None,
        )
        return exchange

    def _lost(self, place: Place, exchange: HttpExchange) -> None:
        kept = self._idle.get(place, [])
        if exchange in kept:
            kept.remove(exchange)
            if not kept:
                del self._idle[place]

    def _sweep(self, now: float) -> None:
        """A server that is gone may never have said so."""
        self._swept = now
        for kept in list(self._idle.values()):
            for exchange in list(kept):
                if now > exchange.idle_since + KEPT_SECONDS:
                    exchange.end()


class _Names:
    def __init__(self, on_resolve: Callable[[str, float], None] | None, known_seconds: float) -> None:
        self._on_resolve = on_resolve
        self._known_seconds = known_seconds
        self._found: dict[str, tuple[float, list[str]]] = {}
        self._asking: dict[str, asyncio.Task[list[str]]] = {}

    async def find(self, host: str, port: int) -> list[str]:
        """At least one. Raises OSError."""
        if _is_address(host):
            return [host]
        until, known = self._found.get(host, (0.0, []))
        if asyncio.get_running_loop().time() < until:
            return known
        asking = self._asking.get(host)
        if asking is None:
            asking = self._asking[host] = asyncio.create_task(self._look_up(host, port))
            asking.add_done_callback(lambda task: self._answered(host, task))
        return await asyncio.shield(asking)

    def prefer(self, host: str, address: str) -> None:
        until, known = self._found.get(host, (0.0, []))
        if address in known[1:]:
            self._found[host] = until, [address, *(each for each in known if each != address)]

    def close(self) -> None:
        for task in self._asking.values():
            task.cancel()

    def _answered(self, host: str, task: "asyncio.Task[list[str]]") -> None:
        self._asking.pop(host, None)
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have

    async def _look_up(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        finally:
            if self._on_resolve is not None:
                self._on_resolve(host, loop.time() - begun)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not addresses:
            raise OSError("the name has no address")
        if self._known_seconds:
            if len(self._found) >= _MOST_NAMES:
                self._found.clear()
            self._found[host] = loop.time() + self._known_seconds, addresses
        return addresses


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ip_address(host)
        return True
    return False
