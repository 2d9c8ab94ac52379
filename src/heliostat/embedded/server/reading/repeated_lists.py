"""The last lists, for whoever asks the same before anything is written.

Many clients that come back at once, and those that poll, ask for the same long list again and again. What a list shows
follows from the store's revision, the resource and the request, so an equal question at the same revision has an equal
answer. The first write forgets all of them. Who may ask was decided before; other forms are made from these bodies.
"""

from typing import TypeAlias

from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.store import Store

_Question: TypeAlias = tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]

_WORTH_KEEPING = 32 * 1024  # bytes; shorter lists are made as fast as they are found
_MOST_BYTES = 4 * 1024 * 1024


class RepeatedLists:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._moment = (0, 0)
        self._bodies: dict[_Question, tuple[Resource, bytes]] = {}
        self._bytes = 0

    def find(self, request: Request, resource: Resource) -> bytes | None:
        self._forget_the_past()
        if not self._bodies:
            return None
        asked_of, body = self._bodies.get(_question(request), (None, None))
        return body if asked_of is resource else None

    def keep(self, request: Request, resource: Resource, body: bytes) -> None:
        """As long as there is room: what came first is asked for as often as what comes later."""
        self._forget_the_past()
        question = _question(request)
        if len(body) < _WORTH_KEEPING or self._bytes + len(body) > _MOST_BYTES or question in self._bodies:
            return
        self._bodies[question] = (resource, body)
        self._bytes += len(body)

    def _forget_the_past(self) -> None:
        """Compaction counts too: it may end what an exact older revision was answered with."""
        moment = (self._store.revision, self._store.compacted)
        if moment != self._moment:
            self._moment, self._bodies, self._bytes = moment, {}, 0


def _question(request: Request) -> _Question:
    return request.path, tuple((name, tuple(values)) for name, values in request.query.items())
