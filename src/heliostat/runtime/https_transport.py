"""Calls over HTTPS, or plain HTTP: to an API server, or to what has no server of its own (Ray).

Rules: until a connection is there nothing can have been sent, and every failure is ``UnavailableError``; from then on
it is ``AmbiguousError``. Nothing is ever sent twice. Requests wait for room, streams do not, so that watches cannot
starve requests. Streams have no read deadline; who watches has. What goes through a proxy, large bodies and WebSockets
are the library's (``library_calls.py``), all else are exchanges of our own.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Self

from heliostat.runtime.caller import Caller
from heliostat.runtime.connection import Connection, Proof
from heliostat.runtime.errors import UnavailableError
from heliostat.runtime.http_exchange import BodyStream, HttpExchange, OddAnswerError
from heliostat.runtime.http_failures import Progress, words_of, words_of_system
from heliostat.runtime.http_requests import find_aim, write_request
from heliostat.runtime.kept_exchanges import KeptExchanges, Place
from heliostat.runtime.transport import Call, Chunks, Reply

if TYPE_CHECKING:
    from heliostat.runtime.library_calls import LibraryCalls

MOST_REQUESTS = 272  # connections: more than the limiter ever lets in, and some for what passes it by
SENT_AT_ONCE = 1024 * 1024  # bytes of a body

_KNOWN_SECONDS = 10.0  # an address that was looked up

_TURNS_TO_CLOSE = 5  # of the event loop, after which aborted TLS connections have closed their sockets


class HttpsTransport:
    """``on_resolve`` hears of every look-up of a name, and how long it took."""

    def __init__(
        self,
        connection: Connection,
        user_agent: str = "heliostat",
        most_requests: int = MOST_REQUESTS,
        on_resolve: Callable[[str, float], None] | None = None,
    ) -> None:
        self._connection = connection
        self._caller = Caller(connection, user_agent)
        self._most_requests = most_requests
        self._on_resolve = on_resolve
        self._made_library: LibraryCalls | None = None
        self._open: set[_StreamChunks] = set()
        self._kept = KeptExchanges(on_resolve, _KNOWN_SECONDS)
        self._room = asyncio.Semaphore(most_requests)

    async def send(self, call: Call, seconds: float) -> Reply:
        if self._needs_library(call):
            return await self._library().send(call, seconds)
        progress = Progress()
        try:
            return await self._exchange(call, progress, asyncio.get_running_loop().time() + seconds)
        except TimeoutError:
            raise progress.error(call, f"no answer within {seconds:.3g} s") from None
        except (OddAnswerError, OSError) as error:
            raise progress.error(call, words_of(error)) from error

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        if self._needs_library(call):
            return await self._library().open(call, seconds)
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            return await self._begin_stream(call, deadline)
        except TimeoutError:
            raise UnavailableError(f"{call}: no answer within {seconds:.3g} s") from None
        except (OddAnswerError, OSError) as error:
            raise UnavailableError(f"{call}: {words_of(error)}") from error

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        return await self._library().listen(call, seconds)

    async def close(self) -> None:
        """End every connection, those of open streams too."""
        for stream in tuple(self._open):
            await stream.aclose()
        self._kept.close()
        if self._made_library is not None:
            await self._made_library.close()
        await self._connection.credentials.close()
        for _ in range(_TURNS_TO_CLOSE):
            await asyncio.sleep(0)

    def _needs_library(self, call: Call) -> bool:
        return self._connection.proxy is not None or len(call.body) > SENT_AT_ONCE

    def _library(self) -> "LibraryCalls":
        if self._made_library is None:
            # It takes six megabytes, and most processes never need it.
            from heliostat.runtime.library_calls import LibraryCalls  # noqa: PLC0415

            self._made_library = LibraryCalls(self._caller, self._most_requests, self._on_resolve)
        return self._made_library

    async def _exchange(self, call: Call, progress: Progress, deadline: float) -> Reply:
        """A timeout costs as much as the request's own bytes, so there is one only around what may have to wait."""
        proof, place, request = await self._prepare(call, deadline)
        await self._enter(deadline)
        try:
            exchange = self._kept.take(place) or await self._connect(call, place, deadline)
            progress.is_connected = True
            has_body = call.method != "HEAD"
            reply = await exchange.ask(request, most_bytes=call.most_bytes, has_body=has_body, deadline=deadline)
            self._kept.keep(place, exchange)
        finally:
            self._room.release()
        if reply.status == 401:
            self._connection.credentials.refused(proof)
        return reply

    async def _begin_stream(self, call: Call, deadline: float) -> Reply | Chunks:
        proof, place, request = await self._prepare(call, deadline)
        exchange = self._kept.take(place) or await self._connect(call, place, deadline)
        answer = await exchange.open(request, most_bytes=call.most_bytes, deadline=deadline)
        if isinstance(answer, BodyStream):
            return _StreamChunks(answer, call, lambda: self._kept.keep(place, exchange), self._open)
        self._kept.keep(place, exchange)
        if answer.status == 401:
            self._connection.credentials.refused(proof)
        return answer

    async def _prepare(self, call: Call, deadline: float) -> tuple[Proof, Place, bytes]:
        """Who asks, whom, and what is sent."""
        proof = self._connection.credentials.at_once()
        if proof is None:
            async with asyncio.timeout_at(deadline):
                proof = await self._connection.credentials.fetch()
        aim = find_aim(self._connection.server, call.path, call.query)
        tls = self._caller.build_tls(proof.certificate)
        place = Place(aim.host, aim.port, tls, self._connection.tls_server_name)
        return proof, place, write_request(call, aim, self._caller.list_headers(call, proof))

    async def _enter(self, deadline: float) -> None:
        if not self._room.locked():
            await self._room.acquire()
            return
        async with asyncio.timeout_at(deadline):
            await self._room.acquire()

    async def _connect(self, call: Call, place: Place, deadline: float) -> HttpExchange:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._kept.connect(place)
        except TimeoutError:
            raise
        except OSError as error:
            where = f"{place.host}:{place.port}"
            raise UnavailableError(f"{call}: cannot connect to {where}: {words_of_system(error)}") from error


class _StreamChunks:
    """``keep`` hears when all was read; ``among`` is where it stays for as long as it is open."""

    def __init__(self, body: BodyStream, call: Call, keep: Callable[[], None], among: "set[_StreamChunks]") -> None:
        self._body = body
        self._call = call
        self._keep = keep
        self._among = among
        among.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._body.read()
        except (OddAnswerError, OSError) as error:
            await self.aclose()
            raise UnavailableError(f"{self._call}: {words_of(error)}") from error
        if chunk:
            return chunk
        if self in self._among:
            self._among.discard(self)
            self._keep()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        if self in self._among:
            self._among.discard(self)
            self._body.abandon()
