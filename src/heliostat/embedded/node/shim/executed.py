"""A command inside a container that runs already: in its namespaces, with streams that the node handed over."""

import contextlib
import os
import signal
import socket
from typing import NoReturn

from heliostat.embedded.node.shim import container, syscalls
from heliostat.embedded.node.shim.container import Streams
from heliostat.embedded.node.shim.protocol import Order

_NAMESPACES = (("pid", syscalls.NEW_PROCESSES), ("mnt", syscalls.NEW_MOUNTS))


def begin(order: Order, init: int, streams: Streams, seconds: float = 0.0) -> container.Begun:
    """``init`` is the container's first process, as the shim sees it; 0 seconds are as many as it takes."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid:
        os.close(tell)
        return container.Begun(pid, told)
    os.close(told)
    try:
        _enter_and_run(order, init, streams, tell, seconds)
    except BaseException as error:  # noqa: BLE001  a forked child must never return into the shim's loop
        os.write(tell, f"failed {error}\n".encode())
    os._exit(container.CANNOT_START)


def _enter_and_run(order: Order, init: int, streams: Streams, tell: int, seconds: float) -> NoReturn:
    container.keep_only(*streams, tell)
    try:
        container.join_control_groups(order)
        for name, flag in () if order.is_plain else _NAMESPACES:
            syscalls.join_namespace(f"/proc/{init}/ns/{name}", flag)
    except (FileNotFoundError, ProcessLookupError):  # its files are in no place that anybody else knows
        raise ProcessLookupError(f"the container {order.name} ended before the command could run in it") from None
    os.chdir("/")
    streams = _open_terminal(order, streams) if order.has_terminal else streams
    program = os.fork()  # a joined PID namespace holds for children
    if not program:
        try:
            container.run_program(order, streams, tell)
        except OSError as error:
            os.write(tell, f"failed {container.explain_start(order, error)}\n".encode())
            os._exit(container.NOT_FOUND if error.errno == 2 else container.NOT_EXECUTABLE)
    os.write(tell, f"program {program}\n".encode())
    for stream in set(streams):
        os.close(stream)
    _end_after(seconds, program, tell)
    _, status = os.waitpid(program, 0)
    ended = container.ended_by(status)
    os.write(tell, f"ended {ended.exit_code} {ended.signal}\n".encode())
    os._exit(0)


def _open_terminal(order: Order, streams: Streams) -> Streams:
    """One of the container's own, so that its name leads to it in there; our end goes out over the given socket."""
    ours, theirs = os.openpty()
    if not order.is_plain:
        os.fchown(theirs, order.user, -1)
    channel = socket.socket(fileno=streams.stdin)
    socket.send_fds(channel, [b"t"], [ours])
    channel.close()
    for descriptor in {ours, *streams} - {streams.stdin}:
        os.close(descriptor)
    return Streams(theirs, theirs, theirs)


def _end_after(seconds: float, program: int, tell: int) -> None:
    """In here and not in the node, so that a command whose node has died does not stay."""

    def end(*_: object) -> None:
        os.write(tell, b"late\n")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
