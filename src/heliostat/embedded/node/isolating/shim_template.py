"""The node's side of the template of shims: one process that is started when it is first needed and forks on request.

It may die: the next request starts another. It is let go when nobody has asked for a while: Pods come together, and in
between it would hold 13 MB to save the next one 60 ms. Closed, or when this process ends, it ends too; shims go on.
"""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import heliostat
from heliostat.embedded.node.shim import protocol
from heliostat.embedded.node.shim.template import ROOM_FOR_TITLE

IDLE_SECONDS = 3.0


class ShimTemplate:
    def __init__(self, idle_seconds: float = IDLE_SECONDS, place: Callable[[], Iterable[str]] = tuple) -> None:
        """``place`` tells the files of control groups that take it, and with it all shims."""
        self._idle_seconds = idle_seconds
        self._place = place
        self._talk: socket.socket | None = None
        self._pid = 0
        self._letting_go: asyncio.TimerHandle | None = None

    def request(self, wish: protocol.Message, descriptors: Sequence[int]) -> None:
        """A shim; ``descriptors`` are where it tells what became of it and where it complains. Raises OSError."""
        self._let_go_later()
        data = protocol.encode(wish)
        if self._talk is not None:
            with contextlib.suppress(OSError):  # it has died
                socket.send_fds(self._talk, [data], descriptors)
                return
            self._end()
        self._begin()
        if self._talk is not None:
            socket.send_fds(self._talk, [data], descriptors)

    async def close(self) -> None:
        if self._letting_go is not None:
            self._letting_go.cancel()
        await asyncio.to_thread(self._end)

    def _let_go_later(self) -> None:
        if self._letting_go is not None:
            self._letting_go.cancel()
        self._letting_go = asyncio.get_running_loop().call_later(self._idle_seconds, self._end)

    def _begin(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        with theirs:
            self._pid = _start(theirs.fileno())
        for group in self._place():
            with contextlib.suppress(OSError):
                Path(group).write_text(str(self._pid))
        self._talk = ours

    def _end(self) -> None:
        """It ends once nobody can ask it any more."""
        if self._talk is not None:
            self._talk.close()
            self._talk = None
            os.waitpid(self._pid, 0)


def _start(requests: int) -> int:
    root = str(Path(heliostat.__file__).parent.parent)
    program = (
        f"import sys; sys.path.insert(0, {root!r}); from heliostat.embedded.node.shim.template import serve; serve(3)"
    )
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", program, " " * ROOM_FOR_TITLE],
            {"PATH": os.defpath, "LANG": "C.UTF-8"},
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)),
                (os.POSIX_SPAWN_DUP2, requests, 3),
            ],
        )
    finally:
        os.close(nothing)
