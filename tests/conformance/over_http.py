"""A server behind HTTP, ours or the real one."""

import ssl
from collections.abc import AsyncIterator
from io import BytesIO
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from conformance.recording import Reply, decode_body
from conformance.targets import Sent, WatchReader

READ_SECONDS = 60.0


class HttpTarget:
    """``quiet`` is how long a watch must say nothing to have said everything."""

    def __init__(self, name: str, url: str, *, tls: ssl.SSLContext | None, token: str = "", quiet: float) -> None:
        self.name = name
        self._url = url
        self._tls = tls
        self._token = token
        self._quiet = quiet
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self._tls if self._tls is not None else False, limit=0)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        timeout = aiohttp.ClientTimeout(total=None, sock_read=READ_SECONDS)
        self._session = aiohttp.ClientSession(
            connector=connector, headers=headers, timeout=timeout, skip_auto_headers=("Content-Type",)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, sent: Sent) -> Reply:
        async with await self._request(sent) as response:
            return _build_reply(response, await response.read())

    async def watch(self, sent: Sent) -> tuple[Reply, WatchReader | None]:
        response = await self._request(sent)
        if response.status != 200 or "Content-Length" in response.headers:  # an answer, no stream
            async with response:
                return _build_reply(response, await response.read()), None
        return _build_reply(response, None), WatchReader(_chunks(response))

    async def settle(self, reader: WatchReader, seen: int) -> None:
        await reader.wait_quiet(self._quiet, seen)

    async def compact(self) -> None:
        raise NotImplementedError("how to compact is the server's own business")

    async def catch_up(self) -> None:
        """Most servers have nothing that lags."""

    async def _request(self, sent: Sent) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("use the target as a context manager")
        url = URL(self._url + sent.path, encoded=True).update_query(sent.query)
        return await self._session.request(
            sent.method,
            url,
            data=BytesIO(sent.body) if sent.body else None,
            headers=sent.headers,
            allow_redirects=False,
        )


def _build_reply(response: aiohttp.ClientResponse, body: bytes | None) -> Reply:
    warnings = tuple(response.headers.getall("Warning", ()))
    content_type = response.headers.get("Content-Type", "")
    return Reply(response.status, content_type, warnings, decode_body(body) if body is not None else None)


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    async with response:
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except (TimeoutError, aiohttp.ClientError):
            return
