"""A command in a container, over a WebSocket whose messages begin with the number of their channel.

The protocol is ``v5.channel.k8s.io``: 0 is the command's input, 1 and 2 its outputs, 3 how it ended, 4 the size of the
window; 255 and a number end that channel. How it looks to a person is decided elsewhere.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import IntEnum
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from heliostat.cli.cluster_access import REQUEST_SECONDS, Cluster
from heliostat.runtime.client_tls import build_tls
from heliostat.runtime.connection import Connection, Proof
from heliostat.runtime.errors import ApiError, InvalidError, UnavailableError, error_of
from heliostat.runtime.server_address import split_proxy
from heliostat.runtime.transport import Call

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
_CLOSE = 255
_MOST = 16 * 1024 * 1024  # bytes of one message


class Channel(IntEnum):
    STDIN = 0
    STDOUT = 1
    STDERR = 2
    STATUS = 3
    SIZE = 4


class _Cause(Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Details(Struct, frozen=True):
    causes: list[_Cause] = []


class Ending(Struct, frozen=True):
    """How the command ended, as the server tells."""

    status: str = ""
    message: str = ""
    details: _Details | None = None

    @property
    def exit_code(self) -> int | None:
        """None when the command could not be run."""
        if self.status == "Success":
            return 0
        causes = self.details.causes if self.details is not None else []
        codes = (cause.message for cause in causes if cause.reason == "ExitCode")
        return next((int(code) for code in codes if code.isdecimal()), None)


class Channels:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def send(self, channel: Channel, data: bytes) -> None:
        await self._socket.send_bytes(bytes((channel,)) + data)

    async def end_input(self) -> None:
        """An older server cannot be told; its command goes on waiting for input."""
        if self._socket.protocol == V5:
            await self._socket.send_bytes(bytes((_CLOSE, Channel.STDIN)))

    async def receive(self) -> tuple[int, bytes] | None:
        """Channel and data; None when the server has ended the connection."""
        message = await self._socket.receive()
        while message.type is aiohttp.WSMsgType.BINARY and not message.data:
            message = await self._socket.receive()
        return (message.data[0], message.data[1:]) if message.type is aiohttp.WSMsgType.BINARY else None


def read_ending(data: bytes) -> Ending:
    try:
        return msgspec.json.decode(data, type=Ending)
    except msgspec.MsgspecError:
        return Ending(message=data.decode(errors="replace"))


@asynccontextmanager
async def open_channels(cluster: Cluster, call: Call) -> AsyncIterator[Channels]:
    """Raises ApiError."""
    connection = cluster.connection
    proof = await connection.credentials.fetch()
    proxy, login = split_proxy(connection.proxy) if connection.proxy is not None else (None, None)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        try:
            socket = await session.ws_connect(
                _build_url(connection, call),
                protocols=(V5, V4),
                headers=_build_headers(connection, proof),
                ssl=_build_tls(connection, proof),
                server_hostname=connection.tls_server_name or None,
                proxy=proxy,
                proxy_headers={"Proxy-Authorization": login.reveal()} if login is not None else None,
                max_msg_size=_MOST,
            )
        except aiohttp.WSServerHandshakeError as error:
            raise await _ask_why(cluster, call, error) from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{call}: {error}") from error
        try:
            yield Channels(socket)
        finally:
            await socket.close()


async def _ask_why(cluster: Cluster, call: Call, refused: aiohttp.WSServerHandshakeError) -> ApiError:
    """The library throws the server's words away; the same request without an upgrade is refused with the same."""
    reply = await cluster.transport.send(call, REQUEST_SECONDS)
    if reply.status == refused.status and reply.status >= 400:
        return error_of(reply.status, reply.body)
    if refused.status >= 500:
        why = f"the server does not reach the Pod's node ({refused.status}); heliostat get nodes tells how it is"
        return InvalidError(refused.status, "", why)
    return InvalidError(refused.status, "", f"the server does not run commands over WebSockets: {refused.status}")


def _build_url(connection: Connection, call: Call) -> URL:
    return URL(f"{connection.server}{quote(call.path)}?{urlencode(call.query)}", encoded=True)


def _build_headers(connection: Connection, proof: Proof) -> CIMultiDict[str]:
    headers = CIMultiDict({"User-Agent": "heliostat-cli"})
    if proof.authorization is not None:
        headers["Authorization"] = proof.authorization.reveal()
    headers.extend(connection.impersonation)
    return headers


def _build_tls(connection: Connection, proof: Proof) -> ssl.SSLContext:
    authority = connection.authority.read() if connection.authority is not None else None
    return build_tls(connection.server, authority, proof.certificate, skip=connection.skip_tls_verify)
