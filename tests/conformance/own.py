"""Our server: its handlers called in this process, and the whole of it behind HTTPS."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol
from urllib.parse import unquote

import yaml

from conformance.over_http import HttpTarget
from conformance.recording import Reply, decode_body
from conformance.targets import Sent, WatchReader
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.messages import Answer, Request, Response, Stream
from heliostat.embedded.serving import ServerOptions
from heliostat.kube.hidden import Hidden
from heliostat.testing import ApiServer

ADMIN = User("admin", groups=(MASTERS,))  # who the requests to the real server come from, too
TOKEN = "conformance"
ALL_ADMISSION = AdmissionOptions(service_accounts=True, storage_protection=True)
OPTIONS = ServerOptions(tokens=((Hidden(TOKEN), ADMIN),), admission=ALL_ADMISSION)
TURNS = 50  # of the event loop: more than any event needs to reach a reader in the same process


class Served(Protocol):
    async def handle(self, request: Request) -> Answer: ...

    def compact(self) -> None: ...


class MemoryTarget:
    name = "memory"

    def __init__(self, server: Served) -> None:
        self._server = server

    async def send(self, sent: Sent) -> Reply:
        answer = await self._server.handle(_build_request(sent))
        if isinstance(answer, Stream):
            body = b"".join([chunk async for chunk in answer.chunks])
            return Reply(answer.status, answer.content_type, (), decode_body(body))
        return _build_reply(answer)

    async def watch(self, sent: Sent) -> tuple[Reply, WatchReader | None]:
        answer = await self._server.handle(_build_request(sent))
        if isinstance(answer, Stream):
            return Reply(answer.status, answer.content_type), WatchReader(answer.chunks)
        return _build_reply(answer), None

    async def settle(self, reader: WatchReader, seen: int) -> None:
        for _ in range(TURNS):
            if reader.ended and len(reader.events) >= seen:
                return
            await asyncio.sleep(0)

    async def compact(self) -> None:
        self._server.compact()

    async def catch_up(self) -> None:
        """Nothing lags."""


class EmbeddedTarget(HttpTarget):
    def __init__(self, server: ApiServer) -> None:
        super().__init__("embedded", server.address, tls=_trust(server), token=TOKEN, quiet=0.05)
        self._server = server

    async def compact(self) -> None:
        self._server.compact()


@asynccontextmanager
async def memory_target(bugs: list[BaseException] | None = None) -> AsyncIterator[MemoryTarget]:
    """Bugs that the server meets are raised at the end, unless there is a list to put them on."""
    async with _running(bugs) as server:
        yield MemoryTarget(server)


@asynccontextmanager
async def embedded_target(bugs: list[BaseException] | None = None) -> AsyncIterator[EmbeddedTarget]:
    async with _running(bugs) as server, EmbeddedTarget(server) as target:
        yield target


@asynccontextmanager
async def _running(bugs: list[BaseException] | None) -> AsyncIterator[ApiServer]:
    async with ApiServer(OPTIONS) as server:
        yield server
        if bugs is not None:
            bugs += server.bugs
            server.bugs.clear()


def _trust(server: ApiServer) -> ssl.SSLContext:
    cluster = yaml.safe_load(server.kubeconfig.read_text())["clusters"][0]["cluster"]
    return ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())


def _build_request(sent: Sent) -> Request:
    return Request(
        method=sent.method,
        path=unquote(sent.path),
        user=ADMIN,
        query={key: [value] for key, value in sent.query.items()},
        headers={key.lower(): value for key, value in sent.headers.items()},
        body=sent.body,
    )


def _build_reply(answer: object) -> Reply:
    if not isinstance(answer, Response):
        raise TypeError(f"{answer!r} is no answer")
    warnings = tuple(f'299 - "{_escape(text)}"' for text in answer.warnings)
    return Reply(answer.status, answer.content_type, warnings, decode_body(answer.body))


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
