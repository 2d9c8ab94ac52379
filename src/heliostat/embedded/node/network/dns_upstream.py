"""The host's resolvers, which are asked for all names that are not the cluster's, from the host's own network.

Rules: one after the other, each for a few seconds; so many questions wait for them at once and no more, so that names
of the cluster are answered however slow they are.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

from heliostat.embedded.node.network import dns_message as dns

PORT = 53
FORWARD_SECONDS = 3.0
LARGEST = 65_535
_MOST_WAITING = 256


class Upstream:
    def __init__(self, resolvers: Sequence[tuple[str, int]]) -> None:
        self._resolvers = resolvers
        self._waiting = 0

    async def ask(self, message: bytes, *, is_datagram: bool) -> bytes | None:
        """Their answer as it is; None when there is none."""
        if self._waiting >= _MOST_WAITING:
            return None
        self._waiting += 1
        try:
            return await self._ask_each(message, is_datagram=is_datagram)
        finally:
            self._waiting -= 1

    async def resolve(self, name: str, kind: int, id_: int) -> tuple[int, tuple[dns.Record, ...]]:
        """The code and the records of a name."""
        query = dns.build_query(id_, name, kind)
        answer = await self.ask(query, is_datagram=True)
        if answer is not None and dns.is_truncated(answer):
            answer = await self.ask(query, is_datagram=False)
        try:
            return dns.read_answer(answer) if answer is not None else (dns.SERVER_FAILURE, ())
        except dns.DnsError:
            return dns.SERVER_FAILURE, ()

    async def _ask_each(self, message: bytes, *, is_datagram: bool) -> bytes | None:
        for resolver in self._resolvers:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(FORWARD_SECONDS):
                    return await (_ask_by_datagram if is_datagram else _ask_by_stream)(resolver, message)
        return None


async def _ask_by_datagram(resolver: tuple[str, int], message: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        asking.setblocking(False)
        await loop.sock_connect(asking, resolver)
        await loop.sock_sendall(asking, message)
        while True:
            answer = await loop.sock_recv(asking, LARGEST)
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
