"""Doing something inside another network namespace: a thread goes in, does it, and comes back out.

A socket belongs for ever to the namespace it was made in, so the event loop can use what is made here like any other.
What it sends leaves at once, as with asyncio's own: who relays small pieces would else wait 40 ms for each second one.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from heliostat.embedded.node.shim import syscalls

T = TypeVar("T")

_OWN = "/proc/thread-self/ns/net"


def network_of(pid: int) -> Path:
    """The network namespace of a process, as a file."""
    return Path(f"/proc/{pid}/ns/net")


class NamespaceVisitor:
    """A few threads that visit namespaces; in between they are at home, so that nobody's namespace stays for them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="namespace")
        self._home = self._threads.submit(_open_home).result()

    async def visit(self, namespace: Path, do: Callable[[], T]) -> T:
        """``do`` inside the namespace; its result, or what it raised."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._visit, namespace, do)

    async def visit_new(self, do: Callable[[], T]) -> T:
        """``do`` inside a namespace that is made for it; it stays for whoever ``do`` has left there."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._visit_new, do)

    async def connect(self, namespace: Path, address: str, port: int) -> socket.socket:
        """A connection that begins in the namespace; raises OSError as any connection does."""
        return await _connected(await self.visit(namespace, _new_stream), address, port)

    async def listen(self, namespace: Path, address: str, port: int, kind: int = socket.SOCK_STREAM) -> socket.socket:
        return await self.visit(namespace, lambda: _new_listener(address, port, kind))

    def close(self) -> None:
        self._threads.shutdown(wait=False)
        os.close(self._home)

    def _visit(self, namespace: Path, do: Callable[[], T]) -> T:
        syscalls.join_namespace(str(namespace), syscalls.NEW_NETWORK)
        return self._do_and_come_home(do)

    def _visit_new(self, do: Callable[[], T]) -> T:
        syscalls.unshare(syscalls.NEW_NETWORK)
        return self._do_and_come_home(do)

    def _do_and_come_home(self, do: Callable[[], T]) -> T:
        try:
            return do()
        finally:
            syscalls.join_namespace(f"/proc/self/fd/{self._home}", syscalls.NEW_NETWORK)


def _open_home() -> int:
    """The host's own namespace, or an empty one where there is no way back: without root one can only leave it."""
    with contextlib.suppress(PermissionError):
        syscalls.join_namespace(_OWN, syscalls.NEW_NETWORK)
        return os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    syscalls.unshare(syscalls.NEW_NETWORK)
    return os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)


async def connect_from_host(address: str, port: int) -> socket.socket:
    """A connection that begins where this process lives; raises OSError as any connection does."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return await _connected(_new_stream(family), address, port)


async def _connected(made: socket.socket, address: str, port: int) -> socket.socket:
    try:
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:  # cancelled or refused: nobody else knows this socket
        made.close()
        raise
    return made


def _new_stream(family: int = socket.AF_INET) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setblocking(False)
    return made


def _new_listener(address: str, port: int, kind: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind | socket.SOCK_CLOEXEC)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        if kind == socket.SOCK_STREAM:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # those that are accepted have it from here
            made.listen(256)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made
