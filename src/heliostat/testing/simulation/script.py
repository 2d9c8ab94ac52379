"""Where faults happen: at given calls, or drawn from a seed as the calls come; what was drawn is kept.

A seed draws two kinds of trouble: single faults, at any call; and lasting ones, which one resource has with one program
for a while: its watches lag, or requests for it are refused, as where a right was taken, a quota is used up, or
somebody's admission says no.
"""

import random

from msgspec import Struct

from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.faults import (
    Compact,
    Crash,
    Cut,
    Deaf,
    Fault,
    Injection,
    Jump,
    Lag,
    LandLate,
    LoseReply,
    LoseRequest,
    Miss,
    Pause,
    Refuse,
    Repeat,
    Reset,
    Slow,
    Stale,
)

READ, PAGE, WRITE, WATCH = "read", "page", "write", "watch"  # kinds of calls; a page is a later one of a list

FORBIDDEN = Refuse(403, "the right to do so was taken")
OVER_QUOTA = Refuse(403, "exceeded quota: quota, requested: count=1, used: count=1, limited: count=1")
NOT_ADMITTED = Refuse(422, "admission webhook denied the request")


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
    lag: float = 0.0  # of the resources a program watches
    ban: float = 0.0  # of the resources a program asks for


class Trouble(Struct, frozen=True):
    """What one resource has with one program for a while."""

    lag: Lag | None = None
    refusal: Refuse | None = None
    refused: tuple[str, ...] = ()  # kinds of calls
    begin: float = 0.0  # of the refusals, in virtual seconds
    end: float = 0.0

    def fault_for(self, kind: str, now: float) -> Fault | None:
        if self.refusal is not None and kind in self.refused and self.begin <= now < self.end:
            return self.refusal
        return self.lag if kind == WATCH else None


class Script:
    """``met`` is what happened."""

    def __init__(self, given: tuple[Injection, ...] = (), *, seed: int | None = None, until: float = 0.0) -> None:
        """A seed draws faults until the virtual moment ``until``; after it the world is healthy."""
        self._given = {(injection.program, injection.call): injection.fault for injection in given}
        self._seed = seed
        self._until = until
        self._swarm = Swarm() if seed is None else draw_swarm(seed)
        self.met: list[Injection] = []

    def fault_at(self, program: str, call: int, *, kind: str, resource: str, now: float) -> Fault | None:
        fault = self._given.get((program, call))
        if fault is None and self._seed is not None and now < self._until:
            trouble = draw_trouble(stream(self._seed, f"{program}/{resource}"), self._swarm, self._until)
            fault = draw_fault(stream(self._seed, f"{program}/{call}"), self._swarm, kind)
            fault = fault or trouble.fault_for(kind, now)
        if fault is not None:
            self.met.append(Injection(program, call, fault))
        return fault


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
        lag=rate(0.3),
        ban=rate(0.2),
    )


def draw_trouble(chance: random.Random, swarm: Swarm, until: float) -> Trouble:
    """Most resources have none."""
    lag = Lag(chance.choice((chance.uniform(0.1, 8.0), chance.uniform(8.0, 120.0))), chance.choice((1, 1, 3)))
    begin = chance.uniform(0.0, until / 2)
    return Trouble(
        lag=lag if chance.random() < swarm.lag else None,
        refusal=chance.choice((FORBIDDEN, OVER_QUOTA, NOT_ADMITTED)) if chance.random() < swarm.ban else None,
        refused=chance.choice(((WRITE,), (WRITE, READ, PAGE, WATCH))),
        begin=begin,
        end=chance.uniform(begin, until),
    )


def draw_fault(chance: random.Random, swarm: Swarm, kind: str) -> Fault | None:
    if chance.random() < swarm.crash:
        return Crash(chance.choice(("before", "after", "late")), landing=chance.uniform(0.0, 1.0))
    if chance.random() < swarm.compact:
        return Compact()
    if kind == WRITE and chance.random() < swarm.pause:  # in the middle of something it tells the most
        return Pause(chance.choice((chance.uniform(1.0, 5.0), chance.uniform(18.0, 35.0))))  # or past any lease
    if chance.random() < swarm.jump:
        return Jump(chance.choice((-3600.0, -10.0, 10.0, 3600.0)), chance.uniform(1.0, 30.0))
    if kind == WATCH:
        return _draw_watch(chance) if chance.random() < swarm.watch else None
    if chance.random() < swarm.lose:
        lost = (LoseRequest(), LoseReply(), LandLate(chance.uniform(0.1, 0.9)), Reset(chance.random() < 0.5))
        return chance.choice(lost)
    if chance.random() < swarm.refuse:
        return _draw_refusal(chance, kind)
    if chance.random() < swarm.slow:
        return Slow(chance.uniform(0.1, 4.0), body=chance.random() < 0.5)
    if kind == READ and chance.random() < swarm.stale:
        return Stale(chance.choice((chance.randint(1, 20), chance.randint(20, 200))))
    return None


def _draw_refusal(chance: random.Random, kind: str) -> Refuse:
    more = {WRITE: (409,), PAGE: (410, 410, 410)}.get(kind, ())
    code = chance.choice((429, 500, 502, 503, 504, *more))
    return Refuse(code, carried_out=code in (500, 502, 504) and chance.random() < 0.5)


def _draw_watch(chance: random.Random) -> Fault:
    match chance.randrange(6):
        case 0:
            return Cut(chance.randint(0, 6), mid_line=chance.random() < 0.3)
        case 1:
            return Deaf(chance.randint(0, 6))
        case 2:
            return Repeat()
        case 3:
            return Refuse(chance.choice((410, 410, 410, 429, 500, 502, 503)))
        case 4:
            return Miss(chance.randint(0, 6), chance.uniform(1.0, 30.0))
        case _:
            return Lag(chance.uniform(0.1, 8.0))
