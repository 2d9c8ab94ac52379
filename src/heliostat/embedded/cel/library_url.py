"""URLs in rules: absolute ones and absolute paths, read as Go's net/url reads a request's target.

Only what can stand in an HTTP request line is a URL here (``foo`` is none, ``/foo`` and ``mailto:x`` are). Paths keep
the escapes they were written with where those are valid.
"""

import re
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.prices import READ_KEEPING_SIZE
from heliostat.embedded.cel.values import register_type

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"\x80-\U0010ffff]|%[0-9A-Fa-f]{2})*")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(r":[0-9]*|")
_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-._~$&+,/:;=@]")


class Url(Struct, frozen=True):
    scheme: str
    host: str
    path: str  # with its escapes
    query: str


class UrlError(ValueError):
    """Not a URL."""


def read_url(text: str) -> Url:
    """Raises ``UrlError`` with Go's words."""
    if _CONTROL.search(text):
        raise UrlError(_parse_error(text, "net/url: invalid control character in URL"))
    if not text:
        raise UrlError(_parse_error(text, "empty url"))
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if text.startswith(":"):
        raise UrlError(_parse_error(text, "missing protocol scheme"))
    rest, _, query = text[found.end() if found else 0 :].partition("#")[0].partition("?")
    if not rest.startswith("/"):
        if not scheme:
            raise UrlError(_parse_error(text, "invalid URI for request"))
        return Url(scheme, "", "", query)
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _read_host(text, authority), slash + path
    if _BAD_ESCAPE.search(rest):
        raise UrlError(_parse_error(text, f'invalid URL escape "{_bad_escape(rest)}"'))
    return Url(scheme, host, _escape_path(rest), query)


def _read_host(text: str, authority: str) -> str:
    user, _, host = authority.rpartition("@")
    if _USER.fullmatch(user) is None or _BAD_ESCAPE.search(user):
        raise UrlError(_parse_error(text, "net/url: invalid userinfo"))
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise UrlError(_parse_error(text, "missing ']' in host"))
        port = host[end + 1 :]
    else:
        colon = host.rfind(":")
        port = host[colon:] if colon >= 0 else ""
    if _PORT.fullmatch(port) is None:
        raise UrlError(_parse_error(text, f'invalid port "{port}" after host'))
    if _HOST.fullmatch(host) is None:
        raise UrlError(_parse_error(text, "invalid character in host name"))
    return unquote_to_bytes(host).decode(errors="replace")


def _escape_path(path: str) -> str:
    """As written when every character may stand in a path, otherwise escaped anew."""
    if _PATH_CHARACTERS.fullmatch(path) is not None:
        return path
    plain = unquote_to_bytes(path)
    return "".join(chr(byte) if _PLAIN_PATH.fullmatch(chr(byte)) else f"%{byte:02X}" for byte in plain)


def _bad_escape(text: str) -> str:
    start = text.index("%") if (found := _BAD_ESCAPE.search(text)) is None else found.start()
    return text[start : start + 3]


def _parse_error(text: str, reason: str) -> str:
    return f'parse "{text}": {reason}'


def _parse(text: str) -> Url:
    try:
        return read_url(text)
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        read_url(text)
    except UrlError:
        return False
    return True


def _hostname(url: Url) -> str:
    if url.host.startswith("["):
        return url.host[1:].partition("]")[0]
    return url.host.partition(":")[0]


def _port(url: Url) -> str:
    after = url.host.rpartition("]")[2]
    return after.partition(":")[2]


def _query(url: Url) -> dict[str, list[str]]:
    """Every value of every parameter; parts that cannot be read are left out."""
    values: dict[str, list[str]] = {}
    for part in url.query.split("&"):
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            key, _, value = part.replace("+", " ").partition("=")
            name, text = (unquote_to_bytes(raw).decode(errors="replace") for raw in (key, value))
            values.setdefault(name, []).append(text)
    return values


register_type(Url, "kubernetes.URL")

URLS: list[Declaration] = [
    function("url(string) -> url", run=_parse, price=READ_KEEPING_SIZE),
    function("isURL(string) -> bool", run=_is_url),
    method("url.getScheme() -> string", run=lambda url: url.scheme),
    method("url.getHost() -> string", run=lambda url: url.host),
    method("url.getHostname() -> string", run=_hostname),
    method("url.getPort() -> string", run=_port),
    method("url.getEscapedPath() -> string", run=lambda url: url.path),
    method("url.getQuery() -> map(string, list(string))", run=_query),
]
