"""Ways to dashboards that stay: one process of ours for each, which ends with the cluster and with the supervisor.

What it says about itself lies in the state directory, so that the next who asks gets the same address.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from heliostat.local.state import State

_SECONDS = 20.0
_POLL_SECONDS = 0.05


class Way(Struct, frozen=True):
    pid: int
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def way_file(state: State, namespace: str, name: str) -> Path:
    return state.path / "dashboards" / f"{namespace}.{name}.json"  # a namespace has no dot


def note_way(state: State, namespace: str, name: str, port: int) -> Path:
    """Said by the process that serves it."""
    path = way_file(state, namespace, name)
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(msgspec.json.encode(Way(os.getpid(), port)))
    return fresh.replace(path)


def find_way(state: State, namespace: str, name: str) -> Way | None:
    """None when there is none, or its process is gone."""
    try:
        way = msgspec.json.decode(way_file(state, namespace, name).read_bytes(), type=Way)
        arguments = Path(f"/proc/{way.pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, msgspec.MsgspecError):
        return None
    return way if b"dashboard" in arguments and os.fsencode(f"--state={state.path}") in arguments else None


def open_way(state: State, namespace: str, name: str) -> Way | None:
    """The one that there is, or a new one; None when it could not be opened, and its log tells why."""
    found = find_way(state, namespace, name)
    if found is not None:
        return found
    with (state.logs / "dashboards.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603  our own program
            [
                *(sys.executable, "-m", "heliostat.cli", "dashboard", f"raycluster/{name}"),
                *(f"--namespace={namespace}", f"--state={state.path}", "--stay"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=tempfile.gettempdir(),
        )
    return _wait_for(process, state, namespace, name)


def _wait_for(process: "subprocess.Popen[bytes]", state: State, namespace: str, name: str) -> Way | None:
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        found = find_way(state, namespace, name)
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    return None
