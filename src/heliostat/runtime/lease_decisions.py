"""Who leads: what to do next about the lease, decided from what was seen of it and what we did ourselves.

Rules: only our own monotone clock counts (a foreign renewal is as old as our sight of it); a lease is free when it is
absent, released, or unchanged for its whole duration; our own renewal counts from the moment it was *sent*; who gets
the lease waits until writes of the holder before can no longer land, and only then leads; any doubt ends the
leadership. It reads no clock and writes nothing: ``lease.py`` does.
"""

import math
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, TypeAlias

from msgspec import Struct

from heliostat.runtime.lease_record import Record

LONGEST_PAUSE: Final = 1.2  # pauses are spread over [1, 1.2] × retry period


class LeaseSettingsError(ValueError):
    """Times that do not fit together."""


class LeaseSettings(Struct, frozen=True):
    """The times, in seconds, are client-go's defaults; ``request_seconds`` is the deadline of every write we make."""

    namespace: str
    name: str
    identity: str  # never used by another process, nor by an earlier one
    lease_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0
    request_seconds: float = 4.0

    def __post_init__(self) -> None:
        for problem in _settings_problems(self):
            raise LeaseSettingsError(f"leader election: {problem}")


def _settings_problems(settings: LeaseSettings) -> Iterator[str]:
    lease, deadline = settings.lease_seconds, settings.renew_deadline_seconds
    retry, request = settings.retry_seconds, settings.request_seconds
    if not settings.identity:
        yield "the identity is empty; give every process its own"
    if not all(map(math.isfinite, (lease, deadline, retry, request))):
        yield f"the times ({lease:g}, {deadline:g}, {retry:g} and {request:g} s) must be finite"
    if min(retry, request) <= 0:
        yield f"retry period ({retry:g} s) and request deadline ({request:g} s) must be more than 0 s"
    if lease < 1:
        yield f"the lease duration ({lease:g} s) must be at least 1 s"
    if deadline <= LONGEST_PAUSE * retry:
        yield f"the renew deadline ({deadline:g} s) must be longer than {LONGEST_PAUSE} × retry period ({retry:g} s)"
    if lease <= deadline:
        yield f"the lease duration ({lease:g} s) must be longer than the renew deadline ({deadline:g} s)"
    if request >= lease - deadline:
        yield (
            f"the request deadline ({request:g} s) must be shorter than lease duration − renew deadline "
            f"({lease:g} − {deadline:g} = {lease - deadline:g} s): a write begun at the last moment has to end "
            "before somebody else may lead; shorten requests or lengthen the lease"
        )


class Seen(Struct, frozen=True):
    """The lease as last read; ``record`` is None when there is none."""

    record: Record | None
    changed_at: float  # when we saw this content for the first time
    is_current: bool = True  # False: a write failed in a way that leaves its content open


def see(before: Seen | None, record: Record | None, now: float) -> Seen:
    """A read came back at ``now``; only a change of content renews ``changed_at``."""
    if before is not None and before.record == record:
        return Seen(record, before.changed_at)
    return Seen(record, now)


class Standing(Struct, frozen=True):
    """What we did."""

    not_before: float  # the next call, unless something better to do comes first
    renewed_at: float | None = None  # when our last successful write was sent; None: we do not hold the lease
    leads_from: float = 0.0  # earlier, writes of the holder before may still land
    is_leading: bool = False


class Read(Struct, frozen=True):
    """Look at the lease."""


class Acquire(Struct, frozen=True):
    because: str


class Renew(Struct, frozen=True):
    pass


class Lead(Struct, frozen=True):
    """The lease is ours and nothing of anybody else is under way: begin."""


class Pause(Struct, frozen=True):
    seconds: float


class Lost(Struct, frozen=True):
    because: str


LeaseStep: TypeAlias = Read | Acquire | Renew | Lead | Pause | Lost


class LeaseState(Enum):
    """What the lease looks like to us."""

    UNREAD = auto()
    ABSENT = auto()
    RELEASED = auto()
    OURS = auto()
    THEIRS = auto()
    EXPIRED = auto()  # theirs, and not renewed for its duration


class Move(Enum):
    READ = auto()  # when it is time
    WATCH = auto()  # read when it is time, or act when it expires
    ACQUIRE = auto()  # now
    RENEW = auto()  # when it is time
    GIVE_UP = auto()


