"""The containers of a Pod: started, listened to, signalled, and told of when they are over.

A container is over when its init has been collected: by then nothing that it started is alive, so its last words are in
the log before anybody hears of its end.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial

from heliostat.embedded.node.shim import container, families, memory_volumes
from heliostat.embedded.node.shim.container import Begun, Ended, Streams
from heliostat.embedded.node.shim.container_log import ContainerLog
from heliostat.embedded.node.shim.conversation import Input, Output
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.shim.loop import Loop
from heliostat.embedded.node.shim.protocol import Order


class Running:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.run = Run(order.id, order.name, time.time())
        self.log = ContainerLog(order.log, order.log_bytes)
        self.init = 0  # its first process; 0 until it is known
        self.is_up = False  # it has its view of the files, and listens to signals
        self.when_up: list[Callable[[], None]] = []
        self.ended: Ended | None = None  # how the program did, as the init told
        self.init_ended: Ended | None = None
        self.has_hung_up = False  # nobody will tell anything any more
        self.outputs: dict[str, Output] = {}
        self.input: Input | None = None
        self.wanted_signals: list[int] = []  # asked for before there was anybody to send them to

    def send(self, number: int) -> None:
        """The kernel ends a PID namespace with its first process; where there is none, that process does it."""
        is_end = self.order.is_plain and number == signal.SIGKILL
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.init, families.END if is_end else number)


class Containers:
    def __init__(self, loop: Loop, tell: Callable[[Run], None]) -> None:
        self._loop = loop
        self._tell = tell
        self._running: dict[str, Running] = {}

    def start(self, order: Order, done: Callable[[], None]) -> None:
        """``done`` once commands can be run in it and signals reach it, or once it is known that it will never be."""
        if order.id in self._running:  # asked again by a node that did not hear the answer
            self._await(self._running[order.id], done)
            return
        memory_volumes.provide(order.mounts)
        running = self._running[order.id] = Running(order)
        self._await(running, done)
        ours, streams = _open_streams(order)
        begun = container.begin(order, streams)
        for stream in set(streams):
            os.close(stream)
        self._tell(running.run)
        self._converse(running, ours)
        hear_lines(
            self._loop, begun, lambda what, rest: self._take(running, what, rest), lambda: self._hang_up(running)
        )

    def find(self, id_: str) -> Running:
        running = self._running.get(id_)
        if running is None or running.run.is_over or not running.is_up:
            raise ProcessLookupError(f"the container {id_} is not running")
        return running

    def list_first_processes(self) -> dict[str, int]:
        """Of those that run, by their ids."""
        return {id_: running.init for id_, running in self._running.items() if running.init and not running.run.is_over}

    def signal(self, id_: str, number: int) -> None:
        running = self._running.get(id_)
        if running is None or running.run.is_over:
            return
        if running.is_up or (running.init and number == signal.SIGKILL):
            running.send(number)
        else:
            running.wanted_signals.append(number)

    def attach(self, id_: str, descriptors: Mapping[str, int]) -> None:
        """Streams by their names; copies are made. What the container does not have ends at once."""
        running = self.find(id_)
        for name, descriptor in descriptors.items():
            copy = os.dup(descriptor)
            target = running.input if name == "stdin" else running.outputs.get(name)
            if target is None:
                os.close(copy)
            else:
                target.attach(copy)

    def resize(self, id_: str, rows: int, columns: int) -> None:
        running = self.find(id_)
        if running.order.has_terminal:
            container.set_window(running.outputs["stdout"].descriptor, rows, columns)

    def _converse(self, running: Running, ours: Mapping[str, int]) -> None:
        order, log = running.order, running.log
        for name in ("stdout", "stderr"):
            if name in ours:
                running.outputs[name] = Output(self._loop, ours[name], partial(log.write, name), partial(log.end, name))
        if "stdin" in ours:
            running.input = Input(self._loop, ours["stdin"], ends_with_first=order.stdin_ends_with_first)

    def _take(self, running: Running, what: str, rest: str) -> None:
        if what == "init":
            running.init = int(rest)
            self._loop.when_ended(running.init, lambda status: self._init_ended(running, status))
            if signal.SIGKILL in running.wanted_signals:
                running.send(signal.SIGKILL)
        elif what == "up":
            running.is_up = True
            for number in running.wanted_signals:
                running.send(number)
            self._settle(running)
        elif what == "failed":
            running.run = running.run._replace(error=rest)
        elif what == "ended":
            running.ended = Ended(*map(int, rest.split()))

    def _await(self, running: Running, done: Callable[[], None]) -> None:
        running.when_up.append(done)
        if running.is_up or running.run.is_over:
            self._settle(running)

    def _settle(self, running: Running) -> None:
        waiting, running.when_up = running.when_up, []
        for done in waiting:
            done()

    def _init_ended(self, running: Running, status: int) -> None:
        running.init_ended = container.ended_by(status)
        self._finish_when_all_is_told(running)

    def _hang_up(self, running: Running) -> None:
        """Nobody is left to tell anything: without an init there never was a container."""
        running.has_hung_up = True
        if not running.init:
            running.init_ended = Ended(container.CANNOT_START, 0)
        self._finish_when_all_is_told(running)

    def _finish_when_all_is_told(self, running: Running) -> None:
        """Its first process is collected and its last words are read, in whichever order we come to hear of them."""
        if running.has_hung_up and running.init_ended is not None:
            self._finish(running, running.init_ended)

    def _finish(self, running: Running, ended: Ended) -> None:
        """``ended`` is how the init did; what it told of the program counts more."""
        for output in running.outputs.values():
            output.finish()
        if running.input is not None:
            running.input.finish()
        running.log.close()
        ended = running.ended or ended
        running.run = running.run._replace(finished_at=time.time(), exit_code=ended.exit_code, signal=ended.signal)
        self._tell(running.run)
        self._settle(running)


def hear_lines(loop: Loop, begun: Begun, take: Callable[[str, str], None], ended: Callable[[], None]) -> None:
    """What a forked child tells, word by word, and that it tells no more."""
    rest = b""

    def read() -> None:
        nonlocal rest
        data = os.read(begun.told, 4096)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            take(*line.decode(errors="replace").partition(" ")[::2])
        if not data:
            loop.unhear(begun.told)
            os.close(begun.told)
            ended()

    loop.hear(begun.told, read)


def _open_streams(order: Order) -> tuple[dict[str, int], Streams]:
    """What we read, and what the program gets."""
    if order.has_terminal:
        return _open_terminal(order)
    out, out_end = os.pipe2(os.O_CLOEXEC)
    error, error_end = os.pipe2(os.O_CLOEXEC)
    ours = {"stdout": out, "stderr": error}
    if order.has_stdin:
        stdin, ours["stdin"] = os.pipe2(os.O_CLOEXEC)
    else:
        stdin = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    return ours, Streams(stdin, out_end, error_end)


def _open_terminal(order: Order) -> tuple[dict[str, int], Streams]:
    terminal, theirs = os.openpty()
    ours = {"stdout": terminal}
    if order.has_stdin:
        ours["stdin"] = os.dup(terminal)
    return ours, Streams(theirs, theirs, theirs)
