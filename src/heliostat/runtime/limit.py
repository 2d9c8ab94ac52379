"""How many requests at once: grows while the server keeps up, and shrinks when it does not. Pure.

Rules: an overload (429, 503, no answer in time) is a fact and halves the limit; slowness is an opinion (our own loop
may be busy) and lowers it gently, never below the start. What was sent before the last lowering says nothing about it,
so a burst of refusals counts once. The limit grows only when it is used: doubling until the first trouble, then by one
each round. How long a request usually takes is learned for each kind of request, because a list is not a get.
"""

import math
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

START, FLOOR, CAP = 16.0, 2.0, 256.0

_SLOW_FACTOR = 3.0  # so many times the usual time, and
_SLOW_SECONDS = 0.1  # so much above it, is slow: small ratios of small times are noise
_GENTLE = 0.9
_RECENT_WEIGHT = 0.2
_USUAL_DRIFT = 1.005  # each request: what is usual follows a server that has become slower for good


class Reception(Enum):
    SERVED = "served"
    OVERLOADED = "overloaded"
    UNKNOWN = "unknown"  # no connection, broken off, cancelled: says nothing about load


class Lane(Enum):
    GET = "get"
    LIST = "list"
    WRITE = "write"


class Sample(Struct, frozen=True):
    """One request that is over; times in seconds of a monotone clock."""

    lane: Lane
    started: float
    ended: float
    in_flight: int  # when it started, itself included
    verdict: Reception


class Latency(Struct, frozen=True):
    """Seconds that requests take: at best, and lately."""

    usual: float
    recent: float

    @property
    def is_slow(self) -> bool:
        return self.recent > self.usual * _SLOW_FACTOR and self.recent > self.usual + _SLOW_SECONDS


class LimitState(Struct, frozen=True):
    limit: float = START
    is_probing: bool = True  # no trouble yet
    lowered_at: float = -math.inf
    paces: dict[Lane, Latency] = {}


def decide_limit(state: LimitState, sample: Sample) -> LimitState:
    """The state after this request."""
    if sample.verdict is Reception.UNKNOWN or sample.started < state.lowered_at:
        return state
    if sample.verdict is Reception.OVERLOADED:
        return _lowered(state, max(FLOOR, state.limit / 2), sample.ended)
    pace = _learn(state.paces.get(sample.lane), sample.ended - sample.started)
    state = replace(state, paces={**state.paces, sample.lane: pace})
    if pace.is_slow:
        return _lowered(state, max(START, state.limit * _GENTLE), sample.ended) if state.limit > START else state
    if sample.in_flight * 2 < state.limit:
        return state
    step = 1.0 if state.is_probing else 1.0 / state.limit
    return replace(state, limit=min(CAP, state.limit + step))


def _lowered(state: LimitState, limit: float, now: float) -> LimitState:
    return replace(state, limit=limit, is_probing=False, lowered_at=now)


def _learn(pace: Latency | None, seconds: float) -> Latency:
    if pace is None:
        return Latency(seconds, seconds)
    recent = pace.recent + (seconds - pace.recent) * _RECENT_WEIGHT
    return Latency(min(seconds, pace.usual * _USUAL_DRIFT), recent)
