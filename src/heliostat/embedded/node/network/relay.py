"""Bytes from one connection to another and back, until both directions are over. An end of one side is passed on."""

import asyncio
import contextlib
import socket

_CHUNK = 256 * 1024
_LAST_SECONDS = 2.0


async def relay(one: socket.socket, other: socket.socket) -> None:
    """Closes both. A side that is lost ends both directions, after what it had said before."""
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
        try:
            await loop.sock_sendall(target, data)
        except OSError:
            await asyncio.sleep(_LAST_SECONDS)  # what it said before it took no more is still on its way back
            raise
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
