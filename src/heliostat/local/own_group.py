"""The control group of our own processes: the control plane answers also while Pods use every processor.

Rules: it weighs as eight processors and uses next to nothing, so Pods lose nothing by it; where groups cannot be
written, Pods are nice instead (``node/isolating/pod_groups.py``). All Heliostats of a machine share it; it goes with
the last one. The standard library alone and little of that, as in ``supervisor.py``.
"""

import os

ROOT = "/sys/fs/cgroup"
NAME = "heliostat-control-plane"
_TRIES = 5
# As limits.py counts: 1024 shares for each processor in version 1, and the same as a weight in version 2.
_FIRST = ("cpu.shares", "8192")
_SECOND = ("cpu.weight", "313")


def join(root: str = ROOT) -> None:
    """This process, and what it starts from here on."""
    for _ in range(_TRIES):
        try:
            _enter(root)
        except OSError:
            continue  # another Heliostat made it at this moment, or went as its last one; or it is not ours to write
        return


def _enter(root: str) -> None:
    place, (name, weight) = _find(root)
    if not os.path.isdir(place):  # noqa: PTH112  pathlib takes a megabyte
        os.mkdir(place)  # noqa: PTH102
    _write(f"{place}/{name}", weight)
    _write(f"{place}/cgroup.procs", "0")


def leave(root: str = ROOT) -> None:
    """For who is not in it, once nobody else is."""
    try:
        os.rmdir(_find(root)[0])  # noqa: PTH106
    except OSError:
        return


def _find(root: str) -> tuple[str, tuple[str, str]]:
    """Where it is, and the file that has its weight."""
    if not os.path.exists(f"{root}/cgroup.controllers"):  # noqa: PTH110
        return f"{root}/cpu/{NAME}", _FIRST
    _write(f"{root}/cgroup.subtree_control", "+cpu")
    return f"{root}/{NAME}", _SECOND


def _write(path: str, text: str) -> None:
    """The file is the kernel's: none is made."""
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
