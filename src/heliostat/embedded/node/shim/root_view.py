"""What a container sees as its file system: the host's, with everything it writes kept aside, and its own volumes.

Every file system of the host that holds files is laid under an overlay of its own, so that nothing a container writes
reaches the host; where the kernel refuses that, it is shown read-only. /proc, /dev, /tmp and /run are the container's
own. All of it lives in the container's mount namespace and is gone with it.
"""

import os
from pathlib import Path

from heliostat.embedded.node.shim import syscalls
from heliostat.embedded.node.shim.protocol import Mount, Order

_HOLDING_FILES = frozenset(
    ("9p", "bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "nfs", "nfs4", "ntfs3", "overlay", "squashfs",
     "tmpfs", "vfat", "virtiofs", "xfs", "zfs")
)  # fmt: skip
_OWN = ("/proc", "/sys", "/dev", "/run", "/tmp")  # noqa: S108  what a container gets anew
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
    _lay_host_under(order, root)
    _mount_own(order, root)
    for wanted in sorted(order.mounts, key=lambda each: each.target.count("/")):
        _mount_volume(wanted, root)
    os.chdir(root)
    syscalls.pivot_root(".", ".")
    syscalls.unmount(".")
    os.chdir("/")
    if order.has_read_only_root:
        _make_read_only(Path("/"))


def _lay_host_under(order: Order, root: Path) -> None:
    places = ["/", *(place for place in _file_systems() if not _is_left_out(place, order))]
    for number, place in enumerate(places):
        _lay_under(place, _beneath(root, place), Path(order.work, "layers", str(number)))
    for hidden in order.hidden:
        if _beneath(root, hidden).is_dir():
            syscalls.mount("tmpfs", str(_beneath(root, hidden)), "tmpfs", options="size=4k,mode=000")


def _file_systems() -> list[str]:
    """Where the host has file systems with files beneath its root, outermost first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] in _HOLDING_FILES:
            found.append(_unescape(before.split()[4]))
    return sorted({*found} - {"/"}, key=lambda place: (place.count("/"), place))


def _unescape(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")


def _is_left_out(place: str, order: Order) -> bool:
    """The container gets its own, must not see it, or it is a single file."""
    tops = (*_OWN, *order.hidden)
    return any(place == top or place.startswith(f"{top}/") for top in tops) or not Path(place).is_dir()


def _lay_under(place: str, target: Path, layer: Path) -> None:
    upper, work = layer / "upper", layer / "work"
    upper.mkdir(parents=True, exist_ok=True)
    work.mkdir(exist_ok=True)
    upper.chmod(Path(place).stat().st_mode & 0o7777)
    options = f"lowerdir={_escape(place)},upperdir={_escape(str(upper))},workdir={_escape(str(work))}"
    try:
        syscalls.mount("overlay", str(target), "overlay", options=options)
    except OSError:
        syscalls.mount(place, str(target), flags=syscalls.BIND)
        _make_read_only(target)


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _make_read_only(target: Path) -> None:
    syscalls.mount("", str(target), flags=syscalls.REMOUNT | syscalls.BIND | syscalls.READ_ONLY)


def _mount_own(order: Order, root: Path) -> None:
    for name in ("proc", "sys", "dev", "tmp", "run"):
        (root / name).mkdir(exist_ok=True)
    syscalls.mount("proc", str(root / "proc"), "proc", _PLAIN)
    syscalls.mount("/sys", str(root / "sys"), flags=syscalls.BIND | syscalls.RECURSIVE)
    _make_read_only(root / "sys")
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
    if wanted.kind == "tmpfs":
        target.mkdir(parents=True, exist_ok=True)
        options = f"mode=1777,size={wanted.size}" if wanted.size else "mode=1777"
        syscalls.mount("tmpfs", str(target), "tmpfs", syscalls.NO_SETUID | syscalls.NO_DEVICES, options)
        return
    if Path(wanted.source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    syscalls.mount(wanted.source, str(target), flags=syscalls.BIND | (syscalls.RECURSIVE if wanted.is_recursive else 0))
    if wanted.is_read_only:
        _make_read_only(target)


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


def _beneath(root: Path, place: str) -> Path:
    return root.joinpath(place.lstrip("/"))
