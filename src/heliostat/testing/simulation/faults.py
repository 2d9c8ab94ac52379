"""What can go wrong between a program and its API server, as data; and where it goes wrong, as a script.

A script names calls by the program and the number of the call (counted over all its lives), so the same script gives
the same run. A seed draws its script as the calls come; what it drew is kept, and can be replayed and made smaller.
"""

import random
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


class Refuse(Struct, frozen=True, tag=True):
    """Not carried out; this code instead."""

    code: int


class Slow(Struct, frozen=True, tag=True):
    seconds: float


class Stale(Struct, frozen=True, tag=True):
    """A list answered by a replica that is so many revisions behind, although it was asked for the newest.

    Kubernetes promises that this does not happen; who has seen something newer can tell and must not believe it.
    """

    revisions: int


class Lag(Struct, frozen=True, tag=True):
    """A watch whose every line comes so much later."""

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
    | Refuse
    | Slow
    | Stale
    | Lag
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


class Swarm(Struct, frozen=True):
    """How often which faults happen in one run; each seed draws its own, with some faults left out altogether."""

    crash: float = 0.0
    lose: float = 0.0
    refuse: float = 0.0
    slow: float = 0.0
    stale: float = 0.0
    watch: float = 0.0
    compact: float = 0.0
    pause: float = 0.0
    jump: float = 0.0


def stream(seed: int, name: str) -> random.Random:
    """Chance of its own for each name: a draw in one stream moves nothing in another."""
    return random.Random(f"{seed}/{name}")  # noqa: S311  repeatable is the point


def draw_swarm(seed: int) -> Swarm:
    chance = stream(seed, "swarm")

    def rate(most: float) -> float:
        return chance.random() * most if chance.random() < 0.6 else 0.0

    return Swarm(
        crash=rate(0.04),
        lose=rate(0.08),
        refuse=rate(0.1),
        slow=rate(0.2),
        stale=rate(0.8),
        watch=rate(0.8),
        compact=rate(0.05),
        pause=rate(0.15),
        jump=rate(0.02),
    )


class Script:
    """Faults for calls: given ones, or drawn from a seed as the calls come. ``met`` is what happened."""

    def __init__(self, given: tuple[Injection, ...] = (), *, seed: int | None = None, until: float = 0.0) -> None:
        """A seed draws faults until the virtual moment ``until``; after it the world is healthy."""
        self._given = {(injection.program, injection.call): injection.fault for injection in given}
        self._seed = seed
        self._until = until
        self._swarm = Swarm() if seed is None else draw_swarm(seed)
        self.met: list[Injection] = []

    def fault_at(self, program: str, call: int, *, kind: str, now: float) -> Fault | None:
        """``kind`` is read, write or watch."""
        fault = self._given.get((program, call))
        if fault is None and self._seed is not None and now < self._until:
            fault = _draw(stream(self._seed, f"{program}/{call}"), self._swarm, kind)
        if fault is not None:
            self.met.append(Injection(program, call, fault))
        return fault


def _draw(chance: random.Random, swarm: Swarm, kind: str) -> Fault | None:
    if chance.random() < swarm.crash:
        return Crash(chance.choice(("before", "after", "late")), landing=chance.uniform(0.0, 1.0))
    if chance.random() < swarm.compact:
        return Compact()
    if kind == "write" and chance.random() < swarm.pause:  # in the middle of something it tells the most
        return Pause(chance.choice((chance.uniform(1.0, 5.0), chance.uniform(18.0, 35.0))))  # or past any lease
    if chance.random() < swarm.jump:
        return Jump(chance.choice((-3600.0, -10.0, 10.0, 3600.0)), chance.uniform(1.0, 30.0))
    if kind == "watch":
        return _draw_watch(chance) if chance.random() < swarm.watch else None
    if chance.random() < swarm.lose:
        return chance.choice((LoseRequest(), LoseReply(), LandLate(chance.uniform(0.1, 0.9))))
    if chance.random() < swarm.refuse:
        codes = (429, 500, 503, 504) if kind == "read" else (409, 429, 500, 503, 504)
        return Refuse(chance.choice(codes))
    if chance.random() < swarm.slow:
        return Slow(chance.uniform(0.1, 4.0))
    if kind == "read" and chance.random() < swarm.stale:
        return Stale(chance.choice((chance.randint(1, 20), chance.randint(20, 200))))
    return None


def _draw_watch(chance: random.Random) -> Fault:
    match chance.randrange(5):
        case 0:
            return Cut(chance.randint(0, 6), mid_line=chance.random() < 0.3)
        case 1:
            return Deaf(chance.randint(0, 6))
        case 2:
            return Repeat()
        case 3:
            return Refuse(chance.choice((410, 410, 410, 429, 500, 503)))
        case _:
            return Lag(chance.uniform(0.1, 8.0))


def encode_injections(injections: tuple[Injection, ...] | list[Injection]) -> bytes:
    return msgspec.json.encode(list(injections))


def decode_injections(data: bytes) -> tuple[Injection, ...]:
    return msgspec.json.decode(data, type=tuple[Injection, ...])
