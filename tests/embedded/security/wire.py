"""HTTP/1.1 by hand over TLS, so that a test can send what no library would, many requests to a connection."""

import asyncio
import ssl
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Self

import msgspec
from msgspec import Struct, structs

DEADLINE = 20.0
ABREAST = 32  # requests sent before the first answer is read


class Asked(Struct, frozen=True):
    """A request as it goes over the wire; ``target`` is sent as it is."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def build(self) -> bytes:
        headers = list(self.headers)
        if not any(name.lower() == "host" for name, _ in headers):
            headers.insert(0, ("Host", "localhost"))
        if self.body:
            headers.append(("Content-Length", str(len(self.body))))
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + self.body


class Told(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes = b""
    version: str = "HTTP/1.1"

    @property
    def is_last(self) -> bool:
        """Whether the connection ends with it."""
        return self.version == "HTTP/1.0" or self.headers.get("connection", "").lower() == "close"

    @property
    def is_bug(self) -> bool:
        """Some refusals are a 5xx in kube-apiserver's words too (a revision from the future, deleting with a list)."""
        is_told = b"Status" in self.body and b"InternalError" not in self.body and b"met a bug" not in self.body
        return self.status >= 500 and not is_told

    @property
    def tree(self) -> Any:
        return msgspec.json.decode(self.body)


class Wire:
    """One connection; ``async with`` opens and closes it."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port = port
        self._tls = tls

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._port, ssl=self._tls, server_hostname="localhost", limit=16 * 1024 * 1024
        )

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self, method: str = "GET") -> Told | None:
        """The next answer; None when the server has ended the connection instead."""
        async with asyncio.timeout(DEADLINE):
            try:
                head = await self.receive_head()
                return structs.replace(head, body=await self._body(method, head.status, head.headers))
            except (asyncio.IncompleteReadError, OSError):
                return None

    async def ask(self, asked: Asked) -> Told | None:
        with suppress(ConnectionError):  # it may refuse, and close, before all of it was sent
            await self.send(asked.build())
        return await self.receive(asked.method)

    async def ask_many(self, requests: Sequence[Asked], abreast: int = ABREAST) -> list[Told]:
        """The answers in order; a connection that the server closes after an answer is opened again.

        What may not be HTTP at all goes alone: it takes those with it that wait beside it.
        """
        answers: list[Told] = []
        while len(answers) < len(requests):
            batch = _batch(requests[len(answers) : len(answers) + abreast])
            found = await self._ask_batch(batch)
            assert found, f"no answer to {batch[0]}"
            answers += found
        return answers

    async def _ask_batch(self, batch: Sequence[Asked]) -> list[Told]:
        with suppress(ConnectionError):
            await self.send(b"".join(asked.build() for asked in batch))
        found: list[Told] = []
        for asked in batch:
            told = await self.receive(asked.method)
            if told is None:
                break
            found.append(told)
            if told.is_last:
                break
        if len(found) < len(batch) or found[-1].is_last:
            await self.close()
            await self.open()
        return found

    async def _body(self, method: str, status: int, headers: dict[str, str]) -> bytes:
        if method == "HEAD" or status in (204, 304):
            return b""
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body

    async def read(self, size: int) -> bytes:
        return await self._reader.readexactly(size)

    async def receive_head(self) -> Told:
        """Status and headers only: for answers that do not end."""
        async with asyncio.timeout(DEADLINE):
            head = await self._reader.readuntil(b"\r\n\r\n")
        status_line, *lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = status_line.split(" ", 2)
        return Told(int(status), dict(_split_header(line) for line in lines if line), version=version)


def _batch(requests: Sequence[Asked]) -> Sequence[Asked]:
    """Up to the first that wants to speak something else: what follows that is not HTTP any more."""
    for index, asked in enumerate(requests):
        if any(name == "Upgrade" for name, _ in asked.headers):
            return requests[: index + 1]
    return requests


def _split_header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


async def ask_all(port: int, tls: ssl.SSLContext, requests: Iterable[Asked], abreast: int = ABREAST) -> list[Told]:
    """Over one connection."""
    async with Wire(port, tls) as wire:
        return await wire.ask_many(list(requests), abreast)
