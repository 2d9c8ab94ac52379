"""Commands that run in containers besides their own program: begun, answered when they are over, ended on request."""

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeAlias

from heliostat.embedded.node.shim import executed
from heliostat.embedded.node.shim.container import Streams
from heliostat.embedded.node.shim.containers import hear_lines
from heliostat.embedded.node.shim.loop import Loop
from heliostat.embedded.node.shim.protocol import Message, Order
from heliostat.embedded.node.shim.sessions import kill_session

_KILLED = 137
Key: TypeAlias = tuple[Hashable, int]  # who asked, and the number of the request


class Wanted(NamedTuple):
    """Where and how a command runs, besides what its order says."""

    init: int  # the first process of the container
    streams: Streams
    seconds: float  # that it may take; 0: as many as it takes


class _Command:
    def __init__(self) -> None:
        self.program = 0  # its PID; 0 until it is known
        self.is_unwanted = False
        self.outcome: Message = {"exit_code": _KILLED}


class Commands:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._running: dict[Key, _Command] = {}

    def begin(self, key: Key, order: Order, wanted: Wanted, answer: Callable[[Message], None]) -> None:
        """The caller closes its copies of the streams."""
        command = self._running[key] = _Command()
        begun = executed.begin(order, wanted.init, wanted.streams, wanted.seconds)

        def end() -> None:
            del self._running[key]
            answer(command.outcome)

        hear_lines(self._loop, begun, lambda what, rest: _take(command, what, rest), end)

    def end(self, key: Key) -> None:
        """All of it, whatever it has started; it is answered as one that was killed."""
        command = self._running.get(key)
        if command is None:
            return
        command.is_unwanted = True
        if command.program:
            kill_session(command.program)

    def end_all_of(self, connection: Hashable) -> None:
        for key in [key for key in self._running if key[0] == connection]:
            self.end(key)


def _take(command: _Command, what: str, rest: str) -> None:
    if what == "program":
        command.program = int(rest)
        if command.is_unwanted:
            kill_session(command.program)
    elif what == "failed":
        command.outcome["why"] = rest
    elif what == "late":
        command.outcome["is_late"] = True
    elif what == "ended":
        command.outcome["exit_code"] = int(rest.split(maxsplit=1)[0])
