"""What runs Pods, as the API server sees it: one interface for logs, commands, attached terminals, ports and proxies.

The server finds the Pod, checks the request, picks the container and speaks the protocols of the clients; the back end
sees streams and tells how it ended. What it raises is a bug, GoneError aside. Without a back end, every such request is
refused as kube-apiserver refuses it when the node cannot be reached.
"""

from typing import Protocol, TypeAlias

from msgspec import Struct

from heliostat.embedded.server.messages import Answer, Request
from heliostat.kube.jsontree import JsonObject

SUMMARY = "stats/summary"  # the path of a node under which it says what its Pods use


class LogOptions(Struct, frozen=True, kw_only=True):
    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_seconds: int | None = None
    since_time: str | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None


class Execution(Struct, frozen=True, kw_only=True):
    """A command in a container, or (without one) what runs there already; and which of its streams are wanted."""

    container: str
    command: tuple[str, ...] = ()
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False  # never with a terminal, which has one stream for both
    tty: bool = False


class TerminalSize(Struct, frozen=True):
    width: int
    height: int


class Exited(Struct, frozen=True):
    code: int = 0


class Failed(Struct, frozen=True):
    """It could not be done, and why: a sentence for people."""

    why: str


Outcome: TypeAlias = Exited | Failed


class Terminal(Protocol):
    """The client of a command. Writing waits while the client does not read; nothing else bounds the output."""

    async def read_stdin(self) -> bytes:
        """The next bytes; empty at the end."""

    async def write_stdout(self, data: bytes) -> None: ...

    async def write_stderr(self, data: bytes) -> None: ...

    async def read_size(self) -> TerminalSize | None:
        """The next size of the client's window; None when no more will come."""


class Duplex(Protocol):
    """A forwarded connection as the client holds it."""

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""

    async def write(self, data: bytes) -> None: ...


class Proxied(Struct, frozen=True, kw_only=True):
    """An HTTP request on its way to a Pod (itself, or behind a Service)."""

    scheme: str
    address: str
    port: int
    path: str


class NodeBackend(Protocol):
    async def is_reachable(self) -> bool:
        """Asked before anything else: who is away is told of as one without a back end."""

    async def read_log(self, pod: JsonObject, options: LogOptions) -> Answer: ...

    async def execute(self, pod: JsonObject, execution: Execution, terminal: Terminal) -> Outcome:
        """Until the command has ended. Cancelled when the client goes: then nothing of it may go on."""

    async def attach(self, pod: JsonObject, execution: Execution, terminal: Terminal) -> Outcome:
        """Until what runs has ended. Cancelled when the client goes: then it runs on, unattached."""

    async def forward(self, pod: JsonObject, port: int, stream: Duplex) -> Failed | None:
        """One connection to a port of the Pod, until either side has ended it. Cancelled when the client goes."""

    async def proxy(self, proxied: Proxied, request: Request) -> Answer:
        """An ``Upgrade`` passes a WebSocket on: its bytes are the Pod's from then on."""

    async def proxy_node(self, node: JsonObject, path: str, request: Request) -> Answer: ...
