"""How a request reaches an API server. The client speaks to this alone; HTTPS, in-process and simulated ones exist.

Rules for every implementation: ``UnavailableError`` only when nothing can have been carried out; ``AmbiguousError``
once anything was sent and no complete answer came; an answer of any status is a ``Reply`` and never an exception.
"""

from collections.abc import AsyncGenerator
from typing import Protocol, runtime_checkable

from msgspec import Struct

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class Call(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    headers: tuple[tuple[str, str], ...] = ()  # for who stands behind the server: a proxied service
    most_bytes: int = 0  # of the answer; a longer one is no complete answer. 0: as long as it likes

    @property
    def is_write(self) -> bool:
        return self.method not in ("GET", "HEAD")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Reply(Struct, frozen=True):
    status: int
    body: bytes
    retry_after: str = ""


class Chunks(Protocol):
    """The bytes of a watch as they come; it raises ``UnavailableError`` when the connection breaks."""

    def __aiter__(self) -> "Chunks": ...

    async def __anext__(self) -> bytes: ...

    async def aclose(self) -> None: ...


class Transport(Protocol):
    async def send(self, call: Call, seconds: float) -> Reply:
        """The whole exchange within so many seconds."""
        ...

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        """A stream: within so many seconds its beginning, or the reply that refuses it."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class MessageTransport(Protocol):
    """One that can also read the messages of a WebSocket."""

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        """Texts as they come, each no longer than ``call.most_bytes``; or the reply that refuses.

        Within so many seconds it has begun. A connection that breaks raises ``UnavailableError``.
        """
        ...