# (what we see, do we hold it) → what to do
TABLE: Final[dict[tuple[LeaseState, bool], Move]] = {
    (LeaseState.UNREAD, False): Move.READ,
    (LeaseState.ABSENT, False): Move.ACQUIRE,
    (LeaseState.RELEASED, False): Move.ACQUIRE,
    (LeaseState.OURS, False): Move.ACQUIRE,  # our own attempt, whose answer was lost
    (LeaseState.THEIRS, False): Move.WATCH,
    (LeaseState.EXPIRED, False): Move.ACQUIRE,
    (LeaseState.UNREAD, True): Move.READ,
    (LeaseState.ABSENT, True): Move.GIVE_UP,
    (LeaseState.RELEASED, True): Move.GIVE_UP,
    (LeaseState.OURS, True): Move.RENEW,
    (LeaseState.THEIRS, True): Move.GIVE_UP,
    (LeaseState.EXPIRED, True): Move.GIVE_UP,
}


def decide(seen: Seen | None, me: Standing, now: float, settings: LeaseSettings) -> LeaseStep:
    if me.renewed_at is not None and now >= _lost_at(me.renewed_at, settings):
        return Lost(f"the lease was not renewed for {now - me.renewed_at:.1f} s")
    sight = classify(seen, now, settings)
    move = TABLE[sight, me.renewed_at is not None]
    if move is Move.GIVE_UP:
        return Lost(_describe(sight, seen))
    if move is Move.ACQUIRE:
        return Acquire(_describe(sight, seen))
    if _may_begin(me, sight, now):
        return Lead()
    if now < me.not_before:
        return Pause(min(_appointments(seen, me, move, settings)) - now)
    return Renew() if move is Move.RENEW else Read()


def classify(seen: Seen | None, now: float, settings: LeaseSettings) -> LeaseState:
    if seen is None or not seen.is_current:
        return LeaseState.UNREAD
    if seen.record is None:
        return LeaseState.ABSENT
    if not seen.record.holder:
        return LeaseState.RELEASED
    if seen.record.holder == settings.identity:
        return LeaseState.OURS
    return LeaseState.THEIRS if now < expires_at(seen, settings) else LeaseState.EXPIRED


def expires_at(seen: Seen, settings: LeaseSettings) -> float:
    """The longer of what its holder asked for and what we would: waiting too long harms less than two leaders."""
    theirs = seen.record.lease_seconds if seen.record is not None else None
    return seen.changed_at + max(theirs or 0, settings.lease_seconds)


def hold(seen: Seen | None, before: Standing, sent: float, settings: LeaseSettings, pause: float) -> Standing:
    """Our write of the lease, sent at ``sent``, was accepted; ``seen`` is what it replaced."""
    if before.renewed_at is not None:
        return Standing(sent + pause, sent, before.leads_from, before.is_leading)
    # Whoever held it before began its last write before we saw this content, or while its lease was valid.
    changed_at = seen.changed_at if seen is not None else sent
    return Standing(sent + pause, sent, changed_at + settings.request_seconds)


def _may_begin(me: Standing, sight: LeaseState, now: float) -> bool:
    return sight is LeaseState.OURS and not me.is_leading and me.renewed_at is not None and now >= me.leads_from


def _lost_at(renewed_at: float, settings: LeaseSettings) -> float:
    """One sum for the decision and the appointment: two that round differently would pause for nothing, for ever."""
    return renewed_at + settings.renew_deadline_seconds


def _appointments(seen: Seen | None, me: Standing, move: Move, settings: LeaseSettings) -> list[float]:
    appointments = [me.not_before]
    if me.renewed_at is not None:
        appointments.append(_lost_at(me.renewed_at, settings))
        if not me.is_leading and move is Move.RENEW:
            appointments.append(me.leads_from)
    if move is Move.WATCH and seen is not None:
        appointments.append(expires_at(seen, settings))
    return appointments


def _describe(sight: LeaseState, seen: Seen | None) -> str:
    holder = seen.record.holder if seen is not None and seen.record is not None else ""
    return {
        LeaseState.UNREAD: "the lease has not been read",
        LeaseState.ABSENT: "there is no lease",
        LeaseState.RELEASED: "the lease was released",
        LeaseState.OURS: "the lease names us",
        LeaseState.THEIRS: f"the lease is held by {holder}",
        LeaseState.EXPIRED: f"{holder} has not renewed the lease for its whole duration",
    }[sight]
