"""The order that a shim gets for one run of a container: from the Pod's spec, its image, its volumes and its place.

What a container finds there besides (directories for what it writes and for its log, the file for its last message) is
made on the way; all of it may be there already.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node import lifecycle
from heliostat.embedded.node.capabilities import UnknownCapabilityError, decide_capabilities
from heliostat.embedded.node.environment import (
    MissingReferenceError,
    References,
    Surroundings,
    build_command,
    build_environment,
)
from heliostat.embedded.node.imaging.image_environments import provide_image
from heliostat.embedded.node.imaging.images import Image, UnknownImageError, build_image_environment, image_mounts
from heliostat.embedded.node.imaging.login_shells import write_profile
from heliostat.embedded.node.imaging.stand_ins import add_to_path, mount_stand_ins, write_programs
from heliostat.embedded.node.name_files import NAMES, hostname_of
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.pods import Container, NodePod, SecurityContext
from heliostat.embedded.node.shim import host_layers
from heliostat.embedded.node.shim.protocol import Mount, Order
from heliostat.embedded.node.storage.pod_files import check_hidden, check_sub_paths, make_shared
from heliostat.embedded.node.storage.volume_mounts import build_mounts
from heliostat.embedded.node.storage.volumes import Sources, build_volumes


class Wish(Struct, frozen=True, kw_only=True):
    """Which container of which Pod, and what there is for it."""

    pod: NodePod
    container: Container
    attempt: int
    sources: Sources
    around: Surroundings
    place: Path  # of the Pod
    stand_ins: Path  # small programs for hosts that lack them

    @property
    def id(self) -> str:
        return lifecycle.run_id(self.pod, self.container.name, self.attempt)


def log_path(place: Path, container: str, attempt: int) -> Path:
    return place / "logs" / container / f"{attempt}.log"


def message_path(place: Path, id_: str) -> Path:
    return place / "containers" / id_ / "termination-log"


def make_order(wish: Wish, facts: NodeFacts) -> Order:
    """Raises what stands in the way: an unknown image, a reference that leads nowhere."""
    pod, container, place = wish.pod, wish.container, wish.place
    image = provide_image(container.image, facts.images, facts.images_file)
    environment = _build_environment(wish, image)
    log = log_path(place, container.name, wish.attempt)
    log.parent.mkdir(parents=True, exist_ok=True)
    user, group = _identity(pod.spec.security_context, container.security_context, image)
    _check_user(wish, user)
    return Order(
        id=wish.id,
        name=container.name,
        argv=_choose_command(container, image, environment, facts.images_file),
        environment=environment,
        work=str(place / "containers" / wish.id),
        log=str(log),
        directory=container.working_dir or image.work_directory,
        user=user,
        group=group,
        groups=_groups(pod),
        mounts=_make_mounts(wish, image, facts, environment),
        has_terminal=container.tty,
        has_stdin=container.stdin,
        stdin_ends_with_first=container.stdin_once,
        has_read_only_root=container.security_context.read_only_root_filesystem,
        is_privileged=container.security_context.privileged,
        capabilities=_capabilities(container),
        gains_nothing=container.security_context.allow_privilege_escalation is False,
        hidden=facts.hidden,
    )


def _build_environment(wish: Wish, image: Image) -> dict[str, str]:
    environment = build_image_environment(image) | {"HOSTNAME": hostname_of(wish.pod)}
    environment["PATH"] = add_to_path(environment["PATH"])
    return environment | build_environment(wish.pod, wish.container, _texts(wish.sources), wish.around)


def _make_mounts(wish: Wish, image: Image, facts: NodeFacts, environment: Mapping[str, str]) -> tuple[Mount, ...]:
    directory = wish.place / "volumes"
    volumes = build_volumes(wish.pod, wish.sources, wish.around)
    check_sub_paths(wish.container, volumes, directory, environment)
    check_hidden(volumes, facts.hidden)
    return (
        *(mount for mount in image_mounts(image) if not host_layers.is_shown(mount.source, facts.hidden)),
        *_make_directories(wish, image, environment),
        mount_stand_ins(wish.stand_ins),
        *write_programs(image.programs, wish.place / "containers" / wish.id / "programs"),
        *(Mount(str(wish.place / "etc" / name), f"/etc/{name}") for name in NAMES),
        _make_message_file(wish),
        *build_mounts(wish.container, volumes, str(directory), environment),
    )


def _choose_command(container: Container, image: Image, environment: Mapping[str, str], file: str) -> tuple[str, ...]:
    argv = build_command(container, image.command, environment)
    if not argv:
        raise UnknownImageError(
            f'nothing says what to run: the container has no command, and the entry "{image.match}" for the image'
            f' "{container.image}" has none either; add command = ["program"] to that entry in {file}'
        )
    return argv


def _make_directories(wish: Wish, image: Image, environment: Mapping[str, str]) -> Iterator[Mount]:
    """What the image has and the machine has not: a part of the container's root, which goes with it."""
    home = build_image_environment(image)["HOME"]
    for path in image.directories:
        place = wish.place / "containers" / wish.id / "layers" / "image" / path.strip("/")
        make_shared(place, group=None)
        if path == home:
            write_profile(place, environment["PATH"])
        is_read_only = wish.container.security_context.read_only_root_filesystem
        yield Mount(str(place), path, is_read_only=is_read_only)


def _make_message_file(wish: Wish) -> Mount:
    path = message_path(wish.place, wish.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o666)
    path.chmod(0o666)
    return Mount(str(path), wish.container.termination_message_path)


def _texts(sources: Sources) -> References:
    def decode(objects: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, str]]:
        return {
            name: {key: content.decode(errors="replace") for key, content in found.items()}
            for name, found in objects.items()
        }

    return References(decode(sources.config_maps), decode(sources.secrets))


def _identity(of_pod: SecurityContext, of_container: SecurityContext, image: Image) -> tuple[int, int]:
    def choose(mine: int | None, pods: int | None, images: int) -> int:
        return mine if mine is not None else pods if pods is not None else images

    return (
        choose(of_container.run_as_user, of_pod.run_as_user, image.user),
        choose(of_container.run_as_group, of_pod.run_as_group, image.group),
    )


def _check_user(wish: Wish, user: int) -> None:
    """Raises MissingReferenceError for root where the Pod forbids it, in the kubelet's words."""
    pod, mine, pods = wish.pod, wish.container.security_context, wish.pod.spec.security_context
    forbids = mine.run_as_non_root if mine.run_as_non_root is not None else pods.run_as_non_root
    if not forbids or user != 0:
        return
    is_asked_for = mine.run_as_user is not None or pods.run_as_user is not None
    of_image = "container has runAsNonRoot and image will run as root"
    metadata, what = pod.metadata, "container's runAsUser breaks non-root policy" if is_asked_for else of_image
    where = f'pod: "{metadata.name}_{metadata.namespace}({metadata.uid})", container: {wish.container.name}'
    raise MissingReferenceError(f"{what} ({where})")


def _capabilities(container: Container) -> tuple[int, ...]:
    wanted = container.security_context.capabilities
    try:
        return decide_capabilities(wanted.add, wanted.drop)
    except UnknownCapabilityError as error:
        raise MissingReferenceError(str(error)) from None


def _groups(pod: NodePod) -> tuple[int, ...]:
    context = pod.spec.security_context
    return (*context.supplemental_groups, *((context.fs_group,) if context.fs_group is not None else ()))
