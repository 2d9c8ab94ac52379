"""Bodies of requests as they come from the HTTP library: whole, within a largest size, or passed on piece by piece.

Rules: what the server itself reads has kube-apiserver's largest size and a deadline; what a proxy passes on has
neither, and only the next piece must come in time. Such a body is not read before somebody wants it, so that a client
that is sent away need not send it.
"""

import asyncio

from aiohttp import web

from heliostat.embedded.server.errors import bad_request
from heliostat.embedded.server.limits import LARGEST_BODY, too_large, too_slow
from heliostat.embedded.server.messages import GoneError
from heliostat.embedded.server.targets import parse_target

_GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"


def is_passed_on(incoming: web.BaseRequest) -> bool:
    """Whether the body is for a Pod. A change of protocols comes first there, and what is sent follows it."""
    if "upgrade" in incoming.headers:
        return False
    target = parse_target(incoming.path)
    return target is not None and target.subresource == "proxy"


async def read_body(incoming: web.BaseRequest, seconds: float) -> bytes:
    """Raises RefusedError."""
    if (incoming.content_length or 0) > LARGEST_BODY:
        raise too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in incoming.content.iter_any():
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise too_large()
    except TimeoutError:
        raise too_slow(seconds) from None
    except web.RequestPayloadError:
        raise bad_request("the body of the request is not complete") from None
    return bytes(body)


class HttpUpload:
    """The library stops to read from the connection while nobody takes the pieces."""

    def __init__(self, incoming: web.BaseRequest, seconds: float) -> None:
        self.length = incoming.content_length
        self._incoming = incoming
        self._seconds = seconds
        self._is_awaited = incoming.headers.get("Expect", "").lower() == "100-continue"

    async def read(self) -> bytes:
        self._ask_for_it()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._incoming.content.readany()
        except TimeoutError:
            raise too_slow(self._seconds) from None
        except (web.RequestPayloadError, ConnectionError) as error:
            raise GoneError(f"the client broke its body off: {error}") from None

    def _ask_for_it(self) -> None:
        """Once, for a client that waits to hear whether its body is wanted."""
        if self._is_awaited and self._incoming.transport is not None:
            self._incoming.transport.write(_GO_ON)
        self._is_awaited = False
