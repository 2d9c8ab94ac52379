"""Where the steps of a Pod's life are taken: sandboxes, addresses, volumes and containers, all beneath one directory.

    pods/<uid>/address  etc/{hosts,resolv.conf}  volumes/<name>/  containers/<id>/  logs/<container>/<attempt>.log

Rules: every step may be asked for again and changes nothing then; what a step cannot do is raised in words for the
Pod's status; after a crash everything is found again from the directory and the shims.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Address
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node import lifecycle
from heliostat.embedded.node.cgroups import Group, find_cgroups, remove_groups
from heliostat.embedded.node.environment import References, Surroundings, build_command, build_environment
from heliostat.embedded.node.history import History
from heliostat.embedded.node.images import Image, build_image_environment, find_image, image_mounts
from heliostat.embedded.node.limits import build_limits, build_limits_of_all
from heliostat.embedded.node.network.addresses import choose_address
from heliostat.embedded.node.network.wiring import Wiring
from heliostat.embedded.node.pod_files import build_hosts, build_resolv_conf, prepare_sub_paths, write_volumes
from heliostat.embedded.node.pod_record import build_moment, build_record, write_record
from heliostat.embedded.node.pods import Container, NodePod, SecurityContext
from heliostat.embedded.node.sandbox import Sandbox, SandboxSpec, find_sandbox, note_death, past_runs, start_sandbox
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.shim.protocol import Mount, Order
from heliostat.embedded.node.shim_template import ShimTemplate
from heliostat.embedded.node.stand_ins import add_to_path, mount_stand_ins, write_stand_ins
from heliostat.embedded.node.termination import FALLBACK, read_end_of_log, read_message_file
from heliostat.embedded.node.volumes import Sources, Volume, build_mounts, build_volumes
from heliostat.kube.jsontree import JsonObject

_ADDRESS = "address"


class NodeFacts(Struct, frozen=True, kw_only=True):
    """What holds for every Pod of this node."""

    host_address: str
    dns_address: str
    domain: str = "cluster.local"
    allocatable: Mapping[str, str] = {}
    images: tuple[Image, ...] = ()
    hidden: tuple[str, ...] = ()  # directories of the host that no container sees
    has_strict_cpu: bool = False  # CPU limits are kept; otherwise they only weigh when processors are short


class Workbench:
    def __init__(self, directory: Path, wiring: Wiring, facts: NodeFacts, on_change: Callable[[str], None]) -> None:
        """``on_change`` hears the UID of a Pod whenever one of its containers began or ended, or its sandbox went."""
        self.facts = facts
        self.history = History(directory.parent)
        self._directory = directory
        self._stand_ins = directory.parent / "programs"
        self._cgroups = find_cgroups(of_all=build_limits_of_all(facts.allocatable))
        self._wiring = wiring
        self._on_change = on_change
        self._sandboxes: dict[str, Sandbox] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._last_address: IPv4Address | None = None
        self._addresses: dict[str, str] = {}  # by the UID of the Pod, as the files have them
        self._template = ShimTemplate()

    # what there is

    async def recover(self) -> None:
        """Find what an earlier life has left running."""
        self._directory.mkdir(parents=True, exist_ok=True)
        write_stand_ins(self._stand_ins)
        for place in sorted(self._directory.iterdir()):
            with contextlib.suppress(OSError):
                self._addresses[place.name] = (place / _ADDRESS).read_text()
            sandbox = await find_sandbox(place)
            if sandbox is not None:
                self._adopt(place.name, sandbox)
            else:
                note_death(place)
            self._collect(place.name)

    def known_pods(self) -> list[str]:
        """The UIDs of all Pods that have anything here."""
        return [place.name for place in self._directory.iterdir()] if self._directory.exists() else []

    def sandbox(self, uid: str) -> Sandbox | None:
        return self._sandboxes.get(uid)

    def pid(self, uid: str) -> int | None:
        """The first process of the Pod."""
        sandbox = self._sandboxes.get(uid)
        return sandbox.pid if sandbox is not None else None

    @property
    def keeps_limits(self) -> bool:
        """Whether this machine lets us limit what containers use."""
        return self._cgroups is not None

    def has_been(self, uid: str) -> bool:
        return self.place(uid).exists()

    def runs(self, uid: str) -> list[Run]:
        """In the order of their start."""
        sandbox = self._sandboxes.get(uid)
        runs = sandbox.runs() if sandbox is not None else past_runs(self.place(uid))
        return sorted(runs.values(), key=lambda run: (run.started_at, run.id))

    def address(self, uid: str) -> str:
        return self._addresses.get(uid, "")

    def place(self, uid: str) -> Path:
        return self._directory / uid

    def log_path(self, uid: str, container: str, attempt: int) -> Path:
        return self.place(uid) / "logs" / container / f"{attempt}.log"

    def termination_message(self, pod: NodePod, run: Run) -> str:
        uid, policy = pod.metadata.uid, pod.container(run.name).termination_message_policy
        message = read_message_file(self.place(uid) / "containers" / run.id / "termination-log")
        if message or policy != FALLBACK or run.exit_code == 0 or run.error:
            return message
        return read_end_of_log(self.log_path(uid, run.name, lifecycle.attempt_of(run)))

    def killed_for_memory(self, uid: str, runs: Iterable[Run]) -> frozenset[str]:
        return frozenset(run.id for run in runs if run.is_over and self._memory_mark(uid, run).exists())

    # steps

    async def prepare(self, pod: NodePod, sources: Sources) -> None:
        uid = pod.metadata.uid
        if uid in self._sandboxes:
            return
        place = self.place(uid)
        place.mkdir(parents=True, exist_ok=True)
        address = self._give_address(place)
        self.fill_volumes(pod, sources)
        sandbox = await start_sandbox(SandboxSpec(directory=place, hostname=_hostname(pod)), self._template)
        try:
            await self._wiring.attach(sandbox, address)
        except BaseException:
            await sandbox.stop()
            await sandbox.close()
            raise
        self._write_etc(pod, str(address))
        self._adopt(uid, sandbox)

    def fill_volumes(self, pod: NodePod, sources: Sources) -> dict[str, Volume]:
        """Also for Pods that run: what their files are made from may have changed."""
        volumes = build_volumes(pod, sources, self._around(pod))
        write_volumes(self.place(pod.metadata.uid) / "volumes", volumes, pod.spec.security_context.fs_group)
        return volumes

    async def start(self, pod: NodePod, name: str, attempt: int, sources: Sources, services: Mapping[str, str]) -> None:
        sandbox = self._sandboxes[pod.metadata.uid]
        await sandbox.start(self._build_order(pod, pod.container(name), attempt, sources, services))

    async def dismantle(self, uid: str) -> None:
        sandbox = self._sandboxes.pop(uid, None)
        if sandbox is None:
            return
        watching = self._watching.pop(uid, None)
        if watching is not None:
            watching.cancel()
        try:
            await sandbox.stop()
        finally:
            await sandbox.close()
        note_death(self.place(uid))
        self._collect(uid)
        if self._cgroups is not None:
            await remove_groups(self._cgroups, past_runs(self.place(uid)))
        (self.place(uid) / _ADDRESS).unlink(missing_ok=True)
        self._addresses.pop(uid, None)
        self._on_change(uid)

    def record(self, pod: NodePod, status: JsonObject) -> None:
        """For the time when the Pod is gone."""
        with contextlib.suppress(OSError):  # a full disk costs the history, not the Pod
            write_record(self.place(pod.metadata.uid), build_record(pod, status), build_moment(status, time.time()))

    async def release(self, uid: str) -> None:
        """Nothing of the Pod stays but its history."""
        await self.dismantle(uid)
        self._addresses.pop(uid, None)
        await self.history.keep(self.place(uid))

    async def close(self) -> None:
        """Let go of all sandboxes; the Pods go on."""
        for task in self._watching.values():
            task.cancel()
        await asyncio.gather(*self._watching.values(), return_exceptions=True)
        for sandbox in self._sandboxes.values():
            await sandbox.close()
        self._sandboxes.clear()
        await self._template.close()

    # how

    def _adopt(self, uid: str, sandbox: Sandbox) -> None:
        self._sandboxes[uid] = sandbox
        sandbox.on_change(lambda _run: self._changed(uid))
        self._watching[uid] = asyncio.create_task(self._watch(uid, sandbox), name=f"watch {uid}")

    def _changed(self, uid: str) -> None:
        self._collect(uid)
        self._on_change(uid)

    def _collect(self, uid: str) -> None:
        """The control groups of what is over, and what they tell."""
        for run in self.runs(uid) if self._cgroups is not None else ():
            if run.is_over and self._cgroups is not None:
                if self._cgroups.was_killed_for_memory(run.id):
                    self._memory_mark(uid, run).touch()
                self._cgroups.remove(run.id)

    def _memory_mark(self, uid: str, run: Run) -> Path:
        return self.place(uid) / "containers" / run.id / "killed-for-memory"

    async def _watch(self, uid: str, sandbox: Sandbox) -> None:
        """A shim that dies takes its Pod along: then there is no sandbox any more, and everybody has to know."""
        await sandbox.ended.wait()
        if self._sandboxes.get(uid) is sandbox:
            del self._sandboxes[uid]
            self._watching.pop(uid, None)
            await sandbox.close()
            note_death(self.place(uid))
            self._changed(uid)

    def _give_address(self, place: Path) -> IPv4Address:
        known = self.address(place.name)
        if known:
            return IPv4Address(known)
        used = {IPv4Address(found) for found in self._addresses.values()}
        address = choose_address(self._wiring.networks.pods, used, self._last_address)
        (place / _ADDRESS).write_text(str(address))
        self._addresses[place.name] = str(address)
        self._last_address = address
        return address

    def _write_etc(self, pod: NodePod, address: str) -> None:
        etc = self.place(pod.metadata.uid) / "etc"
        etc.mkdir(exist_ok=True)
        (etc / "hosts").write_text(build_hosts(pod, _hostname(pod), address, self.facts.domain))
        (etc / "resolv.conf").write_text(build_resolv_conf(pod, self.facts.dns_address, self.facts.domain))
        (etc / "hostname").write_text(f"{_hostname(pod)}\n")

    def _around(self, pod: NodePod, services: Mapping[str, str] | None = None) -> Surroundings:
        return Surroundings(
            host_address=self.facts.host_address,
            pod_address=self.address(pod.metadata.uid),
            node_allocatable=self.facts.allocatable,
            service_variables=services or {},
        )

    def _build_order(
        self, pod: NodePod, container: Container, attempt: int, sources: Sources, services: Mapping[str, str]
    ) -> Order:
        place = self.place(pod.metadata.uid)
        image = find_image(container.image, self.facts.images)
        around = self._around(pod, services)
        environment = build_image_environment(image) | {"HOSTNAME": _hostname(pod)}
        environment["PATH"] = add_to_path(environment["PATH"])
        environment |= build_environment(pod, container, _texts(sources), around)
        volumes = build_volumes(pod, sources, around)
        prepare_sub_paths(container, volumes, place / "volumes", environment)
        id_ = lifecycle.run_id(pod, container.name, attempt)
        work = place / "containers" / id_
        work.mkdir(parents=True, exist_ok=True)
        log = self.log_path(pod.metadata.uid, container.name, attempt)
        log.parent.mkdir(parents=True, exist_ok=True)
        limited = self._limit(container, id_)
        user, group = _identity(pod.spec.security_context, container.security_context, image)
        return Order(
            id=id_,
            name=container.name,
            argv=build_command(container, image.command, environment),
            environment=environment,
            work=str(work),
            log=str(log),
            directory=container.working_dir or image.work_directory,
            user=user,
            group=group,
            groups=_groups(pod),
            mounts=(
                *image_mounts(image),
                mount_stand_ins(self._stand_ins),
                *limited.mounts,
                *_etc_mounts(place),
                _message_mount(work, container),
                *build_mounts(container, volumes, str(place / "volumes"), environment),
            ),
            has_terminal=container.tty,
            has_stdin=container.stdin,
            stdin_ends_with_first=container.stdin_once,
            has_read_only_root=container.security_context.read_only_root_filesystem,
            is_privileged=container.security_context.privileged,
            hidden=self.facts.hidden,
            control_groups=limited.members,
        )

    def _limit(self, container: Container, id_: str) -> Group:
        limits = build_limits(container, is_strict=self.facts.has_strict_cpu)
        if self._cgroups is None or limits.is_empty:
            return Group((), ())
        return self._cgroups.make(id_, limits)


def _hostname(pod: NodePod) -> str:
    return (pod.spec.hostname or pod.metadata.name)[:63]


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


def _etc_mounts(place: Path) -> tuple[Mount, ...]:
    return tuple(Mount(str(place / "etc" / name), f"/etc/{name}") for name in ("hosts", "resolv.conf", "hostname"))


def _message_mount(work: Path, container: Container) -> Mount:
    path = work / "termination-log"
    path.touch(mode=0o666)
    path.chmod(0o666)
    return Mount(str(path), container.termination_message_path)
