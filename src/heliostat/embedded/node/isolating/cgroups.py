"""Control groups, one for each run of a container and one for all shims: version 2 or 1, where they can be written.

Rules: who may not write them runs without limits; a setting that the kernel lacks is left out, except the memory limit;
a group goes when its run is over, and how often the kernel killed in it for memory is read before. Its name begins with
the UID of the Pod, so that one that never came to run is found, too.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from heliostat.embedded.node.isolating.limits import Limits, build_first_settings, build_second_settings
from heliostat.embedded.node.shim.protocol import Mount

ROOT = Path("/sys/fs/cgroup")
_OURS = "heliostat"
_SHIMS = "shims"  # they write what Pods say, which may be much: that is not the control plane's work
_LIMITING = ("memory", "cpu", "pids")
# For processes that were killed just now: they are in their group until somebody has seen them dead. That is the
# machine's first process, when it gets to it.
_PATIENCE, _PAUSE = 15.0, 0.02
_NEEDED = frozenset(("memory.limit_in_bytes", "memory.max"))


class Group(Struct, frozen=True):
    """What a container needs to be in its group and to see it."""

    members: tuple[str, ...]  # files that take its first process
    mounts: tuple[Mount, ...]  # so that programs inside find their own limits


class Cgroups(Protocol):
    @property
    def keeps_weights(self) -> bool: ...  # what Pods weigh can be said here

    def make_for_shims(self) -> tuple[str, ...]: ...  # files that take processes

    def list_of(self, uid: str) -> list[str]: ...  # the ids of all groups of a Pod

    def make(self, id_: str, limits: Limits) -> Group: ...

    def was_killed_for_memory(self, id_: str) -> bool: ...

    def remove(self, id_: str) -> bool: ...  # whether it is gone: it is not while a process of it is still ending

    def leave(self) -> None: ...  # nothing of ours stays, unless it is in use


def find_cgroups(root: Path = ROOT, of_all: Limits = Limits()) -> Cgroups | None:  # noqa: B008 - frozen
    """None: this machine does not let us limit anything. ``of_all`` is for the group that holds all of ours."""
    if _has_memory(root / "cgroup.controllers"):
        return SecondCgroups(root, of_all) if _can_write(root) else None
    if (root / "memory").is_dir() and _can_write(root / "memory") and _can_write(root / "cpu"):
        return FirstCgroups(root, of_all)
    return None


def _has_memory(path: Path) -> bool:
    try:
        return "memory" in path.read_text().split()
    except OSError:
        return False


def _can_write(directory: Path) -> bool:
    try:
        (directory / _OURS).mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(directory / _OURS, os.W_OK)


class FirstCgroups:
    """Version 1: a tree for each controller."""

    def __init__(self, root: Path, of_all: Limits) -> None:
        self._root = root
        self._of_all = build_first_settings(of_all)
        self.keeps_weights = True

    def make_for_shims(self) -> tuple[str, ...]:
        place = self._place("cpu", _SHIMS)
        place.mkdir(parents=True, exist_ok=True)
        _write(place.parent, self._of_all.get("cpu", {}))
        return (str(place / "cgroup.procs"),)

    def list_of(self, uid: str) -> list[str]:
        places = (self._root / controller / _OURS for controller in _LIMITING)
        return sorted({name for place in places for name in _list_groups(place, uid)})

    def make(self, id_: str, limits: Limits) -> Group:
        settings = {name: each for name, each in build_first_settings(limits).items() if (self._root / name).is_dir()}
        for controller, values in settings.items():
            place = self._place(controller, id_)
            place.mkdir(parents=True, exist_ok=True)
            _write(place.parent, self._of_all.get(controller, {}))
            _write(place, values)
        return Group(
            tuple(str(self._place(controller, id_) / "cgroup.procs") for controller in settings),
            tuple(
                Mount(str(self._place(controller, id_)), str(self._root / controller), is_read_only=True)
                for controller in settings
            ),
        )

    def was_killed_for_memory(self, id_: str) -> bool:
        return _count_kills(self._place("memory", id_) / "memory.oom_control") > 0

    def remove(self, id_: str) -> bool:
        return all(_remove(self._place(controller, id_)) for controller in _LIMITING)

    def leave(self) -> None:
        for controller in _LIMITING:
            _remove(self._place(controller, _SHIMS))
            _remove(self._root / controller / _OURS)

    def _place(self, controller: str, id_: str) -> Path:
        return self._root / controller / _OURS / id_


class SecondCgroups:
    """Version 2: one tree, whose controllers are handed down level by level."""

    def __init__(self, root: Path, of_all: Limits) -> None:
        self._root = root
        self._of_all = build_second_settings(of_all)

    @property
    def keeps_weights(self) -> bool:
        """Where processes live beside our groups the kernel hands nothing down, as in many containers."""
        self._make_parent()
        return (self._root / _OURS / "cpu.weight").exists()

    def make_for_shims(self) -> tuple[str, ...]:
        self._make_parent()
        place = self._place(_SHIMS)
        place.mkdir(exist_ok=True)
        return (str(place / "cgroup.procs"),)

    def list_of(self, uid: str) -> list[str]:
        return sorted(_list_groups(self._root / _OURS, uid))

    def make(self, id_: str, limits: Limits) -> Group:
        self._make_parent()
        place = self._place(id_)
        place.mkdir(exist_ok=True)
        _write(place, build_second_settings(limits))
        return Group((str(place / "cgroup.procs"),), (Mount(str(place), str(self._root), is_read_only=True),))

    def was_killed_for_memory(self, id_: str) -> bool:
        return _count_kills(self._place(id_) / "memory.events") > 0

    def remove(self, id_: str) -> bool:
        return _remove(self._place(id_))

    def leave(self) -> None:
        _remove(self._place(_SHIMS))
        _remove(self._root / _OURS)

    def _make_parent(self) -> None:
        (self._root / _OURS).mkdir(exist_ok=True)
        self._hand_down()
        _write(self._root / _OURS, self._of_all)

    def _hand_down(self) -> None:
        for place in (self._root, self._root / _OURS):
            for controller in _LIMITING:
                with contextlib.suppress(OSError):
                    (place / "cgroup.subtree_control").write_text(f"+{controller}")

    def _place(self, id_: str) -> Path:
        return self._root / _OURS / id_


def _write(place: Path, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        try:
            (place / name).write_text(value)
        except OSError:
            if name in _NEEDED:
                raise


def _list_groups(directory: Path, uid: str) -> list[str]:
    try:
        return [place.name for place in directory.iterdir() if place.name.startswith(f"{uid}-")]
    except OSError:
        return []


def _count_kills(path: Path) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _remove(place: Path) -> bool:
    try:
        place.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


async def remove_groups(groups: Cgroups, uid: str) -> None:
    """All of a Pod that has ended: those of runs that were ended by force may need a moment."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE
    while [id_ for id_ in groups.list_of(uid) if not groups.remove(id_)]:
        if asyncio.get_running_loop().time() > deadline:
            return
        await asyncio.sleep(_PAUSE)
