"""Connections as they come to a listener, for as long as it is open: no single one that fails ends the listening.

Rules: a client that left while it waited is passed over; where descriptors or memory have run out, the others wait a
moment and are accepted when some are free again. Whoever listens is told when that begins, once until it has passed.
"""

import asyncio
import errno
import socket
from collections.abc import Callable

_PAUSE_SECONDS = 0.1
_OUT_OF_SUPPLIES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_NO_LISTENER = frozenset((errno.EBADF, errno.EINVAL, errno.ENOTSOCK))


async def accept_each(
    listener: socket.socket, begin: Callable[[socket.socket], None], on_problem: Callable[[OSError], None]
) -> None:
    """Until cancelled. Raises OSError only for what is no listener (any more)."""
    loop, is_told = asyncio.get_running_loop(), False
    while True:
        try:
            connection, _ = await loop.sock_accept(listener)
        except OSError as error:
            if error.errno in _NO_LISTENER:
                raise
            if error.errno in _OUT_OF_SUPPLIES:
                if not is_told:
                    on_problem(error)
                is_told = True
                await asyncio.sleep(_PAUSE_SECONDS)
            continue
        is_told = False
        begin(connection)
