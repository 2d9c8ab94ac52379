"""The port of the local API server: the one that was asked for, else the one it had before, else any free one."""

import errno
import socket

from heliostat.local.state import State, StateError

HOST = "127.0.0.1"
_KEPT = "port"


def choose_port(state: State, wanted: int) -> int:
    """Raises StateError when the wanted one cannot be had.

    The same at every start where that is possible, so that a kubeconfig stays good.
    """
    if wanted:
        _check(wanted)
        return wanted
    kept = state.path / _KEPT
    if kept.exists() and _find_problem(int(kept.read_text())) is None:
        return int(kept.read_text())
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    kept.write_text(str(port))
    return port


def _check(port: int) -> None:
    problem = _find_problem(port)
    if problem is None:
        return
    why = "is taken by another program" if problem.errno == errno.EADDRINUSE else f"cannot be used: {problem.strerror}"
    fix = "give another one to --port, or leave --port out for any free one"
    raise StateError(f"port {port} of {HOST} {why}; {fix}")


def _find_problem(port: int) -> OSError | None:
    """As a server would meet it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError as error:
            return error
    return None
