"""The API server's end of the link: a node in another process, as if it were in this one.

Rules: one connection per request, which ends with it, however it ends; a node that is away is told as such before
anything is begun, and one that goes in the middle as the failure of what it was doing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from heliostat.embedded.node.linking.link import (
    Answered,
    Asked,
    Attach,
    Ended,
    Execute,
    Forward,
    Kind,
    Link,
    LinkError,
    Proxy,
    ProxyNode,
    ReadLog,
    Refused,
    open_link,
    pass_on,
    read_value,
)
from heliostat.embedded.node.linking.link_input import Exchange, InputSender
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.messages import Answer, BrokenOffError, Request, Response, Stream, Upgrade, Upload, Wire
from heliostat.embedded.server.nodes.node_backend import (
    Duplex,
    Execution,
    Exited,
    Failed,
    LogOptions,
    Outcome,
    Proxied,
    Terminal,
    TerminalSize,
)
from heliostat.kube.jsontree import JsonObject

_BEGIN_SECONDS = 30.0
_LEFT = "the node went away in the middle"


class NodeLink:
    """``path`` is the socket that the node listens on; nothing need be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def is_reachable(self) -> bool:
        try:
            link = await open_link(self._path)
        except OSError:
            return False
        await link.close()
        return True

    async def read_log(self, pod: JsonObject, options: LogOptions) -> Answer:
        return await self._request(ReadLog(pod, options))

    async def execute(self, pod: JsonObject, execution: Execution, terminal: Terminal) -> Outcome:
        return await self._converse(Execute(pod, execution), terminal)

    async def attach(self, pod: JsonObject, execution: Execution, terminal: Terminal) -> Outcome:
        return await self._converse(Attach(pod, execution), terminal)

    async def forward(self, pod: JsonObject, port: int, stream: Duplex) -> Failed | None:
        async with self._ask(Forward(pod, port)) as link:
            conversation = _Conversation(link, stream.read, stream.write)
            return (await conversation.run()).failure()

    async def proxy(self, proxied: Proxied, request: Request) -> Answer:
        return await self._request(Proxy(proxied, pass_on(request)), request.upload)

    async def proxy_node(self, node: JsonObject, path: str, request: Request) -> Answer:
        return await self._request(ProxyNode(node, path, pass_on(request)), request.upload)

    async def _converse(self, asked: Asked, terminal: Terminal) -> Outcome:
        async with self._ask(asked) as link:
            conversation = _Conversation(link, terminal.read_stdin, terminal.write_stdout)
            conversation.write_error = terminal.write_stderr
            conversation.read_size = terminal.read_size
            ended = await conversation.run()
            return ended.failure() or Exited(ended.code)

    async def _request(self, asked: Asked, upload: Upload | None = None) -> Answer:
        exchange = Exchange(await self._open(), upload)
        try:
            await exchange.begin(asked)
            answer = await _build_answer(await _receive_head(exchange), exchange)
        except ConnectionError as error:
            await exchange.close()
            raise exchange.refusal or _unreachable(str(error)) from None
        except BaseException:  # whoever asked has gone: the node hears it by the end of the link
            await exchange.close()
            raise
        if isinstance(answer, Response):
            await exchange.close()
        return answer

    @asynccontextmanager
    async def _ask(self, asked: Asked) -> AsyncIterator[Link]:
        link = await self._open()
        try:
            await link.send_value(Kind.HEADER, asked)
            yield link
        finally:
            await link.close()

    async def _open(self) -> Link:
        try:
            return await open_link(self._path)
        except OSError as error:
            raise _unreachable(f"the node does not answer: {error.strerror}") from None


def _unreachable(why: str) -> RefusedError:
    return RefusedError(503, "ServiceUnavailable", f"error trying to reach service: {why}")


async def _receive_head(exchange: Exchange) -> Answered | Refused:
    kind, content = await exchange.receive()
    if kind is not Kind.HEADER:
        raise LinkError(f"{Kind.HEADER.name} was expected, and {kind.name} came")
    head: Answered | Refused = read_value(content, Answered | Refused)
    return head


async def _build_answer(head: Answered | Refused, exchange: Exchange) -> Answer:
    if isinstance(head, Refused):
        raise RefusedError(head.code, head.reason, head.message)
    if head.is_upgrade:
        return Upgrade(converse=_Switched(exchange.link).converse, headers=head.headers, status=head.status)
    chunks = _Chunks(exchange)
    if not head.is_whole:
        return Stream(chunks, head.status, head.content_type, head.headers)
    body = b"".join([chunk async for chunk in chunks])
    return Response(head.status, body, head.content_type, headers=head.headers)


class _Switched:
    """A connection that was handed over; nobody may come for it, when its client was refused or is gone."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting = asyncio.get_running_loop().call_later(_BEGIN_SECONDS, link.abort)

    async def converse(self, wire: Wire) -> None:
        async def receive() -> bytes:
            return await wire.receive() or b""

        self._waiting.cancel()
        try:
            await _Conversation(self._link, receive, wire.send).run()
        finally:
            await self._link.close()


class _Chunks:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            kind, content = await self._exchange.receive()
        except LinkError as error:
            raise BrokenOffError(str(error)) from None
        if kind is Kind.OUTPUT:
            return content
        if read_value(content, Ended).why:
            raise BrokenOffError(_LEFT)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        await self._exchange.close()


class _Conversation:
    """Both directions at once, until the node tells how it ended."""

    def __init__(
        self, link: Link, read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[None]]
    ) -> None:
        self._link = link
        self._sender = InputSender(link, read)
        self._write = write
        self.write_error: Callable[[bytes], Awaitable[None]] = write
        self.read_size: Callable[[], Awaitable[TerminalSize | None]] | None = None

    async def run(self) -> Ended:
        """Raises what writing to the client raises: GoneError."""
        sending = [asyncio.ensure_future(send()) for send in (self._send_input, self._send_sizes)]
        try:
            return await self._receive()
        except LinkError:
            return Ended(code=1, why=_LEFT)
        finally:
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    async def _receive(self) -> Ended:
        while True:
            kind, content = await self._link.receive()
            match kind:
                case Kind.OUTPUT:
                    await self._write(content)
                case Kind.ERROR:
                    await self.write_error(content)
                case Kind.ROOM:
                    self._sender.give_room(content)
                case Kind.OUTCOME:
                    return read_value(content, Ended)
                case _:
                    raise LinkError(f"{kind.name} does not belong into an answer")

    async def _send_input(self) -> None:
        """When the node is gone, that is told by what is received."""
        with contextlib.suppress(ConnectionError):
            await self._sender.run()

    async def _send_sizes(self) -> None:
        with contextlib.suppress(ConnectionError):
            while self.read_size is not None and (size := await self.read_size()) is not None:
                await self._link.send_value(Kind.SIZE, size)
