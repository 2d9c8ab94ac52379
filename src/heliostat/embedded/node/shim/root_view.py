"""What a container sees as its file system: the host's, with everything it writes kept aside, and its own volumes.

The host's files lie under what the container writes (``host_layers``); /proc, /dev, /tmp and /run are its own. All of
it lives in the container's mount namespace and is gone with it.
"""

import os
from pathlib import Path

from heliostat.embedded.node.shim import host_layers, syscalls
from heliostat.embedded.node.shim.protocol import MEMORY, Mount, Order

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICES_OF_ACCELERATORS = ("nvidia", "accel", "kfd", "dri")
_DEVICE_LINKS = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_SHARED_MEMORY = 64 * 1024 * 1024  # what container engines give by default
_PLAIN = syscalls.NO_SETUID | syscalls.NO_DEVICES | syscalls.NO_EXEC
_MOST_LINKS = 255


def enter(order: Order, root: Path) -> None:
    """From here on this process sees what the container sees. ``root`` is an empty directory."""
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    host_layers.lay_host_under(order, root)
    _mount_own(order, root)
    for wanted in sorted(order.mounts, key=lambda each: each.target.count("/")):
        _mount_volume(wanted, root)
    os.chdir(root)
    syscalls.pivot_root(".", ".")
    syscalls.unmount(".")
    os.chdir("/")
    if order.has_read_only_root:
        syscalls.make_read_only("/")


def _mount_own(order: Order, root: Path) -> None:
    for name in ("proc", "sys", "dev", "tmp", "run"):
        (root / name).mkdir(exist_ok=True)
    syscalls.mount("proc", str(root / "proc"), "proc", _PLAIN)
    syscalls.mount("/sys", str(root / "sys"), flags=syscalls.BIND | syscalls.RECURSIVE)
    syscalls.make_read_only(str(root / "sys"))
    for name, mode in (("tmp", 0o1777), ("run", 0o755)):
        place = Path(order.work, "layers", name)
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(mode)
        syscalls.mount(str(place), str(root / name), flags=syscalls.BIND)
    _make_devices(order, root / "dev")


def _make_devices(order: Order, dev: Path) -> None:
    syscalls.mount("tmpfs", str(dev), "tmpfs", syscalls.NO_SETUID, "mode=755,size=64k")
    there = sorted(entry.name for entry in Path("/dev").iterdir())
    for name in (*_DEVICES, *(name for name in there if name.startswith(_DEVICES_OF_ACCELERATORS))):
        _show_device(Path("/dev", name), dev / name)
    for name in ("pts", "mqueue", "shm"):
        (dev / name).mkdir()
    options = "newinstance,ptmxmode=0666,mode=620"
    syscalls.mount("devpts", str(dev / "pts"), "devpts", syscalls.NO_SETUID | syscalls.NO_EXEC, options)
    syscalls.mount("mqueue", str(dev / "mqueue"), "mqueue", _PLAIN)
    if not any(mount.target.rstrip("/") == "/dev/shm" for mount in order.mounts):  # noqa: S108
        options = f"mode=1777,size={_SHARED_MEMORY}"
        syscalls.mount("shm", str(dev / "shm"), "tmpfs", syscalls.NO_SETUID | syscalls.NO_DEVICES, options)
    for name, target in _DEVICE_LINKS.items():
        (dev / name).symlink_to(target)


def _show_device(source: Path, target: Path) -> None:
    if source.is_dir():  # such as /dev/dri
        target.mkdir()
        syscalls.mount(str(source), str(target), flags=syscalls.BIND | syscalls.RECURSIVE)
    elif source.exists():
        target.touch()
        syscalls.mount(str(source), str(target), flags=syscalls.BIND)


def _mount_volume(wanted: Mount, root: Path) -> None:
    target = resolve_inside(root, wanted.target)
    source = _find_part(wanted) if wanted.kind == MEMORY else wanted.source
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    host_layers.bind(source, target, is_recursive=wanted.is_recursive)
    if wanted.is_read_only:
        syscalls.make_read_only(str(target))


def _find_part(wanted: Mount) -> str:
    """Of a volume in memory, made if it is missing; a link in there leads nowhere else."""
    volume = Path(wanted.source)
    part = resolve_inside(volume, wanted.inside)
    if not part.exists():
        part.mkdir(parents=True)
        part.chmod(volume.stat().st_mode & 0o7777)
    return str(part)


def resolve_inside(root: Path, path: str) -> Path:
    """Where an absolute path lies under a root, links followed as somebody inside would: none leads out of it."""
    done: list[str] = []
    todo = _parts(path)
    for _ in range(_MOST_LINKS + len(todo)):
        if not todo:
            return root.joinpath(*done)
        part = todo.pop()
        if part == "..":
            done = done[:-1]
            continue
        place = root.joinpath(*done, part)
        if not place.is_symlink():
            done.append(part)
            continue
        link = str(place.readlink())
        done = [] if link.startswith("/") else done
        todo += _parts(link)
    raise OSError(f"{path}: too many links")


def _parts(path: str) -> list[str]:
    """The last one first."""
    return [part for part in path.split("/") if part not in ("", ".")][::-1]
