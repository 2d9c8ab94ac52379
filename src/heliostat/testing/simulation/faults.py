"""What can go wrong between a program and its API server, as data.

A fault meets a call, which is named by the program and the number of the call (counted over all its lives): so the same
faults give the same run, can be kept as text, replayed, and left out one by one.
"""

from typing import TypeAlias

import msgspec
from msgspec import Struct


class Crash(Struct, frozen=True, tag=True):
    """The program dies at this call: before it is sent, after it was carried out, or with it still on its way."""

    when: str  # before, after, late
    landing: float = 0.0  # seconds until a late one is carried out


class LoseRequest(Struct, frozen=True, tag=True):
    """Sent and never carried out; no answer."""


class LoseReply(Struct, frozen=True, tag=True):
    """Carried out; no answer."""


class LandLate(Struct, frozen=True, tag=True):
    """No answer in time; carried out a little later, still within the request's own deadline at the server."""

    part: float  # of the deadline


class Reset(Struct, frozen=True, tag=True):
    """The connection breaks at once; nobody can tell whether the call was carried out."""

    carried_out: bool


class Refuse(Struct, frozen=True, tag=True):
    """This code instead of an answer; a store that timed out, or a proxy, may have carried it out all the same."""

    code: int
    words: str = "injected"
    carried_out: bool = False


class Slow(Struct, frozen=True, tag=True):
    """The server takes so long before it begins; with a slow body it has done it, and the answer takes so long."""

    seconds: float
    body: bool = False


class Stale(Struct, frozen=True, tag=True):
    """A list answered by a replica that is so many revisions behind, although it was asked for the newest.

    Kubernetes promises that this does not happen; who has seen something newer can tell and must not believe it.
    """

    revisions: int


class Lag(Struct, frozen=True, tag=True):
    """A watch that tells of a change so much later, as from a replica that is behind: another watch is no newer.

    With ``one_in`` only the changes of one object in so many do, and whatever comes after them waits.
    """

    seconds: float
    one_in: int = 1


class Miss(Struct, frozen=True, tag=True):
    """A watch that tells so many lines, then nothing for so long, and then that it has fallen too far behind (410).

    Who lists again sees what is there, and never what came and went meanwhile.
    """

    lines: int
    seconds: float


class Cut(Struct, frozen=True, tag=True):
    """A watch that ends after so many lines, or inside the next one."""

    lines: int
    mid_line: bool = False


class Deaf(Struct, frozen=True, tag=True):
    """A watch that goes silent after so many lines, and never ends."""

    lines: int


class Repeat(Struct, frozen=True, tag=True):
    """A watch that tells every line twice."""


class Compact(Struct, frozen=True, tag=True):
    """The server forgets its history just before this call."""


class Pause(Struct, frozen=True, tag=True):
    """The program stands still from this call on, also its lease, and then goes on as if nothing had happened."""

    seconds: float


class Jump(Struct, frozen=True, tag=True):
    """The program's wall clock is wrong by so much for a while."""

    seconds: float
    lasting: float


Fault: TypeAlias = (
    Crash
    | LoseRequest
    | LoseReply
    | LandLate
    | Reset
    | Refuse
    | Slow
    | Stale
    | Lag
    | Miss
    | Cut
    | Deaf
    | Repeat
    | Compact
    | Pause
    | Jump
)


class Injection(Struct, frozen=True):
    """This fault at this call of this program."""

    program: str
    call: int
    fault: Fault


def encode_injections(injections: tuple[Injection, ...] | list[Injection]) -> bytes:
    return msgspec.json.encode(list(injections))


def decode_injections(data: bytes) -> tuple[Injection, ...]:
    return msgspec.json.decode(data, type=tuple[Injection, ...])
