"""What the handlers take and give: a request, a response, or a stream. No HTTP library is known here.

Rules: header names are lower case; the path is decoded; a query keeps every value in order. The same messages
travel over HTTPS, in process and in the simulator, so every caller meets the same code.
"""

from typing import Protocol, TypeAlias

from msgspec import Struct

from heliostat.embedded.access.users import User

JSON = "application/json"


class Request(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    user: User
    query: dict[str, list[str]] = {}
    headers: dict[str, str] = {}
    body: bytes = b""

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        return self.parameter(name).lower() in ("true", "1")


class Response(Struct, frozen=True):
    status: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()  # become Warning headers, which kubectl prints
    headers: tuple[tuple[str, str], ...] = ()


class Chunks(Protocol):
    """Bytes as they come. Closing ends whatever feeds them, even before the first one was asked for."""

    def __aiter__(self) -> "Chunks": ...

    async def __anext__(self) -> bytes: ...

    async def aclose(self) -> None: ...


class Stream(Struct, frozen=True):
    chunks: Chunks
    status: int = 200
    content_type: str = JSON


class Dropped(Struct, frozen=True):
    """The connection ends without an answer. No handler gives this; faults in tests do."""

    status: int = 0


Answer: TypeAlias = Response | Stream | Dropped
