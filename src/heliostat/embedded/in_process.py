"""The API server in the same process as its client: no network, the same handlers.

The controllers that live beside the server reach it this way, and so do simulated ones. As over a network, a write that
was sent is carried out whatever becomes of who sent it: a handler that is stopped in the middle would take back what
belongs to an object that is stored all the same.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeAlias

from heliostat.embedded.access.users import User
from heliostat.embedded.server.messages import Answer, Dropped, Request, Response, Stream, Upgrade
from heliostat.embedded.server.messages import Chunks as ServedChunks
from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.transport import Call, Chunks, Reply

Handle: TypeAlias = Callable[[Request], Coroutine[Any, Any, Answer]]


class InProcessTransport:
    def __init__(self, handle: Handle, user: User) -> None:
        self._handle = handle
        self._user = user
        self._writes: set[asyncio.Task[Answer]] = set()

    async def send(self, call: Call, seconds: float) -> Reply:
        answer = await self._ask(call, seconds)
        if isinstance(answer, Stream):
            await answer.chunks.aclose()
            raise TypeError(f"{call} answers with a stream: open it")
        return _reply(call, answer)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        answer = await self._ask(call, seconds)
        return _Incoming(answer.chunks) if isinstance(answer, Stream) else _reply(call, answer)

    async def close(self) -> None:
        """Until every write that was sent has come to its end."""
        if self._writes:
            await asyncio.wait(self._writes)

    async def _ask(self, call: Call, seconds: float) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                if call.is_write:
                    return await asyncio.shield(self._begin(self._handle(self._request(call))))
                return await self._handle(self._request(call))
        except TimeoutError:
            raise AmbiguousError(f"{call}: no answer within {seconds:g} s") from None

    def _begin(self, write: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        task = asyncio.create_task(write)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return task

    def _request(self, call: Call) -> Request:
        query: dict[str, list[str]] = {}
        for name, value in call.query:
            query.setdefault(name, []).append(value)
        headers = {"accept": call.accept, **{name.lower(): value for name, value in call.headers}}
        if call.body:
            headers["content-type"] = call.content_type
        return Request(
            method=call.method, path=call.path, user=self._user, query=query, headers=headers, body=call.body
        )


def _reply(call: Call, answer: Response | Dropped | Upgrade) -> Reply:
    if isinstance(answer, Upgrade):
        raise TypeError(f"{call} asks for another protocol, and there is no connection to speak it on")
    if isinstance(answer, Dropped):
        raise AmbiguousError(f"{call}: the connection ended without an answer")
    retry_after = next((value for name, value in answer.headers if name.lower() == "retry-after"), "")
    return Reply(answer.status, answer.body, retry_after)


class _Incoming:
    """A served stream as a client reads it."""

    def __init__(self, chunks: ServedChunks) -> None:
        self._chunks = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except OSError as error:
            raise UnavailableError(str(error)) from error

    async def aclose(self) -> None:
        await self._chunks.aclose()
