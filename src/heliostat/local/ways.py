"""Port forwards that stay, to dashboards and to RayServices: a background process each, which ends with its target and
with the supervisor.

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


class WayKind(Struct, frozen=True):
    command: str  # which serves it
    kind: str
    folder: str


DASHBOARD = WayKind("dashboard", "raycluster", "dashboards")
SERVICE = WayKind("expose", "rayservice", "services")


class Way(Struct, frozen=True):
    pid: int
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def way_file(state: State, namespace: str, name: str, kind: WayKind = DASHBOARD) -> Path:
    return state.path / kind.folder / f"{namespace}.{name}.json"  # a namespace has no dot


def log_file(state: State, kind: WayKind = DASHBOARD) -> Path:
    return state.logs / f"{kind.folder}.log"


def note_way(state: State, namespace: str, name: str, port: int, kind: WayKind = DASHBOARD) -> Path:
    """Said by the process that serves it."""
    path = way_file(state, namespace, name, kind)
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(msgspec.json.encode(Way(os.getpid(), port)))
    return fresh.replace(path)


def find_way(state: State, namespace: str, name: str, kind: WayKind = DASHBOARD) -> Way | None:
    """None when there is none, or its process is gone."""
    try:
        way = msgspec.json.decode(way_file(state, namespace, name, kind).read_bytes(), type=Way)
        arguments = Path(f"/proc/{way.pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, msgspec.MsgspecError):
        return None
    return way if kind.command.encode() in arguments and os.fsencode(f"--state={state.path}") in arguments else None


def open_way(state: State, namespace: str, name: str, kind: WayKind = DASHBOARD) -> Way | None:
    """The one that there is, or a new one; None when it could not be opened, and its log tells why."""
    found = find_way(state, namespace, name, kind)
    if found is not None:
        return found
    with log_file(state, kind).open("ab") as log:
        process = subprocess.Popen(  # noqa: S603  our own program
            [
                *(sys.executable, "-m", "heliostat.cli", kind.command, f"{kind.kind}/{name}"),
                *(f"--namespace={namespace}", f"--state={state.path}", "--stay"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=tempfile.gettempdir(),
        )
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        found = find_way(state, namespace, name, kind)
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    return None
