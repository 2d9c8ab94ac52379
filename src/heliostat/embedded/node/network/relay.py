"""Bytes from one connection to another and back, until both directions are over. An end of one side is passed on."""

import asyncio
import contextlib
import socket

_CHUNK = 256 * 1024


async def relay(one: socket.socket, other: socket.socket) -> None:
    """Closes both. What one side can no longer take ends both directions."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(one, other))
            group.create_task(_copy(other, one))
    except* OSError:
        pass  # somebody hung up
    finally:
        one.close()
        other.close()


async def _copy(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, _CHUNK):
        await loop.sock_sendall(target, data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
