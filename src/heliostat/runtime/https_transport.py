"""Calls over HTTPS, or plain HTTP: to an API server, or to what has no server of its own (Ray).

Rules: until a connection is there nothing can have been sent, and every failure is ``UnavailableError``; from then on
it is ``AmbiguousError``. Nothing is ever sent twice: the library's own resending of PUT and DELETE is stopped, because
a second sending would hide what became of the first. Redirects are not followed and cookies not kept. Requests and
streams have pools of their own, so that watches cannot starve requests. Streams have no read deadline; who watches has.
Streams, large bodies and whatever goes through a proxy are the library's; other requests are exchanges of our own.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from typing import Self, TypeAlias

import aiohttp
from aiohttp import ClientResponse
from multidict import CIMultiDict

from heliostat.kube.hidden import Hidden
from heliostat.runtime.client_tls import build_tls
from heliostat.runtime.connection import Certificate, Connection, Proof
from heliostat.runtime.errors import UnavailableError
from heliostat.runtime.http_exchange import HttpExchange, OddAnswerError
from heliostat.runtime.http_requests import find_aim, write_request
from heliostat.runtime.http_session import (
    PROGRESS,
    SENT_AT_ONCE,
    Progress,
    Resolver,
    build_url,
    open_session,
    payload_of,
    read_reply,
    words_of,
    words_of_system,
)
from heliostat.runtime.kept_exchanges import KeptExchanges, Place
from heliostat.runtime.server_address import split_proxy
from heliostat.runtime.transport import Call, Chunks, Reply

MOST_REQUESTS = 272  # connections: more than the limiter ever lets in, and some for what passes it by
NO_LIMIT = 0  # of streams: there are as many as caches, and none of them ends to let another in

_KNOWN_SECONDS = 10.0  # an address that was looked up
_TlsParts: TypeAlias = tuple[Hidden | None, Certificate | None]  # authority, client certificate

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
        self._user_agent = user_agent
        resolver = Resolver(on_resolve)
        self._requests = open_session(most_requests, resolver)
        self._streams = open_session(NO_LIMIT, resolver)
        # Apart from each other, because the library shows addresses in its errors.
        self._proxy: str | None = None
        self._proxy_login: Hidden | None = None
        if connection.proxy is not None:
            self._proxy, self._proxy_login = split_proxy(connection.proxy)
        self._open: set[_StreamChunks] = set()
        self._tls: ssl.SSLContext | None = None
        self._tls_parts: _TlsParts | None = None
        self._kept = KeptExchanges(on_resolve, _KNOWN_SECONDS)
        self._room = asyncio.Semaphore(most_requests)

    async def send(self, call: Call, seconds: float) -> Reply:
        progress = Progress()
        is_plain = self._proxy is None and len(call.body) <= SENT_AT_ONCE
        try:
            if is_plain:
                return await self._exchange(call, progress, asyncio.get_running_loop().time() + seconds)
            async with asyncio.timeout(seconds):
                response = await self._begin(self._requests, call, progress)
                async with response:
                    return await read_reply(response, call.most_bytes)
        except TimeoutError:
            raise progress.error(call, f"no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OddAnswerError, OSError) as error:
            raise progress.error(call, words_of(error)) from error

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        progress = Progress()
        try:
            async with asyncio.timeout(seconds):
                response = await self._begin(self._streams, call, progress)
                if response.status == 200:
                    return _StreamChunks(response, call, self._open)
                async with response:
                    return await read_reply(response, call.most_bytes)
        except TimeoutError:
            raise UnavailableError(f"{call}: no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{call}: {words_of(error)}") from error

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        progress = Progress()
        try:
            async with asyncio.timeout(seconds):
                return _messages(await self._upgrade(call, progress), call)
        except aiohttp.WSServerHandshakeError as error:
            return Reply(error.status, error.message.encode())
        except TimeoutError:
            raise UnavailableError(f"{call}: no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{call}: {words_of(error)}") from error

    async def _upgrade(self, call: Call, progress: Progress) -> aiohttp.ClientWebSocketResponse:
        proof = await self._connection.credentials.fetch()
        PROGRESS.set(progress)
        return await self._streams.ws_connect(
            build_url(self._connection.server, call.path, call.query),
            headers=CIMultiDict(self._list_headers(call, proof)),
            ssl=self._build_tls(proof.certificate) or True,
            server_hostname=self._connection.tls_server_name or None,
            proxy=self._proxy,
            proxy_headers={"Proxy-Authorization": self._proxy_login.reveal()} if self._proxy_login else None,
            max_msg_size=call.most_bytes,
        )

    async def close(self) -> None:
        """End every connection, those of open streams too."""
        for stream in tuple(self._open):
            await stream.aclose()
        self._kept.close()
        await self._requests.close()
        await self._streams.close()
        await self._connection.credentials.close()
        for _ in range(_TURNS_TO_CLOSE):
            await asyncio.sleep(0)

    async def _exchange(self, call: Call, progress: Progress, deadline: float) -> Reply:
        """Without the library, which spends more on a small request than all the rest of it takes.

        A timeout costs as much as the request's own bytes, so there is one only around what may have to wait.
        """
        proof = self._connection.credentials.at_once()
        if proof is None:
            async with asyncio.timeout_at(deadline):
                proof = await self._connection.credentials.fetch()
        aim = find_aim(self._connection.server, call.path, call.query)
        tls = self._build_tls(proof.certificate)
        place = Place(aim.host, aim.port, tls, self._connection.tls_server_name)
        request = write_request(call, aim, self._list_headers(call, proof))
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

    async def _begin(self, session: aiohttp.ClientSession, call: Call, progress: Progress) -> ClientResponse:
        proof = await self._connection.credentials.fetch()
        PROGRESS.set(progress)
        response = await session.request(
            call.method,
            build_url(self._connection.server, call.path, call.query),
            headers=CIMultiDict(self._list_headers(call, proof)),
            data=payload_of(call.body),
            ssl=self._build_tls(proof.certificate) or True,
            server_hostname=self._connection.tls_server_name or None,
            proxy=self._proxy,
            proxy_headers={"Proxy-Authorization": self._proxy_login.reveal()} if self._proxy_login else None,
            allow_redirects=False,
        )
        if response.status == 401:
            self._connection.credentials.refused(proof)
        return response

    def _list_headers(self, call: Call, proof: Proof) -> list[tuple[str, str]]:
        headers = [("Accept", call.accept), ("Accept-Encoding", "identity"), ("User-Agent", self._user_agent)]
        if call.body:
            headers.append(("Content-Type", call.content_type))
        if proof.authorization is not None:
            headers.append(("Authorization", proof.authorization.reveal()))
        return [*headers, *self._connection.impersonation, *call.headers]

    def _build_tls(self, certificate: Certificate | None) -> ssl.SSLContext | None:
        """A new context only when authority or certificate changed: connections are kept for each context."""
        if not self._connection.server.startswith("https:"):
            return None
        authority = self._connection.authority
        parts = (authority.read() if authority else None, certificate)
        if self._tls is None or parts != self._tls_parts:
            skip = self._connection.skip_tls_verify
            self._tls = build_tls(self._connection.server, *parts, skip=skip)
            self._tls_parts = parts
        return self._tls


class _StreamChunks:
    """``among`` is where it stays for as long as it is open."""

    def __init__(self, response: ClientResponse, call: Call, among: "set[_StreamChunks]") -> None:
        self._response = response
        self._call = call
        self._chunks = response.content.iter_any()
        self._among = among
        among.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{self._call}: {words_of(error)}") from error

    async def aclose(self) -> None:
        """At once: a goodbye over TLS would keep the socket open for as long as the server takes to answer it."""
        self._among.discard(self)
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


async def _messages(socket: aiohttp.ClientWebSocketResponse, call: Call) -> AsyncGenerator[str, None]:
    try:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                yield message.data
            elif message.type is aiohttp.WSMsgType.ERROR:
                raise UnavailableError(f"{call}: {words_of(socket.exception() or ConnectionError('broken'))}")
        if socket.close_code != aiohttp.WSCloseCode.OK:
            raise UnavailableError(f"{call}: the stream broke off with code {socket.close_code}")
    finally:
        await socket.close()
