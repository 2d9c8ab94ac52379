"""Whose turn it is, and how long those who have left may go on. Pure: the time is given.

Smooth weighted round robin: everybody gains their weight at each turn, the richest is chosen and pays the sum. So in
each round of as many turns as the weights sum up to everybody has exactly their share, spread over it, and a weight of
0 never gets a turn. New weights begin a new round: what was saved up under others means nothing.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns:
    """Of one rule. Its back ends are known by their places."""

    def __init__(self) -> None:
        self._weights: tuple[int, ...] = ()
        self._savings: list[int] = []

    def choose(self, weights: tuple[int, ...]) -> int | None:
        """The place of the next one; None when nobody has a weight."""
        if self._weights != weights:
            self._weights, self._savings = weights, [0] * len(weights)
        if len(weights) == 1:
            return 0 if weights[0] > 0 else None
        savings, total, richest = self._savings, 0, -1
        for place, weight in enumerate(weights):
            if weight > 0:
                total += weight
                savings[place] += weight
                if richest < 0 or savings[place] > savings[richest]:
                    richest = place
        if richest < 0:
            return None
        savings[richest] -= total
        return richest


class Drains(Generic[T]):
    """Those who get nothing new any more, each with the moment at which what it still has is cut."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadlines: dict[T, float] = {}

    def update(self, wanted: Iterable[T], held: Iterable[T], now: float) -> None:
        """``held`` are those with something left. Who is wanted again drains no more."""
        kept = set(wanted)
        self._deadlines = {each: self._deadlines.get(each, now + self._seconds) for each in held if each not in kept}

    def due(self, now: float) -> list[T]:
        return [each for each, deadline in self._deadlines.items() if deadline <= now]
