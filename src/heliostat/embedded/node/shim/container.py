"""One container as processes: a first process that looks after the others, and the program that was asked for.

    shim ── init (PID 1 of the container's namespace) ── program (PID 2) ── …

The init passes signals on, collects orphans, tells how the program ended, and by ending itself ends whatever the
program left behind. What cannot be started is told in words before the first line of the program could run.
"""

import contextlib
import fcntl
import os
import signal
import struct
import termios
from pathlib import Path
from typing import NamedTuple, NoReturn

from heliostat.embedded.node.shim import families, identity, root_view, syscalls
from heliostat.embedded.node.shim.protocol import Order

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
              signal.SIGWINCH, signal.SIGCONT, signal.SIGALRM)  # fmt: skip
_MOST_DESCRIPTORS = 4096
CANNOT_START = 128
NOT_EXECUTABLE = 126
NOT_FOUND = 127


class Streams(NamedTuple):
    """The program's ends, as file descriptors."""

    stdin: int
    stdout: int
    stderr: int


class Ended(NamedTuple):
    exit_code: int
    signal: int


class Begun(NamedTuple):
    """``told`` can be read, line by line: the init's PID, that it is up or why it cannot be, how it ended."""

    pid: int
    told: int


def begin(order: Order, streams: Streams) -> Begun:
    """Fork the container off. The caller closes its copies of the streams."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid:
        os.close(tell)
        return Begun(pid, told)
    os.close(told)
    try:
        _become_init(order, streams, tell)
    except BaseException as error:  # noqa: BLE001  a forked child must never return into the shim's loop
        _tell_failure(tell, str(error))
    os._exit(CANNOT_START)


def _become_init(order: Order, streams: Streams, tell: int) -> None:
    """In the child: a new PID namespace holds for those forked from here on, so there is one more.

    The one in between ends at once, and the shim, which is PID 1 of the Pod, becomes the parent of the init.
    """
    os.setsid()
    keep_only(*streams, tell)
    join_control_groups(order)
    if order.is_plain:
        families.lead_family()
        os.write(tell, f"init {os.getpid()}\n".encode())
    else:
        _enter_namespaces(order, tell)
    program = _fork_program(order, streams, tell)
    for stream in set(streams):
        os.close(stream)
    _look_after(order, program, tell)


def _enter_namespaces(order: Order, tell: int) -> None:
    syscalls.unshare(syscalls.NEW_MOUNTS | syscalls.NEW_PROCESSES)
    init = os.fork()
    if init:
        os.write(tell, f"init {init}\n".encode())
        os._exit(0)
    scratch = Path(order.work, "root")
    scratch.mkdir(parents=True, exist_ok=True)
    root_view.enter(order, scratch)


def join_control_groups(order: Order) -> None:
    """Whoever is forked from here on is in them too."""
    for path in order.control_groups:
        Path(path).write_text("0")


def keep_only(*descriptors: int) -> None:
    """In a forked child: what it has of the shim's are pipes and sockets of others, which wait for their last copy."""
    signal.set_wakeup_fd(-1)
    first = 3
    for descriptor in sorted(set(descriptors)):
        os.closerange(first, descriptor)
        first = max(first, descriptor + 1)
    os.closerange(first, _MOST_DESCRIPTORS)


def _fork_program(order: Order, streams: Streams, tell: int) -> int:
    program = os.fork()
    if not program:
        try:
            run_program(order, streams, tell)
        except OSError as error:
            _tell_failure(tell, explain_start(order, error))
            os._exit(NOT_FOUND if error.errno == 2 else NOT_EXECUTABLE)
        except BaseException as error:  # noqa: BLE001  see begin
            _tell_failure(tell, str(error))
            os._exit(CANNOT_START)
    return program


def run_program(order: Order, streams: Streams, tell: int) -> NoReturn:
    """Become the program. ``tell`` stays open until then, for the case that there is none."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    if order.has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    keep_only(tell)
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _be_nice(order.niceness)
    _enter_directory(order.directory)
    if order.is_plain:
        syscalls.hear_end_of_parent(signal.SIGKILL)
    else:
        identity.become(order)
    os.execvpe(order.argv[0], order.argv, order.environment)  # noqa: S606


def _be_nice(niceness: int) -> None:
    """Systems for desktops weigh whole sessions, each of which can be nice by itself."""
    if niceness:
        os.nice(niceness)
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(niceness))


def _enter_directory(directory: str) -> None:
    Path(directory).mkdir(parents=True, exist_ok=True)
    os.chdir(directory)


def _look_after(order: Order, program: int, tell: int) -> NoReturn:
    """As PID 1: pass signals on, collect every orphan, and end when the program has ended."""
    _pass_on_signals(program)
    os.write(tell, b"up\n")
    ended = _wait(program)
    if order.is_plain:
        families.end_all_below(os.getpid())
    os.write(tell, f"ended {ended.exit_code} {ended.signal}\n".encode())
    os._exit(0)


def _pass_on_signals(to: int) -> None:
    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(to, number)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)


def _wait(program: int) -> Ended:
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return Ended(CANNOT_START, 0)
        if pid == program:
            return ended_by(status)


def ended_by(status: int) -> Ended:
    """As a container's state tells it: 128 and the signal when one ended it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ended(128 + number, number)
    return Ended(os.WEXITSTATUS(status), 0)


def explain_start(order: Order, error: OSError) -> str:
    program = order.argv[0]
    if error.errno == 2:
        path = order.environment.get("PATH", os.defpath)
        where = "does not exist" if "/" in program else f"was not found in PATH ({path})"
        return f"the command {program!r} {where}"
    return f"the command {program!r} could not be started: {error.strerror or error}"


def _tell_failure(tell: int, text: str) -> None:
    os.write(tell, f"failed {text[:2000]}\n".encode())


def set_window(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
