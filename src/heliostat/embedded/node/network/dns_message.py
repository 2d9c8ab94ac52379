"""DNS messages as far as a cluster's resolver needs them: one question in, records out. Pure bytes, RFC 1035.

What cannot be read is a ``DnsError``; what is read but not known to us is for somebody else to answer.
"""

import struct
from ipaddress import IPv4Address
from typing import Final, TypeAlias

from msgspec import Struct

A, CNAME, PTR, AAAA, SRV = 1, 5, 12, 28, 33
ANY: Final = 255
INTERNET: Final = 1

NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NO_SUCH_NAME, NOT_IMPLEMENTED = 0, 1, 2, 3, 4

LARGEST_DATAGRAM: Final = 512
_LONGEST_LABEL, _LONGEST_NAME, _MOST_JUMPS = 63, 255, 32
_ANSWER, _AUTHORITATIVE, _TRUNCATED, _RECURSION_WANTED, _RECURSION_HERE = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080
_OPCODE: Final = 0x7800
_CODE: Final = 0x000F
_POINTER: Final = 0xC0
_OPT: Final = 41


class DnsError(ValueError):
    """Bytes that are no DNS query."""


class Question(Struct, frozen=True):
    id: int
    flags: int
    name: str  # lower case, without the final dot
    type: int
    class_: int
    raw: bytes  # the question as it was asked, to be repeated in the answer
    most_bytes: int = LARGEST_DATAGRAM  # what the asker takes in one datagram

    @property
    def is_query(self) -> bool:
        return not self.flags & (_ANSWER | _OPCODE)


class Address(Struct, frozen=True):
    address: IPv4Address


class Alias(Struct, frozen=True):
    name: str


class Address6(Struct, frozen=True):
    """Of version 6: the cluster has none, and passes on what others say."""

    packed: bytes


class Pointer(Struct, frozen=True):
    name: str


class Location(Struct, frozen=True):
    """SRV."""

    port: int
    target: str
    priority: int = 0
    weight: int = 100


RecordData: TypeAlias = Address | Address6 | Alias | Pointer | Location


class Record(Struct, frozen=True):
    name: str
    data: RecordData
    seconds: int = 5  # how long it may be kept; Pods come and go


def read_question(message: bytes) -> Question:
    if len(message) < 12:
        raise DnsError("shorter than a DNS header")
    id_, flags, questions, *_rest = struct.unpack_from("!HHHHHH", message)
    if questions != 1:
        raise DnsError(f"{questions} questions; one is asked at a time")
    name, end = read_name(message, 12)
    if end + 4 > len(message):
        raise DnsError("the question is cut off")
    kind, class_ = struct.unpack_from("!HH", message, end)
    return Question(id_, flags, name, kind, class_, message[12 : end + 4], _datagram_size(message, end + 4))


def _datagram_size(message: bytes, at: int) -> int:
    """What an OPT record, when it is the first one after the question, says."""
    if len(message) >= at + 11 and message[at] == 0:
        kind, size = struct.unpack_from("!HH", message, at + 1)
        if kind == _OPT:
            return max(LARGEST_DATAGRAM, min(int(size), 4096))
    return LARGEST_DATAGRAM


def read_name(message: bytes, at: int) -> tuple[str, int]:
    """The name, and where the bytes after it begin."""
    labels: list[str] = []
    end, jumps, length = 0, 0, 0
    while True:
        if at >= len(message):
            raise DnsError("a name is cut off")
        size = message[at]
        if size & _POINTER == _POINTER:
            if at + 2 > len(message) or jumps >= _MOST_JUMPS:
                raise DnsError("a name that leads nowhere")
            end = end or at + 2
            at = struct.unpack_from("!H", message, at)[0] & 0x3FFF
            jumps += 1
            continue
        if size > _LONGEST_LABEL:
            raise DnsError("a label of a kind that nobody uses")
        at += 1
        if not size:
            return ".".join(labels).lower(), end or at
        length += size + 1
        if at + size > len(message) or length > _LONGEST_NAME:
            raise DnsError("a name that is too long or cut off")
        labels.append(message[at : at + size].decode("latin-1"))
        at += size


def is_truncated(message: bytes) -> bool:
    return len(message) >= 4 and bool(struct.unpack_from("!H", message, 2)[0] & _TRUNCATED)


def read_answer(message: bytes) -> tuple[int, tuple[Record, ...]]:
    """The code, and those of the answer's records that say where a name leads. Raises DnsError."""
    question = read_question(message)
    at, records = 12 + len(question.raw), []
    for _ in range(struct.unpack_from("!H", message, 6)[0]):
        name, at = read_name(message, at)
        if at + 10 > len(message):
            raise DnsError("a record is cut off")
        kind, _class, seconds, size = struct.unpack_from("!HHIH", message, at)
        data = _read_data(message, kind, at + 10, size)
        if data is not None:
            records.append(Record(name, data, seconds))
        at += 10 + size
    return question.flags & _CODE, tuple(records)


def _read_data(message: bytes, kind: int, at: int, size: int) -> RecordData | None:
    if at + size > len(message):
        raise DnsError("a record is cut off")
    if kind == CNAME:
        return Alias(read_name(message, at)[0])
    if kind == A and size == 4:
        return Address(IPv4Address(message[at : at + 4]))
    return Address6(message[at : at + 16]) if kind == AAAA and size == 16 else None


def build_answer(question: Question, records: tuple[Record, ...], code: int = NO_ERROR, *, is_datagram: bool) -> bytes:
    """Cut to nothing but the header when a datagram cannot hold it: then the asker comes by TCP."""
    body = b"".join(map(_build_record, records))
    flags = _ANSWER | _AUTHORITATIVE | _RECURSION_HERE | (question.flags & _RECURSION_WANTED) | code
    count = len(records)
    if is_datagram and 12 + len(question.raw) + len(body) > question.most_bytes:
        flags, count, body = flags | _TRUNCATED, 0, b""
    return struct.pack("!HHHHHH", question.id, flags, 1, count, 0, 0) + question.raw + body


def build_failure(message: bytes, code: int) -> bytes:
    """For what could not be read; empty when not even its number could."""
    if len(message) < 2:
        return b""
    return message[:2] + struct.pack("!HHHHH", _ANSWER | code, 0, 0, 0, 0)


def _build_record(record: Record) -> bytes:
    match record.data:
        case Address(address):
            kind, data = A, address.packed
        case Address6(packed):
            kind, data = AAAA, packed
        case Alias(name):
            kind, data = CNAME, build_name(name)
        case Pointer(name):
            kind, data = PTR, build_name(name)
        case Location():
            where = record.data
            kind = SRV
            data = struct.pack("!HHH", where.priority, where.weight, where.port) + build_name(where.target)
    return build_name(record.name) + struct.pack("!HHIH", kind, INTERNET, record.seconds, len(data)) + data


def build_name(name: str) -> bytes:
    built = b""
    for label in filter(None, name.split(".")):
        encoded = label.encode("latin-1")
        built += bytes((len(encoded),)) + encoded
    return built + b"\0"


def build_query(id_: int, name: str, kind: int) -> bytes:
    header = struct.pack("!HHHHHH", id_, _RECURSION_WANTED, 1, 0, 0, 0)
    return header + build_name(name) + struct.pack("!HH", kind, INTERNET)
