"""A call as the bytes of an HTTP/1.1 request, and where they go. Pure."""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit

from msgspec import Struct

from heliostat.runtime.errors import UnavailableError
from heliostat.runtime.transport import Call

_PATH_SAFE = "/:@!$&'()*+,;=~[]"  # brackets for addresses of IPv6, where a path holds a whole address
_PORTS = {"http": 80, "https": 443}
_EXPECTS_LENGTH = ("POST", "PUT", "PATCH")


class Aim(Struct, frozen=True):
    host: str
    port: int
    name: str  # what the Host header says
    target: str  # path and query


def build_address(server: str, path: str, query: tuple[tuple[str, str], ...]) -> str:
    asked = f"?{urlencode(query)}" if query else ""
    return f"{server}{quote(path, safe=_PATH_SAFE)}{asked}"


@lru_cache(maxsize=2048)
def find_aim(server: str, path: str, query: tuple[tuple[str, str], ...]) -> Aim:
    """Kept, because an object is written more than once, and what is created in a namespace goes to a few of them."""
    parts = urlsplit(build_address(server, path, query))
    asked = f"?{parts.query}" if parts.query else ""
    return Aim(parts.hostname or "", parts.port or _PORTS[parts.scheme], parts.netloc, f"{parts.path or '/'}{asked}")


def write_request(call: Call, aim: Aim, headers: Iterable[tuple[str, str]]) -> bytes:
    """Raises UnavailableError for a header that would be more than one."""
    lines = [f"{call.method} {aim.target} HTTP/1.1", f"Host: {aim.name}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if call.body or call.method in _EXPECTS_LENGTH:
        lines.append(f"Content-Length: {len(call.body)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise UnavailableError(f"{call}: a header with a line end inside is not sent")
    return head.encode() + b"\r\n\r\n" + call.body
