"""How much one client may take of the server: bytes, time, connections, streams.

Rules: everything that a client can make long has an end. The defaults are generous, several times what controllers and
people need, because they are there against accidents and abuse and not for sharing out; the largest body and the words
are kube-apiserver's.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from heliostat.embedded.refusals import RefusedError

LARGEST_BODY = 3 * 1024 * 1024
LARGEST_STORED = 3 * 512 * 1024  # an object as it is kept; etcd's bound, which is the one that clusters have
DEEPEST_BODY = 200  # levels; the deepest object known, a definition of a Ray kind, has 60
RETRY_SECONDS = 1


class Limits(Struct, frozen=True, kw_only=True):
    handshake_seconds: float = 10.0  # until TLS is spoken
    headers_seconds: float = 90.0  # until the headers of the next request are there, idling included
    body_seconds: float = 60.0  # until the body is there
    write_seconds: float = 60.0  # that a client may leave an answer unread
    unread_bytes: int = 256 * 1024 * 1024  # of long answers that are being read, all together
    stalled_seconds: float = 2.0  # that a client may read nothing of such an answer when others need the room
    line_bytes: int = 32 * 1024  # of the request line and of each header
    headers: int = 128  # how many
    connections: int = 10_000
    connections_per_address: int = 5_000
    streams_per_user: int = 5_000  # watches and followed logs


class StreamCounts:
    """The open streams of each user."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def is_full(self, user: str) -> bool:
        return self._open[user] >= self._most

    @contextmanager
    def counting(self, user: str) -> Iterator[None]:
        self._open[user] += 1
        try:
            yield
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]


def is_too_deep(tree: Any) -> bool:
    """Level by level: what is too deep for recursion is not looked at by recursion."""
    level = [tree] if isinstance(tree, (dict, list)) else []
    for _ in range(DEEPEST_BODY):
        children = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in children if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def too_large() -> RefusedError:
    return RefusedError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LARGEST_BODY}")


def too_large_to_store() -> RefusedError:
    return RefusedError(500, "", "etcdserver: request is too large")


def too_many_requests() -> RefusedError:
    message = "Too many requests, please try again later."
    return RefusedError(429, "TooManyRequests", message, details={"retryAfterSeconds": RETRY_SECONDS})


def too_slow(seconds: float) -> RefusedError:
    return RefusedError(408, "Timeout", f"the body of the request did not arrive within {seconds:g} seconds")
