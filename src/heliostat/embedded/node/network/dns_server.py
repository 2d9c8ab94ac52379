"""The cluster's resolver, by UDP and TCP: names of the cluster from the directory, everything else from the host's.

It never blocks and never dies of a message or a connection: what cannot be read is refused, what nobody answers in time
is a failure. Connections have a bound of their own and the oldest makes room, so that idle ones silence nobody. An
alias is followed to the address it stands for, as most askers do not do that themselves.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from msgspec import structs

from heliostat.embedded.node.network import dns_message as dns
from heliostat.embedded.node.network.accepting import accept_each
from heliostat.embedded.node.network.dns_message import Alias, DnsError, Question
from heliostat.embedded.node.network.dns_upstream import LARGEST, Upstream
from heliostat.embedded.node.network.dns_zone import Found, Zone, look_up

_IDLE_SECONDS = 10.0
_MOST_STREAMS = 256
_MOST_ALIASES = 8


class DnsServer:
    """``resolvers`` are the host's."""

    def __init__(
        self,
        zone: Zone,
        resolvers: Sequence[tuple[str, int]],
        on_problem: Callable[[OSError], None] = lambda _error: None,
    ) -> None:
        self._zone = zone
        self._upstream = Upstream(resolvers)
        self._on_problem = on_problem
        self._datagrams: dict[asyncio.Task[None], None] = {}
        self._streams: dict[asyncio.Task[None], None] = {}  # the oldest first

    async def run(self, datagrams: socket.socket, listener: socket.socket) -> None:
        """Until cancelled. The sockets belong to the caller."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._serve_datagrams(datagrams))
                group.create_task(accept_each(listener, self._begin_stream, self._on_problem))
        finally:
            for task in (*self._datagrams, *self._streams):
                task.cancel()

    async def answer(self, message: bytes, *, is_datagram: bool) -> bytes:
        try:
            question = dns.read_question(message)
        except DnsError:
            return dns.build_failure(message, dns.FORMAT_ERROR)
        if not question.is_query or question.class_ not in (dns.INTERNET, dns.ANY):
            return dns.build_answer(question, (), dns.NOT_IMPLEMENTED, is_datagram=is_datagram)
        found = look_up(question, self._zone)
        if found is not None:
            found = await self._follow(question, found)
            return dns.build_answer(question, found.records, found.code, is_datagram=is_datagram)
        answer = await self._upstream.ask(message, is_datagram=is_datagram)
        return answer or dns.build_answer(question, (), dns.SERVER_FAILURE, is_datagram=is_datagram)

    async def _follow(self, question: Question, found: Found) -> Found:
        """With what an alias stands for. One that leads in a circle ends somewhere."""
        if question.type in (dns.CNAME, dns.ANY):
            return found
        for _ in range(_MOST_ALIASES):
            last = found.records[-1].data if found.records else None
            if not isinstance(last, Alias):
                return found
            more = look_up(structs.replace(question, name=last.name.lower().rstrip(".")), self._zone)
            if more is None:
                code, records = await self._upstream.resolve(last.name, question.type, question.id)
                return Found((*found.records, *records), code)
            found = Found((*found.records, *more.records), more.code)
        return found

    async def _serve_datagrams(self, datagrams: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                message, sender = await loop.sock_recvfrom(datagrams, LARGEST)
            except OSError:
                await asyncio.sleep(0)  # a sender that is gone
                continue
            _begin(self._answer_datagram(datagrams, message, sender), self._datagrams)

    async def _answer_datagram(self, datagrams: socket.socket, message: bytes, sender: tuple[str, int]) -> None:
        answer = await self.answer(message, is_datagram=True)
        if answer:
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_sendto(datagrams, answer, sender)

    def _begin_stream(self, connection: socket.socket) -> None:
        if len(self._streams) >= _MOST_STREAMS:
            oldest = next(iter(self._streams))
            del self._streams[oldest]
            oldest.cancel()
        _begin(self._answer_stream(connection), self._streams)

    async def _answer_stream(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(sock=connection)
            try:
                while True:
                    await self._answer_next(reader, writer)
            finally:
                writer.transport.abort()

    async def _answer_next(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_IDLE_SECONDS):
            (size,) = struct.unpack("!H", await reader.readexactly(2))
            message = await reader.readexactly(size)
        answer = await self.answer(message, is_datagram=False)
        writer.write(struct.pack("!H", len(answer)) + answer)
        await writer.drain()


def _begin(work: Coroutine[Any, Any, None], among: dict[asyncio.Task[None], None]) -> None:
    task = asyncio.create_task(work)
    among[task] = None
    task.add_done_callback(lambda done: among.pop(done, None))
