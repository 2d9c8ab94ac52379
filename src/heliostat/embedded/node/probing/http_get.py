"""One HTTP GET, as probes and hooks make it: to a Pod's address, with a certificate that nobody checks.

Only the status counts, so only the head of the answer is read. A redirect within the same host is followed; one that
leads elsewhere is an answer.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from heliostat.embedded.http1.heads import NoHttpError, build_request
from heliostat.embedded.http1.streams import read_answer
from heliostat.embedded.node.pods import Container
from heliostat.kube.counts import read_count

Connect: TypeAlias = Callable[[str, int], Awaitable[socket.socket]]

_AGENT = "kube-probe/1.34"
_MOST_REDIRECTS = 10


class Answered(Struct, frozen=True):
    status: int
    location: str = ""  # a redirect that leads to another host


class UnknownPortError(Exception):
    """The name of a port that the container does not have."""


class _Url(Struct, frozen=True):
    is_secure: bool
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        return f"http{'s' if self.is_secure else ''}://{self.host}:{self.port}{self.path}"


def resolve_port(port: int | str, container: Container) -> int:
    """A number, or the name of one of the container's ports."""
    number = port if isinstance(port, int) else read_count(port)
    if number is not None:
        return number
    for known in container.ports:
        if known.name == port:
            return known.container_port
    raise UnknownPortError(
        f"couldn't find port {port!r} in container {container.name}; it has to be named in its ports"
    )


async def get(connect: Connect, action: dict[str, Any], container: Container, address: str) -> Answered:
    """``action`` is an httpGet of a probe or a hook. Raises OSError and what the connection raises."""
    path = str(action.get("path") or "/")
    url = _Url(
        str(action.get("scheme") or "HTTP").upper() == "HTTPS",
        action.get("host") or address,
        resolve_port(action["port"], container),
        path if path.startswith("/") else f"/{path}",
    )
    for _ in range(_MOST_REDIRECTS):
        status, location = await _ask(connect, url, _headers(action, url))
        if not 300 <= status < 400 or not location:
            return Answered(status)
        target = _follow(url, location)
        if target is None:
            return Answered(status, location)
        url = target
    raise OSError(f"stopped after {_MOST_REDIRECTS} redirects")


def _headers(action: dict[str, Any], url: _Url) -> dict[str, str]:
    headers = {"Host": f"{url.host}:{url.port}", "User-Agent": _AGENT, "Accept": "*/*", "Connection": "close"}
    by_name = {name.lower(): name for name in headers}
    for header in action.get("httpHeaders") or ():
        headers[by_name.get(header["name"].lower(), header["name"])] = header.get("value") or ""
    return headers


def _follow(url: _Url, location: str) -> _Url | None:
    parts = urlsplit(urljoin(str(url), location))
    if parts.hostname != url.host or parts.scheme not in ("http", "https"):
        return None
    is_secure = parts.scheme == "https"
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return _Url(is_secure, url.host, parts.port or (443 if is_secure else 80), path)


async def _ask(connect: Connect, url: _Url, headers: dict[str, str]) -> tuple[int, str]:
    """The status, and where it leads."""
    reader, writer = await _open(connect, url)
    try:
        writer.write(build_request("GET", url.path, tuple(headers.items()), "utf-8"))
        await writer.drain()
        head, _ = await read_answer(reader)
    except NoHttpError as error:
        raise OSError("the connection ended before an answer" if "EOF" in str(error) else str(error)) from None
    finally:
        writer.close()
    return head.status, head.get("location")


async def _open(connect: Connect, url: _Url) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    made = await connect(url.host, url.port)
    try:
        if not url.is_secure:
            return await asyncio.open_connection(sock=made)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the default one reads all authorities: 60 ms and 2 MB
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return await asyncio.open_connection(sock=made, ssl=context, server_hostname=url.host)
    except BaseException:  # cancelled or refused: nobody else knows this socket
        made.close()
        raise
