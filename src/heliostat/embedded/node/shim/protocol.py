"""What the node tells a shim and what it hears: JSON in datagrams over a Unix socket, and orders in files.

A container's order is a file, because it may be larger than a datagram and because it explains afterwards what was
run. File descriptors of a command, or of who is attached, travel beside their datagram. Every request has a number and
is answered with it; changes of containers are told to whoever asked to hear of them.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Message: TypeAlias = dict[str, Any]

SOCKET = "shim.sock"
JOURNAL = "containers.jsonl"
PLAIN = "without-namespaces"  # a file that marks such a sandbox
LARGEST = 64 * 1024

START, SIGNAL, ATTACH, RESIZE, LISTEN, STOP = "start", "signal", "attach", "resize", "listen", "stop"
EXECUTE, CANCEL, FIRST_PROCESSES = "execute", "cancel", "first-processes"
MEMORY = "memory"


class Mount(NamedTuple):
    source: str  # a path of the host
    target: str  # a path in the container
    is_read_only: bool = False
    kind: str = "bind"  # or memory: a file system of the Pod's that covers the source
    size: int = 0  # bytes that memory may hold; 0: half of what the machine has
    is_recursive: bool = False
    inside: str = ""  # the part that is wanted, made where it is missing; empty: all of it


class Order(NamedTuple):
    """How to run one container."""

    id: str
    name: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    work: str  # where what it writes to its root is kept, and its order
    log: str
    directory: str = "/"
    user: int = 0
    group: int = 0
    groups: tuple[int, ...] = ()
    mounts: tuple[Mount, ...] = ()
    has_terminal: bool = False
    has_stdin: bool = False
    stdin_ends_with_first: bool = False  # when the first who is attached has ended it
    has_read_only_root: bool = False
    is_privileged: bool = False
    capabilities: tuple[int, ...] = ()  # that it may have at most, unless it is privileged
    gains_nothing: bool = False  # from files of programs, such as those of sudo
    hidden: tuple[str, ...] = ()  # directories of the host that the container does not see
    control_groups: tuple[str, ...] = ()  # files of the host that take the processes which are to be limited
    niceness: int = 0  # where control groups do not weigh it
    is_plain: bool = False  # in no namespaces, as whoever runs the node: its mounts, user and groups do not count
    log_bytes: int = 10 * 1024 * 1024  # of one log file; the last one of that size is kept beside it


def write_order(path: Path, order: Order) -> None:
    fields = order._asdict() | {"mounts": [mount._asdict() for mount in order.mounts]}
    path.write_text(json.dumps(fields))


def read_order(path: Path) -> Order:
    fields = json.loads(path.read_text())
    fields["mounts"] = tuple(Mount(**mount) for mount in fields["mounts"])
    for name in ("argv", "groups", "hidden", "control_groups", "capabilities"):
        fields[name] = tuple(fields[name])
    return Order(**fields)


def encode(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def decode(data: bytes) -> Message:
    message: Message = json.loads(data)
    return message
