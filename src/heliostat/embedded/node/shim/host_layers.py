"""The host's files under a container's root, with everything that is written to them kept aside.

Rules: every file system that holds files lies under an overlay of its own; where the kernel refuses that, it is shown
read-only. A user namespace may not lay an overlay over a place with mounts beneath it, and every root has some: there
the root is a directory of the container's own, and the host's directories are laid under it one by one.
"""

import errno
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from heliostat.embedded.node.shim import identity, syscalls
from heliostat.embedded.node.shim.protocol import Order

_HOLDING_FILES = frozenset(
    ("9p", "bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "nfs", "nfs4", "ntfs3", "overlay", "squashfs",
     "tmpfs", "vfat", "virtiofs", "xfs", "zfs")
)  # fmt: skip
_OWN = ("/proc", "/sys", "/dev", "/run", "/tmp")  # noqa: S108  what a container gets anew
_HOME = "/root"  # who is root only in here could not read it
_MOST_PIECES = 2048  # that one directory is taken apart into; each is a mount


def lay_host_under(order: Order, root: Path) -> None:
    layers = _Layers(Path(order.work, "layers"))
    if identity.has_own_users():
        _lay_pieces_under(order, root, layers)
    else:
        for place in ("/", *(place for place in _file_systems() if not _is_left_out(place, order))):
            layers.lay(place, _beneath(root, place))
    for hidden in order.hidden:
        if _beneath(root, hidden).is_dir():
            hide(str(_beneath(root, hidden)))


def hide(directory: str) -> None:
    syscalls.mount("tmpfs", directory, "tmpfs", options="size=4k,mode=000")


def is_shown(place: str, hidden: Collection[str] = ()) -> bool:
    """Whether containers see this directory anyway, writable as the rest: whatever is mounted in it finds its place."""
    path, is_user = os.path.realpath(place), identity.has_own_users()
    if _is_beneath(path, (*_OWN, *hidden, *((_HOME,) if is_user else ()))):
        return False
    around, kind = max(
        (mount for mount in list_mounts() if _is_beneath(path, mount[:1])), key=lambda mount: len(mount[0])
    )
    return is_user or around == "/" or kind in _HOLDING_FILES


class _Layers:
    """Numbered, each with what was written to one place."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._count = 0
        self.has_overlays = True  # as far as we know
        self._options = "userxattr," if identity.has_own_users() else ""

    def lay(self, place: str, target: Path, wanted: Iterable[str] = ()) -> None:
        """``wanted`` are directories beneath the place that are made if they are missing."""
        if not self.has_overlays:
            show_read_only(place, target)
            return
        upper, work = (self.directory / str(self._count) / name for name in ("upper", "work"))
        self._count += 1
        upper.mkdir(parents=True, exist_ok=True)
        work.mkdir(exist_ok=True)
        for path in wanted:
            upper.joinpath(*Path(path).relative_to(place).parts).mkdir(parents=True, exist_ok=True)
        upper.chmod(Path(place).stat().st_mode & 0o7777)
        places = f"lowerdir={_escape(place)},upperdir={_escape(str(upper))},workdir={_escape(str(work))}"
        try:
            syscalls.mount("overlay", str(target), "overlay", syscalls.NO_DEVICES, self._options + places)
        except OSError:
            show_read_only(place, target)

    def try_overlays(self, target: Path) -> None:
        """Not every kernel has them in user namespaces, and not every file system takes what is written."""
        upper, work, lower = (self.directory / "trial" / name for name in ("upper", "work", "lower"))
        for directory in (upper, work, lower):
            directory.mkdir(parents=True, exist_ok=True)
        places = f"lowerdir={_escape(str(lower))},upperdir={_escape(str(upper))},workdir={_escape(str(work))}"
        try:
            syscalls.mount("overlay", str(target), "overlay", options=self._options + places)
        except OSError:
            self.has_overlays = False
        else:
            syscalls.unmount(str(target))


def show_read_only(place: str, target: Path) -> None:
    bind(place, str(target))
    syscalls.make_read_only(str(target))


def bind(source: str, target: str, *, is_recursive: bool = False) -> None:
    """A user namespace may not show what lies under a mount of the host, so there the mounts beneath come along."""
    try:
        syscalls.mount(source, target, flags=syscalls.BIND | (syscalls.RECURSIVE if is_recursive else 0))
    except OSError as error:
        if error.errno != errno.EINVAL or is_recursive:
            raise
        syscalls.mount(source, target, flags=syscalls.BIND | syscalls.RECURSIVE)


def _lay_pieces_under(order: Order, root: Path, layers: _Layers) -> None:
    """What is made in a directory of the machine's root is refused to everybody else, also in an overlay: so what
    volumes need is made beforehand, in the layer or, without overlays, in a directory of the container's own."""
    layers.try_overlays(root)
    own = layers.directory / "root"
    own.mkdir(parents=True, exist_ok=True)
    own.chmod(0o755)
    bind(str(own), str(root))
    (root / _HOME.lstrip("/")).mkdir(exist_ok=True)
    mounts = [place for place in _mount_points() if not _is_left_out(place, order)]
    wanted = list(_wanted_directories(order))
    for piece in pieces_of("/", mounts if layers.has_overlays else [*mounts, *(f"{path}/" for path in wanted)]):
        if piece not in (*_OWN, _HOME):
            beneath = [path for path in wanted if f"{path}/".startswith(f"{piece}/")]
            _lay_piece(piece, _beneath(root, piece), layers, beneath)


