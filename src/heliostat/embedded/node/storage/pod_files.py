"""The contents of a Pod's volumes on disk."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.pods import Container
from heliostat.embedded.node.storage.volume_mounts import read_sub_path, source_of
from heliostat.embedded.node.storage.volumes import Empty, File, Files, HostPath, Memory, Volume


def write_volumes(directory: Path, volumes: Mapping[str, Volume], group: int | None) -> None:
    """Each volume of the Pod's own under its name; those of the host are only looked at."""
    for name, volume in volumes.items():
        match volume:
            case Files(files):
                write_files(directory / name, files)
            case Empty() | Memory():
                make_shared(directory / name, group)
            case HostPath():
                check_host_path(volume)


def write_files(directory: Path, files: tuple[File, ...]) -> None:
    """Just these. Each file is replaced as a whole, so a reader sees the old or the new one."""
    directory.mkdir(parents=True, exist_ok=True)
    directory = directory.resolve()
    wanted = {directory / file.path: file for file in files}
    for path, file in wanted.items():
        if directory not in path.resolve().parents:
            raise MissingReferenceError(f'the path "{file.path}" leads out of its volume')
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != file.content:
            fresh = path.with_name(f".{path.name}.new")
            fresh.write_bytes(file.content)
            fresh.chmod(file.mode)
            fresh.replace(path)
        path.chmod(file.mode)
    for path in [path for path in directory.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink()


def check_sub_paths(
    container: Container, volumes: Mapping[str, Volume], directory: Path, environment: Mapping[str, str]
) -> None:
    """The parts of volumes that a container mounts: refused in words where a link leads out, or where none can be made.

    The shim makes and opens them, and there a link that appears meanwhile leads nowhere either.
    """
    for wish in container.volume_mounts:
        volume, inside = volumes.get(wish.name), read_sub_path(wish, environment)
        if inside and isinstance(volume, Empty | HostPath | Files):
            root = Path(source_of(wish, volume, str(directory))).resolve()
            target = root / inside
            if root not in target.resolve().parents:
                raise MissingReferenceError(f'subPath "{inside}" leads out of volume "{wish.name}" by a link')
            if isinstance(volume, Files) and not target.exists():
                raise MissingReferenceError(f'subPath "{inside}" is not in volume "{wish.name}"')


def check_hidden(volumes: Mapping[str, Volume], hidden: tuple[str, ...]) -> None:
    """Raises MissingReferenceError for a hostPath in a directory that no container may see."""
    for volume in volumes.values():
        if not isinstance(volume, HostPath) or volume.is_claimed:
            continue
        place = Path(volume.path).resolve()
        if any(Path(each).resolve() in (place, *place.parents) for each in hidden):
            raise MissingReferenceError(f"hostPath {volume.path} lies in Heliostat's own state directory; name another")


def make_shared(directory: Path, group: int | None) -> None:
    """Everybody in the Pod may write; with an fsGroup it is the group's."""
    if directory.exists():
        return
    directory.mkdir(parents=True)
    directory.chmod(0o777 if group is None else 0o2777)
    if group is not None:
        _give_to_group(directory, group)


def _give_to_group(directory: Path, group: int) -> None:
    try:
        os.chown(directory, -1, group)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EPERM):  # without root there is one user alone, who has it already
            raise


_MUST_BE_DIRECTORY = ("Directory", "DirectoryOrCreate")


def check_host_path(volume: HostPath) -> None:
    path = Path(volume.path)
    if volume.kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif volume.kind == "FileOrCreate" and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    if volume.kind in _MUST_BE_DIRECTORY and not path.is_dir():
        raise MissingReferenceError(f"hostPath type check failed: {volume.path} is not a directory")
    if volume.kind in ("File", "FileOrCreate") and not path.is_file():
        raise MissingReferenceError(f"hostPath type check failed: {volume.path} is not a file")
    if not volume.kind and not path.exists():
        path.mkdir(parents=True)  # as container engines do
