"""The cluster's resolver, by UDP and TCP: names of the cluster from the directory, everything else from the host's.

It never blocks and never dies of a message: what cannot be read is refused, what nobody answers in time is a failure.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from heliostat.embedded.node.network import dns_message as dns
from heliostat.embedded.node.network.directory import Directory
from heliostat.embedded.node.network.dns_message import DnsError, Question
from heliostat.embedded.node.network.dns_zone import look_up

PORT = 53
FORWARD_SECONDS = 3.0
_IDLE_SECONDS = 10.0
_LARGEST = 65_535
_MOST_WAITING = 256


class DnsServer:
    """``upstream`` are the host's resolvers; they are asked from the host's own network."""

    def __init__(self, directory: Directory, domain: str, upstream: Sequence[tuple[str, int]]) -> None:
        self._directory = directory
        self._domain = domain
        self._upstream = upstream
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, datagrams: socket.socket, listener: socket.socket) -> None:
        """Until cancelled. The sockets belong to the caller."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._serve_datagrams(datagrams))
                group.create_task(self._serve_streams(listener))
        finally:
            for task in self._tasks:
                task.cancel()

    async def answer(self, message: bytes, *, is_datagram: bool) -> bytes:
        try:
            question = dns.read_question(message)
        except DnsError:
            return dns.build_failure(message, dns.FORMAT_ERROR)
        if not question.is_query or question.class_ not in (dns.INTERNET, dns.ANY):
            return dns.build_answer(question, (), dns.NOT_IMPLEMENTED, is_datagram=is_datagram)
        found = look_up(question, self._directory, self._domain)
        if found is not None:
            return dns.build_answer(question, found.records, found.code, is_datagram=is_datagram)
        return await self._forward(message, question, is_datagram=is_datagram)

    async def _forward(self, message: bytes, question: Question, *, is_datagram: bool) -> bytes:
        for resolver in self._upstream:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(FORWARD_SECONDS):
                    return await (_ask_by_datagram if is_datagram else _ask_by_stream)(resolver, message)
        return dns.build_answer(question, (), dns.SERVER_FAILURE, is_datagram=is_datagram)

    async def _serve_datagrams(self, datagrams: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                message, sender = await loop.sock_recvfrom(datagrams, _LARGEST)
            except OSError:
                continue  # a sender that is gone
            if len(self._tasks) < _MOST_WAITING:
                self._begin(self._answer_datagram(datagrams, message, sender))

    async def _answer_datagram(self, datagrams: socket.socket, message: bytes, sender: tuple[str, int]) -> None:
        answer = await self.answer(message, is_datagram=True)
        if answer:
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_sendto(datagrams, answer, sender)

    async def _serve_streams(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            self._begin(self._answer_stream(connection))

    async def _answer_stream(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            while True:
                async with asyncio.timeout(_IDLE_SECONDS):
                    (size,) = struct.unpack("!H", await reader.readexactly(2))
                    message = await reader.readexactly(size)
                answer = await self.answer(message, is_datagram=False)
                writer.write(struct.pack("!H", len(answer)) + answer)
                await writer.drain()
        writer.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _ask_by_datagram(resolver: tuple[str, int], message: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        asking.setblocking(False)
        await loop.sock_connect(asking, resolver)
        await loop.sock_sendall(asking, message)
        while True:
            answer = await loop.sock_recv(asking, _LARGEST)
            if answer[:2] == message[:2]:
                return answer


async def _ask_by_stream(resolver: tuple[str, int], message: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*resolver)
    try:
        writer.write(struct.pack("!H", len(message)) + message)
        (size,) = struct.unpack("!H", await reader.readexactly(2))
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("the resolver closed the connection") from error
    finally:
        writer.close()


def host_resolvers(path: Path = Path("/etc/resolv.conf")) -> list[tuple[str, int]]:
    """Those of the host that speak version 4; none when it has none."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    named = [words[1] for line in lines if (words := line.split())[:1] == ["nameserver"] and len(words) > 1]
    return [(address, PORT) for address in named if ":" not in address]
