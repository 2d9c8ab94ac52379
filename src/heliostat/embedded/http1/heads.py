"""The head of a request or an answer: its first line and its headers, from bytes and back (RFC 9112).

Rules: a request that two readers could take apart differently is refused (folded lines, a blank before the colon, bare
line feeds, two lengths), because that is how requests are smuggled past a proxy. An answer comes from a Pod and is read
as leniently as clients do, as long as it is clear. Names of headers keep their spelling and are compared without case.
"""

import re
from typing import TypeAlias

from msgspec import Struct

Headers: TypeAlias = tuple[tuple[str, str], ...]

MOST_HEAD = 64 * 1024  # bytes
MOST_HEADERS = 500
SWITCHED = 101

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(r"[!-~\x80-\xff]+")
_BAD_IN_VALUE = re.compile(r"[\x00\r\n]")
_END = re.compile(rb"\r?\n\r?\n")
_OF_ONE_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)


class NoHttpError(Exception):
    """What came is not HTTP; the text says what is wrong with it."""


class LargeHeadError(NoHttpError):
    """Nobody reads on to find out whether it is."""

    def __init__(self, whose: str) -> None:
        super().__init__(f"the head of the {whose} is larger than {MOST_HEAD} bytes")


class RequestHead(Struct, frozen=True, gc=False):
    method: str
    target: str
    minor: int  # of HTTP/1.x
    headers: Headers

    def get(self, name: str) -> str:
        return get_header(self.headers, name)


class ResponseHead(Struct, frozen=True, gc=False):
    status: int
    reason: str
    minor: int
    headers: Headers

    def get(self, name: str) -> str:
        return get_header(self.headers, name)


def get_header(headers: Headers, name: str) -> str:
    """The value, or all of them as one list; ``name`` is in lower case."""
    found = [value for key, value in headers if key.lower() == name]
    return found[0] if len(found) == 1 else ", ".join(found)


def find_head_end(data: bytes | bytearray) -> int:
    """Where the head ends and the body begins; -1 while it is incomplete. Whether it may end so says who parses it."""
    found = _END.search(data)
    return found.end() if found is not None else -1


def parse_request(block: bytes) -> RequestHead:
    """Raises NoHttpError."""
    first, *lines = block.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise NoHttpError(f"malformed HTTP request {first[:100]!r}")
    method, target, version = words
    if _TOKEN.fullmatch(method) is None or _TARGET.fullmatch(target) is None:
        raise NoHttpError(f"malformed HTTP request {first[:100]!r}")
    return RequestHead(method, target, int(version[-1]), _parse_headers(lines, is_strict=True))


def parse_response(block: bytes) -> ResponseHead:
    """Raises NoHttpError."""
    first, *lines = block.decode("latin-1").replace("\r\n", "\n").rstrip("\n").split("\n")
    version, _, rest = first.partition(" ")
    code, minor = rest[:3], version[7:]
    is_status = len(code) == 3 and code.isascii() and code.isdecimal() and rest[3:4] in ("", " ")
    if not version.startswith("HTTP/1.") or minor not in ("0", "1") or not is_status:
        raise NoHttpError(f"malformed HTTP response {first[:100]!r}")
    return ResponseHead(int(code), rest[4:], int(minor), _parse_headers(lines, is_strict=False))


def _parse_headers(lines: list[str], *, is_strict: bool) -> Headers:
    if len(lines) > MOST_HEADERS:
        raise NoHttpError(f"more than {MOST_HEADERS} headers")
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not is_strict:
            name = name.strip()
        if not colon or _TOKEN.fullmatch(name) is None:
            raise NoHttpError(f"a header that is none: {line[:100]!r}")
        if _BAD_IN_VALUE.search(value) is not None:
            raise NoHttpError(f"a header with a control character: {name!r}")
        headers.append((name, value.strip(" \t")))
    return tuple(headers)


def build_request(method: str, target: str, headers: Headers, encoding: str = "latin-1") -> bytes:
    """``encoding`` is that by which the headers were read."""
    return _build(f"{method} {target} HTTP/1.1\r\n", headers, encoding)


def build_response(status: int, reason: str, headers: Headers) -> bytes:
    return _build(f"HTTP/1.1 {status} {reason}\r\n", headers)


def _build(first: str, headers: Headers, encoding: str = "latin-1") -> bytes:
    return (first + "".join([f"{name}: {value}\r\n" for name, value in headers]) + "\r\n").encode(encoding)


def passed_on(headers: Headers, without: frozenset[str] = frozenset()) -> Headers:
    """Those that do not concern one connection alone: by name, or because ``Connection`` names them."""
    named = _words(get_header(headers, "connection"))
    dropped = _OF_ONE_CONNECTION | named | without if named or without else _OF_ONE_CONNECTION
    return tuple([header for header in headers if header[0].lower() not in dropped])


def asks_for_upgrade(headers: Headers) -> bool:
    return "upgrade" in _words(get_header(headers, "connection"))


def keeps_connection(minor: int, headers: Headers) -> bool:
    """Whether another message may follow on the same connection."""
    words = _words(get_header(headers, "connection"))
    return "close" not in words and (minor >= 1 or "keep-alive" in words)


def _words(value: str) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in value.split(",")) - {""} if value else frozenset()
