"""What runs Pods, as the API server sees it: one interface for logs, commands, attached terminals, ports and proxies.

The server finds the Pod, checks the request and picks the container; the back end does the rest. Without one, every
such request is refused as kube-apiserver refuses it when the node cannot be reached.
"""

from typing import Protocol

from msgspec import Struct

from heliostat.embedded.server.messages import Answer, Request
from heliostat.kube.jsontree import JsonObject


class LogOptions(Struct, frozen=True, kw_only=True):
    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_seconds: int | None = None
    since_time: str | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None


class Connection(Struct, frozen=True, kw_only=True):
    """``exec``, ``attach`` or ``portforward``. What flows goes over the connection that asked: see ``request``."""

    kind: str
    container: str = ""
    command: tuple[str, ...] = ()
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    ports: tuple[int, ...] = ()


class Proxied(Struct, frozen=True, kw_only=True):
    """An HTTP request on its way to a Pod (itself, or behind a Service)."""

    scheme: str
    address: str
    port: int
    path: str


class NodeBackend(Protocol):
    async def read_log(self, pod: JsonObject, options: LogOptions) -> Answer: ...

    async def connect(self, pod: JsonObject, connection: Connection, request: Request) -> Answer: ...

    async def proxy(self, proxied: Proxied, request: Request) -> Answer: ...

    async def proxy_node(self, node: JsonObject, path: str, request: Request) -> Answer: ...
