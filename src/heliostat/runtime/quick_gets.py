"""Plain GETs over kept connections, for what is asked again and again: a dashboard, every two seconds, of each cluster.

The HTTP library spends most of a small request on what such a one does not need (docs/decisions/0016). Here is the
narrow way: a request that is written once and sent again and again. Whatever is not that (another method, a path or a
header that cannot be written as it is) goes over the transport behind. A GET changes nothing, so one that meets a
connection which the server was about to close is sent once more.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from functools import lru_cache
from urllib.parse import urlencode

from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.http_exchange import HttpExchange, OddAnswerError
from heliostat.runtime.http_failures import words_of_system
from heliostat.runtime.kept_exchanges import KeptExchanges, Place
from heliostat.runtime.transport import Call, Chunks, MessageTransport, Reply, Transport

_PLAIN_PATH = re.compile(r"//([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:]+\]):(\d+)(/[A-Za-z0-9/_.\-:]*)")
_PLAIN_HEADER = re.compile(r"[\x20-\x7e]*")


class QuickGets:
    """A transport; ``behind`` has the same manners and does everything else."""

    def __init__(self, behind: Transport, user_agent: str) -> None:
        self._behind = behind
        self._user_agent = user_agent
        self._kept = KeptExchanges()

    async def send(self, call: Call, seconds: float) -> Reply:
        prepared = _prepare(call.path, call.query, call.accept, self._user_agent) if call.method == "GET" else None
        is_plain = not call.body and all(_PLAIN_HEADER.fullmatch(text) for pair in call.headers for text in pair)
        if prepared is None or not is_plain:
            return await self._behind.send(call, seconds)
        place, request = prepared
        if call.headers:  # a token among them is kept nowhere
            more = "".join(f"{name}: {value}\r\n" for name, value in call.headers)
            request = request[:-2] + more.encode() + b"\r\n"
        return await self._ask(call, place, request, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self._behind.open(call, seconds)

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        if not isinstance(self._behind, MessageTransport):
            raise UnavailableError(f"{call}: this transport reads no messages")
        return await self._behind.listen(call, seconds)

    async def close(self) -> None:
        self._kept.close()
        await self._behind.close()

    async def _ask(self, call: Call, place: Place, request: bytes, seconds: float) -> Reply:
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            while (exchange := self._kept.take(place)) is not None:
                try:
                    return await self._exchange(place, exchange, request, call.most_bytes, deadline)
                except ConnectionError:
                    continue  # it was about to be closed
            async with asyncio.timeout_at(deadline):
                exchange = await self._kept.connect(place)
            return await self._exchange(place, exchange, request, call.most_bytes, deadline)
        except TimeoutError:
            error = UnavailableError if exchange is None else AmbiguousError
            raise error(f"{call}: no answer within {seconds:.3g} s") from None
        except OddAnswerError as error:
            raise AmbiguousError(f"{call}: {error}") from error
        except OSError as error:
            if exchange is not None:
                raise AmbiguousError(f"{call}: {error}") from error
            where = f"{place.host}:{place.port}"
            raise UnavailableError(f"{call}: cannot connect to {where}: {words_of_system(error)}") from error

    async def _exchange(
        self, place: Place, exchange: HttpExchange, request: bytes, most_bytes: int, deadline: float
    ) -> Reply:
        reply = await exchange.ask(request, most_bytes=most_bytes, deadline=deadline)
        self._kept.keep(place, exchange)
        return reply


@lru_cache(maxsize=8192)
def _prepare(path: str, query: tuple[tuple[str, str], ...], accept: str, user_agent: str) -> tuple[Place, bytes] | None:
    """Where it goes, and the request without headers of its own; None: not for this narrow way."""
    found = _PLAIN_PATH.fullmatch(path)
    if found is None:
        return None
    asked = f"?{urlencode(query)}" if query else ""
    lines = [f"GET {found[3]}{asked} HTTP/1.1", f"Host: {found[1]}:{found[2]}", f"Accept: {accept}"]
    text = "\r\n".join([*lines, "Accept-Encoding: identity", f"User-Agent: {user_agent}", "", ""])
    return Place(found[1].strip("[]"), int(found[2])), text.encode()
