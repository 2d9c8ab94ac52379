"""Bytes on their way into a descriptor whose reader may be slow, without ever waiting for it.

Whoever feeds an outlet stops while it is full and is called when there is room again. A reader that is gone takes
everything, and it goes nowhere.
"""

import os
from collections.abc import Callable

from heliostat.embedded.node.shim.loop import Loop


class Outlet:
    def __init__(self, loop: Loop, descriptor: int, on_room: Callable[[], None]) -> None:
        """The descriptor is ours from here on."""
        self._loop = loop
        self._descriptor = descriptor
        self._on_room = on_room
        self._pending = b""
        self._is_waiting = False  # for the reader
        self._is_ending = False
        self.is_gone = False
        os.set_blocking(descriptor, False)

    @property
    def is_full(self) -> bool:
        return bool(self._pending)

    def put(self, data: bytes) -> None:
        if self.is_gone or self._is_ending:
            return
        self._pending += data
        if not self._is_waiting:
            self._write()

    def end(self) -> None:
        """Close it, after what is still to be written."""
        self._is_ending = True
        if not self.is_full:
            self._close()

    def _write(self) -> None:
        try:
            self._pending = self._pending[os.write(self._descriptor, self._pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = b""
            self._is_ending = True
        self._wait(is_needed=self.is_full)
        if self._is_ending and not self.is_full:
            self._close()

    def _wait(self, *, is_needed: bool) -> None:
        if is_needed and not self._is_waiting:
            self._loop.when_writable(self._descriptor, self._flush)
        elif not is_needed and self._is_waiting:
            self._loop.unhear(self._descriptor)
        self._is_waiting = is_needed

    def _flush(self) -> None:
        self._write()
        if not self.is_full:
            self._on_room()

    def _close(self) -> None:
        if not self.is_gone:
            self.is_gone = True
            os.close(self._descriptor)
