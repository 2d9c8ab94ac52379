"""The order that a shim gets for one run of a container: from the Pod's spec, its image, its volumes and its place.

What a container finds there besides (directories for what it writes and for its log, the file for its last message) is
made on the way; all of it may be there already.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node import lifecycle
from heliostat.embedded.node.cgroups import Group
from heliostat.embedded.node.environment import References, Surroundings, build_command, build_environment
from heliostat.embedded.node.image_environments import provide_image
from heliostat.embedded.node.images import Image, build_image_environment, image_mounts
from heliostat.embedded.node.name_files import NAMES, hostname_of
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.pod_files import prepare_sub_paths
from heliostat.embedded.node.pods import Container, NodePod, SecurityContext
from heliostat.embedded.node.shim.protocol import Mount, Order
from heliostat.embedded.node.stand_ins import add_to_path, mount_stand_ins
from heliostat.embedded.node.volume_mounts import build_mounts
from heliostat.embedded.node.volumes import Sources, build_volumes


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


def make_order(wish: Wish, facts: NodeFacts, limited: Group) -> Order:
    """Raises what stands in the way: an unknown image, a reference that leads nowhere."""
    pod, container, place = wish.pod, wish.container, wish.place
    image = provide_image(container.image, facts.images)
    environment = _build_environment(wish, image)
    log = log_path(place, container.name, wish.attempt)
    log.parent.mkdir(parents=True, exist_ok=True)
    user, group = _identity(pod.spec.security_context, container.security_context, image)
    return Order(
        id=wish.id,
        name=container.name,
        argv=build_command(container, image.command, environment),
        environment=environment,
        work=str(place / "containers" / wish.id),
        log=str(log),
        directory=container.working_dir or image.work_directory,
        user=user,
        group=group,
        groups=_groups(pod),
        mounts=_make_mounts(wish, image, limited, environment),
        has_terminal=container.tty,
        has_stdin=container.stdin,
        stdin_ends_with_first=container.stdin_once,
        has_read_only_root=container.security_context.read_only_root_filesystem,
        is_privileged=container.security_context.privileged,
        hidden=facts.hidden,
        control_groups=limited.members,
    )


def _build_environment(wish: Wish, image: Image) -> dict[str, str]:
    environment = build_image_environment(image) | {"HOSTNAME": hostname_of(wish.pod)}
    environment["PATH"] = add_to_path(environment["PATH"])
    return environment | build_environment(wish.pod, wish.container, _texts(wish.sources), wish.around)


def _make_mounts(wish: Wish, image: Image, limited: Group, environment: Mapping[str, str]) -> tuple[Mount, ...]:
    directory = wish.place / "volumes"
    volumes = build_volumes(wish.pod, wish.sources, wish.around)
    prepare_sub_paths(wish.container, volumes, directory, environment)
    return (
        *image_mounts(image),
        mount_stand_ins(wish.stand_ins),
        *limited.mounts,
        *(Mount(str(wish.place / "etc" / name), f"/etc/{name}") for name in NAMES),
        _make_message_file(wish),
        *build_mounts(wish.container, volumes, str(directory), environment),
    )


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


def _groups(pod: NodePod) -> tuple[int, ...]:
    context = pod.spec.security_context
    return (*context.supplemental_groups, *((context.fs_group,) if context.fs_group is not None else ()))
