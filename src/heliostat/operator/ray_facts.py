"""What Ray says, polled beside the loop: one cache of facts for all controllers, and who hears of which.

A dashboard that hangs holds its own places and delays nobody else. A question that has ended, with an answer or
without, is remembered: until then silence is nobody's fault.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from msgspec import Struct

from heliostat.kube.facts import Fact, FactKey, Unknown
from heliostat.kube.objects import Key
from heliostat.runtime.pollers import FactCache

EVERY_SECONDS = 2.0
FETCH_SECONDS = 12.0  # more than any way to Ray takes
EARLY_SECONDS = 0.1  # by which a question may be put sooner, beside others
GREATEST_AGE = 15.0  # seconds; one answer that comes late is no silence yet


class Question(Struct, frozen=True):
    """A fact, how it is asked for, and of whom."""

    fact: FactKey
    fetch: Callable[[], Awaitable[Any]]
    source: str
    every_seconds: float = EVERY_SECONDS


class RayFacts:
    def __init__(self, *, clock: Callable[[], float], chance: Callable[[], float]) -> None:
        self.cache: FactCache[FactKey, Any] = FactCache(
            self._changed,
            clock=clock,
            chance=chance,
            fetch_seconds=FETCH_SECONDS,
            early_seconds=EARLY_SECONDS,
        )
        self._listeners: dict[str, Callable[[Key], None]] = {}
        self._keys: dict[FactKey, Key] = {}
        self._watched: dict[tuple[str, Key], dict[FactKey, None]] = {}
        self._asked: dict[FactKey, str] = {}  # whom: another one has not been asked yet
        self._sources: dict[FactKey, str] = {}

    def listen(self, kind: str, listener: Callable[[Key], None]) -> None:
        """Hears the objects of whose fact of this kind there is news."""
        self._listeners[kind] = listener

    def watch(self, fact: FactKey, key: Key, fetch: Callable[[], Awaitable[Any]], source: str) -> None:
        """For one object one fact of a kind: another one takes the place of the first."""
        self.watch_all(fact.kind, key, (Question(fact, fetch, source),))

    def watch_all(self, kind: str, key: Key, questions: Iterable[Question]) -> None:
        """For one object these facts of a kind, and no others any more."""
        asked = tuple(questions)
        wanted = {question.fact: None for question in asked}
        for fact in self._watched.get((kind, key), {}).keys() - wanted.keys():
            self._drop(fact)
        if not wanted:
            self._watched.pop((kind, key), None)
            return
        self._watched[kind, key] = wanted
        for question in asked:
            self._watch(question, key)

    def _watch(self, question: Question, key: Key) -> None:
        fact, fetch, source = question.fact, question.fetch, question.source
        self._keys[fact] = key
        self._sources[fact] = source

        async def ask() -> Any:
            try:
                return await fetch()
            finally:
                self._asked[fact] = source

        self.cache.watch(fact, ask, question.every_seconds, source=source, greatest_age=GREATEST_AGE)

    def get(self, fact: FactKey) -> Fact[Any] | Unknown:
        return self.cache.get(fact)

    def held(self, fact: FactKey) -> float:
        return self.cache.held(fact)

    def is_asked(self, fact: FactKey) -> bool:
        return fact in self._asked and self._asked[fact] == self._sources.get(fact)

    def forget(self, kind: str, key: Key) -> None:
        for fact in self._watched.pop((kind, key), {}):
            self._drop(fact)

    def _drop(self, fact: FactKey) -> None:
        self._keys.pop(fact, None)
        self._asked.pop(fact, None)
        self._sources.pop(fact, None)
        self.cache.forget(fact)

    def _changed(self, fact: FactKey) -> None:
        key, listener = self._keys.get(fact), self._listeners.get(fact.kind)
        if key is not None and listener is not None:
            listener(key)
