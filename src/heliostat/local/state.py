"""Where a local Heliostat keeps everything: one directory, for its owner alone, that a lock guards and a version marks.

server/ (the store and its keys)   history/ (objects that are gone)   node/ (Pods, logs, network)   logs/ (our own)
kubeconfig   supervisor.json
"""

import fcntl
import json
import os
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from heliostat.embedded.doors.files import remove_tree

FORMAT = 1
_VERSION_FILE = "format.json"


class StateError(Exception):
    """The directory cannot be used; the text says why and what to do."""


class ChildStatus(Struct, frozen=True):
    name: str
    pid: int
    since: float
    restarts: int = 0
    last_exit: str = ""


class SupervisorStatus(Struct, frozen=True, kw_only=True):
    """What the supervisor last wrote about itself and its processes."""

    pid: int
    since: float
    is_ready: bool = False
    is_ephemeral: bool = False
    problem: str = ""
    children: tuple[ChildStatus, ...] = ()


def default_state() -> Path:
    named = os.environ.get("HELIOSTAT_STATE")
    return Path(named).expanduser() if named else Path.home() / ".local" / "state" / "heliostat"


def kubeconfig_of(state: Path) -> Path:
    return state / "kubeconfig"


class State(Struct, frozen=True):
    path: Path

    @property
    def kubeconfig(self) -> Path:
        return kubeconfig_of(self.path)

    @property
    def server(self) -> Path:
        return self.path / "server"

    @property
    def node(self) -> Path:
        return self.path / "node"

    @property
    def node_socket(self) -> Path:
        return self.path / "node.sock"

    @property
    def history(self) -> Path:
        """Of objects; that of Pods' logs is the node's."""
        return self.path / "history"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def read_status(self) -> SupervisorStatus | None:
        """None: no supervisor has ever run here, or its last words cannot be read."""
        try:
            return msgspec.json.decode((self.path / "supervisor.json").read_bytes(), type=SupervisorStatus)
        except (OSError, msgspec.MsgspecError):
            return None

    def write_status(self, status: SupervisorStatus) -> None:
        fresh = self.path / "supervisor.json.new"
        fresh.write_bytes(msgspec.json.encode(status))
        fresh.replace(self.path / "supervisor.json")

    def is_locked(self) -> bool:
        """Whether a supervisor lives here."""
        try:
            with (self.path / "lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def lock(self) -> IO[bytes]:
        """Held for as long as the file stays open; raises StateError when somebody else has it."""
        file = (self.path / "lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise StateError(f"another heliostat runs in {self.path}; heliostat status tells which") from None
        return file

    def remove(self) -> None:
        remove_tree(self.path)


def open_state(path: Path) -> State:
    """Make the directory if it is missing; raises StateError for one that is not ours or of another format."""
    path = path.absolute()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_owner(path)
        path.chmod(0o700)
        _check_format(path)
        (path / "logs").mkdir(exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise StateError(f"the state directory {path} cannot be used: {why}; choose another with --state") from None
    return State(path)


def _check_owner(path: Path) -> None:
    if path.stat().st_uid != os.geteuid():
        raise StateError(f"the state directory {path} belongs to somebody else; choose another with --state")


def _check_format(path: Path) -> None:
    file = path / _VERSION_FILE
    if not file.exists():
        file.write_text(json.dumps({"format": FORMAT}))
        return
    found = json.loads(file.read_text()).get("format")
    if found != FORMAT:
        raise StateError(
            f"{path} was written by another version of heliostat (format {found}, this one has {FORMAT});"
            " remove it with heliostat down --purge of that version, or choose another with --state"
        )
