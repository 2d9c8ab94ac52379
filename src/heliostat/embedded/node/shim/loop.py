"""One loop over descriptors and children: what can be read is acted on, and whoever ends is told of."""

import os
import selectors
import signal
from collections.abc import Callable

_MOST_UNCLAIMED = 64  # far fewer than there are process numbers, so none comes round


class Loop:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._ends: dict[int, Callable[[int], None]] = {}
        self._unclaimed: dict[int, int] = {}  # statuses of children that nobody has asked about yet, the newest last
        self._is_stopping = False
        wake, wakened = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(wakened, warn_on_full_buffer=False)
        self.hear(wake, lambda: _empty(wake))

    def hear(self, descriptor: int, act: Callable[[], None]) -> None:
        """``act`` whenever it can be read or has ended."""
        self._selector.register(descriptor, selectors.EVENT_READ, act)

    def when_writable(self, descriptor: int, act: Callable[[], None]) -> None:
        """``act`` while it takes bytes, or its reader has gone; one that is heard cannot be waited for so, too."""
        self._selector.register(descriptor, selectors.EVENT_WRITE, act)

    def unhear(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def when_ended(self, pid: int, act: Callable[[int], None]) -> None:
        """``act`` hears the status of the child; at once, when it has ended before anybody could ask."""
        if pid in self._unclaimed:
            act(self._unclaimed.pop(pid))
        else:
            self._ends[pid] = act

    def stop(self) -> None:
        self._is_stopping = True

    def run(self) -> None:
        while not self._is_stopping:
            for key, _ in self._selector.select():
                if key.fd in self._selector.get_map():  # an earlier one may have ended it
                    key.data()
            self._reap()

    def _reap(self) -> None:
        """Every child, also those that a container left to us: we are PID 1."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            act = self._ends.pop(pid, None)
            if act is not None:
                act(status)
            else:
                self._keep(pid, status)

    def _keep(self, pid: int, status: int) -> None:
        """For a moment: a container may live shorter than it takes us to hear of its first process."""
        self._unclaimed[pid] = status
        if len(self._unclaimed) > _MOST_UNCLAIMED:
            del self._unclaimed[next(iter(self._unclaimed))]


def _nothing(_number: int, _frame: object) -> None:
    """The wake-up pipe does the work; without a handler nothing would be written to it."""


def _empty(descriptor: int) -> None:
    os.read(descriptor, 4096)
