"""The node's end of the link: requests of the API server are handed to what serves them, their streams passed on.

Rules: a request ends with its connection; what was refused is told as it was refused; a bug is told as one and
reported, and the next request is served.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.linking.link import (
    ROOM,
    Answered,
    Asked,
    Attach,
    Ended,
    Execute,
    Forward,
    Kind,
    Link,
    LinkError,
    PassedOn,
    Proxy,
    ProxyNode,
    ReadLog,
    Refused,
    listen_for_links,
    read_value,
)
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.messages import Answer, Dropped, GoneError, Request, Response, Stream, Upgrade
from heliostat.embedded.server.nodes.node_backend import Exited, Failed, NodeBackend, Outcome, TerminalSize
from heliostat.embedded.server.upgrades.inboxes import Inbox
from heliostat.embedded.server.upgrades.streams import converse_until_gone

_LINGER_SECONDS = (
    10.0  # that whoever asked has to hang up; it may still be sending, and would not read what it was told
)
_BUG = "the node met a bug; its log tells more"


class LinkServer:
    def __init__(self, backend: NodeBackend, path: Path, on_problem: Callable[[str, Exception], None]) -> None:
        self._backend = backend
        self._path = path
        self._on_problem = on_problem
        self._serving: set[asyncio.Task[Any]] = set()

    async def run(self) -> None:
        """Until cancelled; then every request is over, too."""
        listener = listen_for_links(self._path)
        server = await asyncio.start_unix_server(self._accept, sock=listener)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            self._path.unlink(missing_ok=True)
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve_or_tell(Link(reader, writer)))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve_or_tell(self, link: Link) -> None:
        try:
            await self._serve(link)
        except (GoneError, LinkError):
            pass  # whoever asked has gone
        except Exception as error:  # noqa: BLE001  the next request is to be served
            self._on_problem("a request of the API server", error)
        finally:
            await link.close()

    async def _serve(self, link: Link) -> None:
        asked: Asked = await link.receive_value(Kind.HEADER, Asked)
        client = _Client(link)
        await converse_until_gone(self._answer(asked, client), client.serve_incoming())

    async def _answer(self, asked: Asked, client: "_Client") -> None:
        try:
            ended = await self._do(asked, client)
        except RefusedError as refused:
            await client.tell(Kind.HEADER, Refused(refused.code, refused.reason, refused.message))
            await asyncio.sleep(_LINGER_SECONDS)
            return
        except (GoneError, LinkError):
            raise
        except Exception:  # a bug of ours: the client is told, and the log hears the whole of it
            with contextlib.suppress(ConnectionError):
                await client.link.send_value(Kind.OUTCOME, Ended(code=1, why=_BUG, is_bug=True))
            raise
        await client.tell(Kind.OUTCOME, ended)
        await asyncio.sleep(_LINGER_SECONDS)

    async def _do(self, asked: Asked, client: "_Client") -> Ended:
        backend = self._backend
        match asked:
            case Execute(pod, execution):
                return _ended(await backend.execute(pod, execution, client))
            case Attach(pod, execution):
                return _ended(await backend.attach(pod, execution, client))
            case Forward(pod, port):
                return _ended(await backend.forward(pod, port, client))
            case ReadLog(pod, options):
                return await _send(await backend.read_log(pod, options), client)
            case Proxy(proxied, passed):
                return await _send(await backend.proxy(proxied, _build_request(passed, client)), client)
            case ProxyNode(node, path, passed):
                return await _send(await backend.proxy_node(node, path, _build_request(passed, client)), client)


def _build_request(passed: PassedOn, client: "_Client") -> Request:
    return passed.build(_Body(client, passed.length) if passed.has_upload else None)


class _Body:
    """The body of a proxied request. One that breaks off has no end: the whole request is over then."""

    def __init__(self, client: "_Client", length: int | None) -> None:
        self._client = client
        self.length = length

    async def read(self) -> bytes:
        return await self._client.read()


class _Client:
    """Who asked, as terminal, connection or wire."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._input = Inbox(2 * ROOM)  # never full: no more than the room is sent
        self._sizes: asyncio.Queue[TerminalSize] = asyncio.Queue()

    async def serve_incoming(self) -> None:
        """Until the other side is gone."""
        with contextlib.suppress(LinkError):
            while True:
                kind, content = await self.link.receive()
                if kind is Kind.INPUT:
                    await self._input.put(content)
                elif kind is Kind.INPUT_END:
                    self._input.end()
                elif kind is Kind.SIZE:
                    self._sizes.put_nowait(read_value(content, TerminalSize))

    async def tell(self, kind: Kind, value: Struct) -> None:
        await _or_gone(self.link.send_value(kind, value))

    async def read(self) -> bytes:
        data = await self._input.read()
        if data:
            await _or_gone(self.link.send(Kind.ROOM, len(data).to_bytes(4, "big")))
        return data

    async def write(self, data: bytes) -> None:
        await _or_gone(self.link.send_pieces(Kind.OUTPUT, data))

    async def read_stdin(self) -> bytes:
        return await self.read()

    async def write_stdout(self, data: bytes) -> None:
        await self.write(data)

    async def write_stderr(self, data: bytes) -> None:
        await _or_gone(self.link.send_pieces(Kind.ERROR, data))

    async def read_size(self) -> TerminalSize | None:
        return await self._sizes.get()

    async def receive(self) -> bytes | None:
        return await self.read() or None

    async def send(self, data: bytes) -> None:
        await self.write(data)


async def _or_gone(sending: Awaitable[None]) -> None:
    try:
        await sending
    except ConnectionError as error:
        raise GoneError(str(error)) from error


def _ended(outcome: Outcome | None) -> Ended:
    match outcome:
        case Exited(code):
            return Ended(code=code)
        case Failed(why):
            return Ended(code=1, why=why or "it failed without a reason")
        case None:
            return Ended()


async def _send(answer: Answer, client: _Client) -> Ended:
    match answer:
        case Response():
            head = Answered(answer.status, answer.content_type, answer.headers, is_whole=True)
            await client.tell(Kind.HEADER, head)
            await client.write(answer.body)
        case Stream():
            async with aclosing(answer.chunks) as chunks:
                await client.tell(Kind.HEADER, Answered(answer.status, answer.content_type, answer.headers))
                async for chunk in chunks:
                    await client.write(chunk)
        case Upgrade():
            head = Answered(answer.status, "", answer.headers, is_upgrade=True)
            await client.tell(Kind.HEADER, head)
            await answer.converse(client)
        case Dropped():
            raise GoneError("the connection was dropped")
    return Ended()
