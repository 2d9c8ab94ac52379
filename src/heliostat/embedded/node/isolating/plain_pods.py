"""Pods on a machine that lets us keep nothing apart: what they get instead, and what is refused to them.

Rules: a Pod whose ports another one has waits; a volume that cannot be shown where the container wants it holds the
container up, because without its files it would do something else; what it writes to its home and to TMPDIR goes with
it. Nobody serves names of Services, so where they stand in its environment or its command it gets the machine's address
instead, which all Pods have. Nothing else of the machine is hidden or protected, and the Pod's condition says so.
"""

import os
import re
import stat
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.imaging.login_shells import write_profile
from heliostat.embedded.node.imaging.stand_ins import DIRECTORY as STAND_INS
from heliostat.embedded.node.isolating.sandbox import SandboxError, find_shim
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.pods import Container, NodePod
from heliostat.embedded.node.shim.protocol import Mount, Order
from heliostat.embedded.node.storage.removal import remove_tree

CONDITION: Final = "heliostat.dev/Isolated"
_PORTS = "ports"
_HOME_OF_IMAGES = "/root"
_THERE_ANYWAY = ("/dev/shm", "/var/run/secrets/kubernetes.io/serviceaccount")  # noqa: S108
_UNIQUE = 13  # letters of a UID; sockets are made in there, and their paths may not be long


class PortTakenError(SandboxError):
    """Another Pod has it."""


def build_condition(because: str) -> dict[str, tuple[str, str, str]]:
    message = (
        "the Pod shares the processes, the files, the network and the ports of this machine, sees no volumes and cannot"
        f" look up names of Services, because {because}"
    )
    return {CONDITION: ("False", "NoNamespaces", message)}


def claim_ports(place: Path, pod: NodePod, starting: Collection[str]) -> None:
    """For as long as the Pod's shim lives; ``starting`` are UIDs of those that have none yet. Raises PortTakenError."""
    wanted = {f"{port.container_port}/{port.protocol}" for each in pod.spec.containers for port in each.ports}
    for other in place.parent.iterdir():
        is_used = other != place and (other.name in starting or find_shim(other) is not None)
        taken = sorted(wanted & _read_ports(other)) if is_used else []
        if taken:
            raise PortTakenError(
                f"port {taken[0]} is used by another Pod, and all Pods have the ports of this machine, as it allows no"
                " namespaces; delete that Pod, or give this one other ports"
            )
    (place / _PORTS).write_text("\n".join(sorted(wanted)))


def _read_ports(place: Path) -> set[str]:
    try:
        return set((place / _PORTS).read_text().split())
    except OSError:
        return set()


def build_plain_order(order: Order, container: Container, place: Path, stand_ins: Path, facts: NodeFacts) -> Order:
    """Raises MissingReferenceError."""
    asked_for = {mount.mount_path for mount in container.volume_mounts}
    for mount in order.mounts:
        if mount.target in asked_for and not _is_there(mount):
            raise MissingReferenceError(
                f"a volume cannot be shown at {mount.target}: this machine allows no mounts without root; take it out"
                " of the Pod, allow user namespaces, or run heliostat as root"
            )
    home, temporary = place / "home", temporary_of(place)
    for own in (home, temporary):
        own.mkdir(mode=0o700, exist_ok=True)
        _check_owner(own)
    path = order.environment["PATH"].replace(STAND_INS, str(stand_ins))
    write_profile(home, path)
    environment = {name: replace_services(value, facts) for name, value in order.environment.items()}
    return order._replace(
        is_plain=True,
        argv=tuple(replace_services(word, facts) for word in _find_program(order)),
        mounts=(),
        directory=_find_directory(order, home),
        environment={**environment, "HOME": str(home), "TMPDIR": str(temporary), "PATH": path},
    )


def replace_services(text: str, facts: NodeFacts) -> str:
    """Names of Services become the address at which every Pod of this machine listens."""
    label = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
    name = rf"(?<![\w.-]){label}\.{label}\.svc(?:\.{re.escape(facts.domain)})?\.?(?![\w-]|\.\w)"
    return re.sub(name, facts.host_address, text) if ".svc" in text else text


def _find_program(order: Order) -> tuple[str, ...]:
    """One that only its image has is started where it lies."""
    places = {mount.target: mount.source for mount in order.mounts}
    program, *rest = order.argv
    return (places.get(program, program), *rest)


def _find_directory(order: Order, home: Path) -> str:
    """Where the program begins: in place of a home, the Pod's own; in place of what only its image has, that."""
    if order.directory in (_HOME_OF_IMAGES, order.environment.get("HOME")):
        return str(home)
    begins = f"{order.directory.rstrip('/')}/"
    for mount in order.mounts:
        beneath = f"{mount.target.rstrip('/')}/"
        if begins.startswith(beneath) and not mount.is_read_only and mount.source != mount.target:
            return str(Path(mount.source, begins.removeprefix(beneath)))
    return order.directory


def _check_owner(directory: Path) -> None:
    """Where everybody may write, somebody else could have been there before us."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise MissingReferenceError(f"{directory} belongs to somebody else; remove it")


def _is_there(mount: Mount) -> bool:
    return Path(mount.source, mount.inside) == Path(mount.target) or mount.target.rstrip("/") in _THERE_ANYWAY


def temporary_of(place: Path) -> Path:
    """Named after the Pod, whose UID is the name of its directory."""
    return Path(tempfile.gettempdir(), f"heliostat-{place.name[:_UNIQUE]}")


def remove_temporary(place: Path) -> None:
    temporary = temporary_of(place)
    if temporary.is_dir() and temporary.stat().st_uid == os.geteuid():
        remove_tree(temporary)
