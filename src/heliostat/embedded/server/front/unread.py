"""Long answers that are being read, and what they may hold of the server's memory together.

Rules: an answer counts until its last byte is handed to the system; equal ones are kept and counted once, whoever reads
them. When a further one does not fit, those who have read nothing for a while are cut off, the slowest first: they hold
what others need. Does it still not fit, the newcomer is told to come back, because then everybody is reading.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from heliostat.embedded.server.front.http_connections import Connection


class UnreadAnswers:
    def __init__(self, most_bytes: int, stalled_seconds: float) -> None:
        self._most = most_bytes
        self._patience = stalled_seconds
        self._bodies: dict[Connection, bytes] = {}
        self._readers: Counter[int] = Counter()  # of each body, by its identity
        self.bytes = 0

    @contextmanager
    def counting(self, connection: Connection, body: bytes) -> Iterator[bytes | None]:
        """What to send, for as long as the block lasts: an equal body that somebody reads already, or this one.

        None when there is no room for it.
        """
        shared = self._find_equal(body)
        if shared is None and self._make_room(len(body)):
            shared = body
        if shared is not None:
            self._add(connection, shared)
        del body  # the caller lets go of it too
        try:
            yield shared
        finally:
            self._remove(connection)

    def _find_equal(self, body: bytes) -> bytes | None:
        return next((other for other in self._bodies.values() if len(other) == len(body) and other == body), None)

    def _make_room(self, wanted: int) -> bool:
        if self.bytes + wanted > self._most:
            self._cut_stalled(wanted)
        return not self.bytes or self.bytes + wanted <= self._most

    def _cut_stalled(self, wanted: int) -> None:
        before = asyncio.get_running_loop().time() - self._patience
        stalled = [reader for reader in self._bodies if reader.stalled_since < before]
        for reader in sorted(stalled, key=lambda reader: reader.stalled_since):
            if self.bytes + wanted <= self._most:
                return
            self._remove(reader)
            reader.abort()

    def _add(self, connection: Connection, body: bytes) -> None:
        self._bodies[connection] = body
        self._readers[id(body)] += 1
        if self._readers[id(body)] == 1:
            self.bytes += len(body)

    def _remove(self, connection: Connection) -> None:
        body = self._bodies.pop(connection, None)
        if body is None:
            return
        self._readers[id(body)] -= 1
        if not self._readers[id(body)]:
            del self._readers[id(body)]
            self.bytes -= len(body)
