"""Volumes in memory: one file system for all containers of a Pod, mounted where only the Pod sees it.

Rules: it is made when the first container that wants it starts and lives as long as the shim, in whose mount namespace
it lies; whoever may use it is said by the directory that it covers. What is left out of a volume is made in it.
"""

import stat
from collections.abc import Iterable
from pathlib import Path

from heliostat.embedded.node.shim import syscalls
from heliostat.embedded.node.shim.protocol import MEMORY, Mount


def provide(mounts: Iterable[Mount]) -> None:
    """In the shim, before a container is forked off; its view begins as a copy of ours."""
    for wanted in mounts:
        place = Path(wanted.source)
        if wanted.kind == MEMORY and not place.is_mount():
            syscalls.mount(
                "tmpfs", str(place), "tmpfs", syscalls.NO_SETUID | syscalls.NO_DEVICES, _options(place, wanted.size)
            )


def _options(place: Path, size: int) -> str:
    """A bit of the group's in the mode is kept only with the group beside it."""
    covered = place.stat()
    options = [f"mode={stat.S_IMODE(covered.st_mode):o}"]
    options += [f"gid={covered.st_gid}"] if covered.st_gid else []
    options += [f"size={size}"] if size else []
    return ",".join(options)
