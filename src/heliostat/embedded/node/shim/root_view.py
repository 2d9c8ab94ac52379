"""What a container sees as its file system: the host's, with everything it writes kept aside, and its own volumes.

The host's files lie under what the container writes (``host_layers``); /proc, /dev, /tmp and /run are its own. All of
it lives in the container's mount namespace and is gone with it.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from heliostat.embedded.node.shim import beneath, confinement, host_layers, syscalls
from heliostat.embedded.node.shim.protocol import Mount, Order

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
_OWN_DIRECTORIES = ("/", "/tmp", "/run")  # noqa: S108


def enter(order: Order, root: Path) -> None:
    """From here on this process sees what the container sees. ``root`` is an empty directory."""
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    host_layers.lay_host_under(order, root)
    _mount_own(order, root)
    if not order.is_privileged:
        confinement.confine(root)
    for wanted in sorted(order.mounts, key=lambda each: each.target.count("/")):
        _mount_volume(wanted, root, order.hidden)
    os.chdir(root)
    syscalls.pivot_root(".", ".")
    syscalls.unmount(".")
    os.chdir("/")
    if order.has_read_only_root:
        _close_root(order)


def _close_root(order: Order) -> None:
    """All that a container has of the host and for itself; its volumes, /dev and /proc are what they are."""
    Path(order.directory).mkdir(parents=True, exist_ok=True)  # nobody can later
    volumes = {str(beneath.resolve_inside(Path("/"), mount.target)) for mount in order.mounts}
    for place, kind in host_layers.list_mounts():
        if place not in volumes and (kind == "overlay" or place in _OWN_DIRECTORIES):
            syscalls.make_read_only(place)


def _mount_own(order: Order, root: Path) -> None:
    for name in ("proc", "sys", "dev", "tmp", "run"):
        (root / name).mkdir(exist_ok=True)
    syscalls.mount("proc", str(root / "proc"), "proc", _PLAIN)
    syscalls.mount("/sys", str(root / "sys"), flags=syscalls.BIND | syscalls.RECURSIVE)
    for name, mode in (("tmp", 0o1777), ("run", 0o755)):
        place = Path(order.work, "layers", name)
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(mode)
        syscalls.mount(str(place), str(root / name), flags=syscalls.BIND)
        syscalls.forbid_devices(str(root / name))
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


def _mount_volume(wanted: Mount, root: Path, hidden: Iterable[str]) -> None:
    """The volume, or the part of it that is wanted, as descriptors: containers of the Pod may be at work in it."""
    try:
        source = _open_source(wanted)
        is_file = not stat.S_ISDIR(os.fstat(source).st_mode)
        target = beneath.open_inside(root, wanted.target, mode=0o755, is_file=is_file)
        host_layers.bind(beneath.name_of(source), beneath.name_of(target), is_recursive=wanted.is_recursive)
        for descriptor in (source, target):
            os.close(descriptor)
        if wanted.is_read_only:
            _at(root, wanted.target, syscalls.make_read_only)
        for inner in _hidden_inside(wanted, hidden):
            _at(root, f"{wanted.target}/{inner}", host_layers.hide)
    except OSError as error:
        where = f"{wanted.source}/{wanted.inside}" if wanted.inside else wanted.source
        raise OSError(error.errno, f"mount of {where} on {wanted.target}: {error.strerror or error}") from None


def _open_source(wanted: Mount) -> int:
    """Parts that are missing are made as the volume is."""
    if not wanted.inside:
        return os.open(wanted.source, os.O_PATH | os.O_CLOEXEC)
    volume = Path(wanted.source)
    return beneath.open_inside(volume, wanted.inside, mode=stat.S_IMODE(volume.stat().st_mode))


def _hidden_inside(wanted: Mount, hidden: Iterable[str]) -> Iterator[str]:
    """What a directory of the host shows that no container may see."""
    source = Path(wanted.source, wanted.inside).resolve()
    for place in map(Path, hidden):
        if source in place.resolve().parents and place.is_dir():
            yield str(place.resolve().relative_to(source))


def _at(root: Path, path: str, act: Callable[[str], None]) -> None:
    place = beneath.open_inside(root, path)
    try:
        act(beneath.name_of(place))
    finally:
        os.close(place)
