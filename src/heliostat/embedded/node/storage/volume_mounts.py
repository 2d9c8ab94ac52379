"""What a container mounts of the volumes of its Pod, and from where. Pure."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from heliostat.embedded.node.environment import MissingReferenceError, expand
from heliostat.embedded.node.pods import Container, VolumeMount
from heliostat.embedded.node.shim.protocol import MEMORY, Mount
from heliostat.embedded.node.storage.volumes import Files, HostPath, Memory, Volume


def build_mounts(
    container: Container, volumes: Mapping[str, Volume], directory: str, environment: Mapping[str, str]
) -> tuple[Mount, ...]:
    """``directory`` has the Pod's own volumes, each under its name."""
    return tuple(_mount(wish, volumes, directory, environment) for wish in container.volume_mounts)


def _mount(wish: VolumeMount, volumes: Mapping[str, Volume], directory: str, environment: Mapping[str, str]) -> Mount:
    volume = volumes.get(wish.name)
    if volume is None:
        raise MissingReferenceError(f'volume "{wish.name}" not found')
    inside = read_sub_path(wish, environment)
    source = source_of(wish, volume, directory)
    if isinstance(volume, Memory):
        return Mount(source, wish.mount_path, wish.read_only, MEMORY, volume.size, inside=inside)
    is_read_only = wish.read_only or isinstance(volume, Files) or (isinstance(volume, HostPath) and volume.is_read_only)
    return Mount(source, wish.mount_path, is_read_only, inside=inside)  # the shim finds the part, as it may change


def read_sub_path(wish: VolumeMount, environment: Mapping[str, str]) -> str:
    """The part of the volume that is mounted; empty: all of it."""
    inside = expand(wish.sub_path_expr, environment) or wish.sub_path
    if ".." in PurePosixPath(inside).parts or inside.startswith("/"):
        raise MissingReferenceError(f'subPath "{inside}" leads out of volume "{wish.name}"')
    return inside


def source_of(wish: VolumeMount, volume: Volume, directory: str) -> str:
    """Where the volume itself lies."""
    return volume.path if isinstance(volume, HostPath) else f"{directory}/{wish.name}"