def _wanted_directories(order: Order) -> Iterator[str]:
    """As the host names them, links followed: where volumes are mounted, and where the program begins."""
    for mount in order.mounts:
        target = Path(mount.target)
        is_directory = mount.kind != "bind" or not Path(mount.source, mount.inside).is_file()
        yield os.path.realpath(target if is_directory else target.parent)
    yield os.path.realpath(order.directory)


def pieces_of(directory: str, broken_at: Collection[str], most: int = _MOST_PIECES) -> Iterator[str]:
    """The largest parts without any of ``broken_at`` beneath; a directory of more than ``most`` entries stays whole."""
    for entry in sorted(Path(directory).iterdir()):
        place = str(entry)
        is_broken = any(path.startswith(f"{place}/") for path in broken_at)
        if is_broken and not entry.is_symlink() and _can_be_taken_apart(entry, most):
            yield from pieces_of(place, broken_at, most)
        else:
            yield place


def _can_be_taken_apart(directory: Path, most: int) -> bool:
    return directory.is_dir() and os.access(directory, os.R_OK | os.X_OK) and len(list(directory.iterdir())) <= most


def _lay_piece(place: str, target: Path, layers: _Layers, wanted: Iterable[str]) -> None:
    source = Path(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        if not target.is_symlink():  # a container that starts again finds its own
            target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(exist_ok=True)
        if os.access(source, os.R_OK | os.X_OK):
            layers.lay(place, target, wanted)
    elif os.access(source, os.R_OK):
        target.touch()
        show_read_only(place, target)


def _file_systems() -> list[str]:
    """Where the host has file systems with files beneath its root, outermost first."""
    found = {place for place, kind in list_mounts() if kind in _HOLDING_FILES}
    return sorted(found - {"/"}, key=lambda place: (place.count("/"), place))


def _mount_points() -> list[str]:
    return [place for place, _kind in list_mounts()]


def list_mounts() -> Iterator[tuple[str, str]]:
    """Places and kinds of file systems, as this process sees them."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        yield _unescape(before.split()[4]), after.split()[0]


def _unescape(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")


def _is_left_out(place: str, order: Order) -> bool:
    """The container gets its own, must not see it, or it is a single file."""
    return _is_beneath(place, (*_OWN, *order.hidden)) or not Path(place).is_dir()


def _is_beneath(place: str, tops: Iterable[str]) -> bool:
    """One of them, or in one."""
    return any(place == top or place.startswith(f"{top.rstrip('/')}/") for top in tops)


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _beneath(root: Path, place: str) -> Path:
    return root.joinpath(place.lstrip("/"))
