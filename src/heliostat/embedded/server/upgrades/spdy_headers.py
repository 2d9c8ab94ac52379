"""Header blocks of SPDY/3.1: names and values, packed with one zlib stream per direction and the protocol's dictionary.

Rules: a block belongs to its connection, because each continues the packing of the one before; what a small block may
unpack to is bounded; names are lower case. A block that breaks a rule breaks the connection, so it is an error.
"""

import zlib
from collections.abc import Mapping
from io import BytesIO
from struct import Struct as Layout

LARGEST_BLOCK = 64 * 1024  # bytes, unpacked; clients of Kubernetes send three short headers
_LENGTH = Layout(">I")

_NAMES = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_WORDS = (*_NAMES.split(), "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TAIL = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    b"404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    b"publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def build_dictionary() -> bytes:
    """What both sides start from: likely names, each with its length in front, and likely pieces of values."""
    return b"".join(_LENGTH.pack(len(word)) + word.encode() for word in _WORDS) + _TAIL


_DICTIONARY = build_dictionary()


class SpdyError(Exception):
    """The other side does not keep to the protocol. The message says what it did."""


class HeaderPacker:
    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=_DICTIONARY)

    def pack(self, headers: Mapping[str, str]) -> bytes:
        block = bytearray(_LENGTH.pack(len(headers)))
        for text in (text for header in headers.items() for text in header):
            encoded = text.encode()
            block += _LENGTH.pack(len(encoded)) + encoded
        return self._zlib.compress(bytes(block)) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class HeaderUnpacker:
    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=_DICTIONARY)

    def unpack(self, packed: bytes) -> dict[str, str]:
        """Raises SpdyError."""
        try:
            block = self._zlib.decompress(packed, LARGEST_BLOCK + 1)
        except zlib.error as error:
            raise SpdyError(f"a header block cannot be unpacked: {error}") from None
        if len(block) > LARGEST_BLOCK or self._zlib.unconsumed_tail:
            raise SpdyError(f"a header block has more than {LARGEST_BLOCK} bytes")
        return _read_block(block)


def _read_block(block: bytes) -> dict[str, str]:
    rest = BytesIO(block)
    headers: dict[str, str] = {}
    for _ in range(_read_number(rest)):
        name, value = _read_text(rest), _read_text(rest)
        if not name or name != name.lower() or name in headers:
            raise SpdyError("a header block has a name that is empty, not in lower case, or there twice")
        headers[name] = value
    if rest.read(1):
        raise SpdyError("a header block has more than its headers")
    return headers


def _read_number(block: BytesIO) -> int:
    return int.from_bytes(_read_bytes(block, _LENGTH.size))


def _read_text(block: BytesIO) -> str:
    return _read_bytes(block, _read_number(block)).decode("utf-8", "replace")


def _read_bytes(block: BytesIO, length: int) -> bytes:
    found = block.read(length)
    if len(found) < length:
        raise SpdyError("a header block ends too early")
    return found
