"""What a container writes and reads, and who is attached to it: its output goes to its log and to all who listen.

Rules: a listener gets what comes from then on; one that is slow holds the container back, as a terminal would, and the
node sees to it that none is slow for ever; what nobody feeds, the container waits for.
"""

import os
from collections.abc import Callable

from heliostat.embedded.node.shim.loop import Loop
from heliostat.embedded.node.shim.outlet import Outlet

_CHUNK = 64 * 1024


class Output:
    """One stream that a container writes. ``take`` hears it first; ``end`` that nothing follows."""

    def __init__(self, loop: Loop, descriptor: int, take: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self._loop = loop
        self._take = take
        self._end = end
        self._listeners: list[Outlet] = []
        self._is_heard = True
        self._is_over = False
        loop.hear(descriptor, self._read)

    def attach(self, descriptor: int) -> None:
        outlet = Outlet(self._loop, descriptor, self._go_on)
        self._listeners.append(outlet)
        if self._is_over:
            outlet.end()

    def finish(self) -> None:
        """Take what is still there; nobody can write any more."""
        if self._is_over:
            return
        os.set_blocking(self.descriptor, False)
        while self._copy():
            pass
        self._close()

    def _read(self) -> None:
        if not self._copy():
            self._close()
        elif any(outlet.is_full for outlet in self._listeners):
            self._hear(is_wanted=False)

    def _go_on(self) -> None:
        if not self._is_over and not any(outlet.is_full for outlet in self._listeners):
            self._hear(is_wanted=True)

    def _hear(self, *, is_wanted: bool) -> None:
        if is_wanted and not self._is_heard:
            self._loop.hear(self.descriptor, self._read)
        elif not is_wanted and self._is_heard:
            self._loop.unhear(self.descriptor)
        self._is_heard = is_wanted

    def _copy(self) -> bool:
        """Whether there may be more."""
        try:
            data = os.read(self.descriptor, _CHUNK)
        except OSError:  # nothing there, or a terminal that nobody has open any more
            return False
        if data:
            self._take(data)
            self._listeners = [outlet for outlet in self._listeners if not outlet.is_gone]
            for outlet in self._listeners:
                outlet.put(data)
        return bool(data)

    def _close(self) -> None:
        self._is_over = True
        self._hear(is_wanted=False)
        os.close(self.descriptor)
        self._end()
        for outlet in self._listeners:
            outlet.end()


class Input:
    """What a container reads: from whoever is attached. ``ends_with_first``: nothing follows the first of them."""

    def __init__(self, loop: Loop, descriptor: int, *, ends_with_first: bool) -> None:
        self._loop = loop
        self._outlet = Outlet(loop, descriptor, self._go_on)
        self._ends_with_first = ends_with_first
        self._sources: list[int] = []
        self._is_heard = True

    def attach(self, source: int) -> None:
        self._sources.append(source)
        if self._is_heard:
            self._loop.hear(source, lambda: self._read(source))

    def finish(self) -> None:
        for source in tuple(self._sources):
            self._leave(source)
        self._outlet.end()

    def _read(self, source: int) -> None:
        data = os.read(source, _CHUNK)
        if data:
            self._outlet.put(data)
            if self._outlet.is_full:
                self._hear(is_wanted=False)
            return
        self._leave(source)
        if self._ends_with_first:
            self._outlet.end()

    def _go_on(self) -> None:
        self._hear(is_wanted=True)

    def _hear(self, *, is_wanted: bool) -> None:
        for source in self._sources if is_wanted is not self._is_heard else ():
            if is_wanted:
                self._loop.hear(source, lambda source=source: self._read(source))  # type: ignore[misc]
            else:
                self._loop.unhear(source)
        self._is_heard = is_wanted

    def _leave(self, source: int) -> None:
        self._sources.remove(source)
        if self._is_heard:
            self._loop.unhear(source)
        os.close(source)
