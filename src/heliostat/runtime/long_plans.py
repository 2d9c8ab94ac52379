"""Seats for long plans, and turns among those that have one.

Rules: a plan that becomes long leaves its worker's place to another worker and takes a seat. Where no seat is free its
pass ends, and its key waits outside, holding nothing, until one is; first come, first served. Meanwhile it is not even
looked at, unless its object became another one: it was edited, or is going. Those with a seat take turns at writing,
and so many have one at once: among forty long plans the server is no busier than among a few, and a short plan beside
them waits no longer.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from heliostat.kube.objects import Key
from heliostat.runtime.reconciler import Subject

TURNS: Final = 4  # batches of long plans at once; one alone is never slowed down by it


class LongPlans:
    """Of one controller, where a key is worked on by one worker at a time."""

    def __init__(self, seats: int) -> None:
        self.turns = asyncio.Semaphore(TURNS)
        self._seats = seats
        self._seated: set[Key] = set()
        self._outside: dict[Key, Subject] = {}  # in the order in which they came
        self._invited: set[Key] = set()  # a seat is kept for each of them until its pass is over

    def take_seat(self, key: Key) -> bool:
        if len(self._seated) + len(self._invited - {key}) >= self._seats:
            return False
        self._invited.discard(key)
        self._seated.add(key)
        return True

    def has_seat(self, key: Key) -> bool:
        return key in self._seated

    def wait_outside(self, key: Key, subject: Subject) -> None:
        self._outside[key] = subject

    def is_outside(self, key: Key, subject: Subject) -> bool:
        """Whether nothing is to be done for it now; an object that became another one waits no longer."""
        waiting = self._outside.get(key)
        if waiting is not None and (waiting.uid, waiting.generation) == (subject.uid, subject.generation):
            return True
        self.forget(key)
        return False

    def forget(self, key: Key) -> None:
        self._outside.pop(key, None)

    def leave(self, key: Key) -> Iterator[Key]:
        """The pass of this key is over; those that may come in now."""
        self._seated.discard(key)
        self._invited.discard(key)
        while self._outside and len(self._seated) + len(self._invited) < self._seats:
            guest = next(iter(self._outside))
            self.forget(guest)
            self._invited.add(guest)
            yield guest
