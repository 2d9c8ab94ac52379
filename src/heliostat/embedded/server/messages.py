"""What the handlers take and give: a request, a response, or a stream. No HTTP library is known here.

Rules: header names are lower case; the path is decoded; a query keeps every value in order. The same messages
travel over HTTPS, in process and in the simulator, so every caller meets the same code.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from heliostat.embedded.access.users import User

JSON = "application/json"


class Upload(Protocol):
    """A body that is passed on as it comes, and never held as a whole."""

    @property
    def length(self) -> int | None:
        """How many bytes it has; None when the client did not say."""

    async def read(self) -> bytes:
        """The next piece; empty at the end. Raises RefusedError when the client is too slow, GoneError when it left."""


class Request(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    user: User
    query: dict[str, list[str]] = {}
    headers: dict[str, str] = {}
    body: bytes = b""
    upload: Upload | None = None  # in place of the body where that is not for the server

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        """As kube-apiserver reads a boolean: whatever is there and does not say no means yes."""
        return name in self.query and self.parameter(name).lower() not in ("false", "0")


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


Sink: TypeAlias = Callable[[bytes], bool]  # takes a chunk; whether it can take more at once


@runtime_checkable
class Pushed(Protocol):
    """Chunks that need no reader to be woken: while it waits for the next one, they may go into a sink.

    A reader that is woken all the same may get an empty chunk: it should see whether it can go on.
    """

    def push_to(self, sink: Sink) -> None: ...


class Stream(Struct, frozen=True):
    chunks: Chunks
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class BrokenOffError(Exception):
    """What feeds a stream is gone before its end, and the client must not take it for the end."""


class Dropped(Struct, frozen=True):
    """The connection ends without an answer. No handler gives this; faults in tests do."""

    status: int = 0


class GoneError(ConnectionError):
    """There is nobody on the other side of a connection any more."""


class Wire(Protocol):
    """A connection that was handed over. What comes are whole messages where they are framed, else bytes."""

    async def receive(self) -> bytes | None:
        """None when the other side is gone."""

    async def send(self, data: bytes) -> None:
        """Waits for room. Raises GoneError."""


class WebSocket(Struct, frozen=True):
    """How the messages of a wire are framed."""

    subprotocol: str = ""
    is_text: bool = False


class Upgrade(Struct, frozen=True, kw_only=True):
    """The connection is handed over, and ``converse`` has it until it returns; it is cancelled when the server stops.

    Without a ``websocket`` the bytes are nobody else's, and ``headers`` tell which protocol they speak.
    """

    converse: Callable[[Wire], Awaitable[None]]
    websocket: WebSocket | None = None
    headers: tuple[tuple[str, str], ...] = ()
    status: int = 101


Answer: TypeAlias = Response | Stream | Dropped | Upgrade
