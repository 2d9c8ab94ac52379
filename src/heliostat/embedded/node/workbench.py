"""Where the steps of a Pod's life are taken: sandboxes, addresses, volumes and containers, all beneath one directory.

    pods/<uid>/address  etc/{hosts,resolv.conf}  volumes/<name>/  containers/<id>/  logs/<container>/<attempt>.log

Rules: every step may be asked for again and changes nothing then; what a step cannot do is raised in words for the
Pod's status; after a crash everything is found again from the directory and the shims.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from heliostat.embedded.node import lifecycle, orders
from heliostat.embedded.node.dead_layers import DeadLayers
from heliostat.embedded.node.environment import Surroundings
from heliostat.embedded.node.imaging.stand_ins import write_stand_ins
from heliostat.embedded.node.isolating import plain_pods
from heliostat.embedded.node.isolating.pod_groups import PodGroups
from heliostat.embedded.node.isolating.sandbox import Sandbox, find_sandbox, note_death, past_runs
from heliostat.embedded.node.isolating.shim_template import ShimTemplate
from heliostat.embedded.node.logs.history import History
from heliostat.embedded.node.name_files import write_name_files
from heliostat.embedded.node.network.pod_network import PodNetwork
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.orders import Wish
from heliostat.embedded.node.pod_addresses import PodAddresses
from heliostat.embedded.node.pod_record import build_record, write_record
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.storage.pod_files import write_volumes
from heliostat.embedded.node.storage.volumes import Sources, Volume, build_volumes
from heliostat.embedded.node.termination import FALLBACK, read_end_of_log, read_message_file

_EARLIER = "earlier-runs"


class Workbench:
    def __init__(
        self, directory: Path, network: PodNetwork, facts: NodeFacts, on_change: Callable[[str], None]
    ) -> None:
        """``on_change`` hears the UID of a Pod whenever one of its containers began or ended, or its sandbox went."""
        self.facts = facts
        self.history = History(directory.parent)
        self._directory = directory
        self._stand_ins = directory.parent / "programs"
        self._groups = PodGroups(is_strict=facts.has_strict_cpu)
        self._network = network
        self._on_change = on_change
        self._sandboxes: dict[str, Sandbox] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._addresses = PodAddresses(network.pool)
        self._earlier: dict[str, frozenset[str]] = {}  # ids of runs, as the files have them
        self._dead_layers = DeadLayers()
        self._template = ShimTemplate(place=self._groups.place_shims)

    # what there is

    async def recover(self) -> None:
        """Find what an earlier life has left running."""
        self._directory.mkdir(parents=True, exist_ok=True)
        write_stand_ins(self._stand_ins)
        for place in sorted(self._directory.iterdir()):
            self._addresses.recover(place)
            with contextlib.suppress(OSError):
                self._earlier[place.name] = frozenset((place / _EARLIER).read_text().split())
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
        return self._groups.keeps_limits

    def has_been(self, uid: str) -> bool:
        return self.place(uid).exists()

    def runs(self, uid: str) -> list[Run]:
        """In the order of their start."""
        sandbox = self._sandboxes.get(uid)
        runs = sandbox.runs() if sandbox is not None else past_runs(self.place(uid))
        return sorted(runs.values(), key=lambda run: (run.started_at, run.id))

    def sandboxes(self) -> dict[str, Sandbox]:
        """Of all Pods that have one, by their UIDs."""
        return dict(self._sandboxes)

    def earlier_runs(self, uid: str) -> frozenset[str]:
        """The ids of those that were over before this sandbox was made."""
        return self._earlier.get(uid, frozenset())

    def address(self, uid: str) -> str:
        return self._addresses.of(uid)

    def place(self, uid: str) -> Path:
        return self._directory / uid

    def log_path(self, uid: str, container: str, attempt: int) -> Path:
        return orders.log_path(self.place(uid), container, attempt)

    def termination_message(self, pod: NodePod, run: Run) -> str:
        uid, policy = pod.metadata.uid, pod.container(run.name).termination_message_policy
        message = read_message_file(orders.message_path(self.place(uid), run.id))
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
        write_record(place, build_record(pod))
        is_of_host = pod.spec.host_network or bool(self.facts.plain_because)
        address = self._addresses.give(place, self.facts.host_address if is_of_host else "")
        self.fill_volumes(pod, sources)
        self._note_earlier(place)
        write_name_files(pod, address, self.facts, place / "etc")
        self._adopt(uid, await self._network.start_pod(pod, place, address, self._template))

    def fill_volumes(self, pod: NodePod, sources: Sources) -> dict[str, Volume]:
        """Also for Pods that run: what their files are made from may have changed."""
        volumes = build_volumes(pod, sources, self._around(pod))
        write_volumes(self.place(pod.metadata.uid) / "volumes", volumes, pod.spec.security_context.fs_group)
        return volumes

    async def start(self, pod: NodePod, name: str, attempt: int, sources: Sources, services: Mapping[str, str]) -> None:
        uid = pod.metadata.uid
        wish = Wish(
            pod=pod,
            container=pod.container(name),
            attempt=attempt,
            sources=sources,
            around=self._around(pod, services),
            place=self.place(uid),
            stand_ins=self._stand_ins,
        )
        order = self._groups.bound(orders.make_order(wish, self.facts), wish.container)
        try:
            if self.facts.plain_because:
                order = plain_pods.build_plain_order(order, wish.container, wish.place, self._stand_ins, self.facts)
            await self._sandboxes[uid].start(order)
        except BaseException:
            self._groups.collect(order.id)  # stays while somebody is in it
            raise

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
        plain_pods.remove_temporary(self.place(uid))
        self._collect(uid)
        await self._groups.remove_all(uid)
        self._addresses.take_back(self.place(uid))
        self._on_change(uid)

    async def release(self, uid: str) -> None:
        """Nothing of the Pod stays but its history."""
        await self.dismantle(uid)
        await self._groups.remove_all(uid)  # also of one whose shim had died
        self._addresses.take_back(self.place(uid))
        self._earlier.pop(uid, None)
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
        await self._dead_layers.close()

    # how

    def _adopt(self, uid: str, sandbox: Sandbox) -> None:
        self._sandboxes[uid] = sandbox
        sandbox.on_change(lambda _run: self._changed(uid))
        self._watching[uid] = asyncio.create_task(self._watch(uid, sandbox), name=f"watch {uid}")

    def _changed(self, uid: str) -> None:
        self._collect(uid)
        self._on_change(uid)

    def _collect(self, uid: str) -> None:
        """What is over: its control groups and what they tell, and what earlier runs have written."""
        runs = self.runs(uid)
        for run in runs if self.keeps_limits else ():
            if run.is_over and self._groups.collect(run.id):
                self._memory_mark(uid, run).touch()
        self._dead_layers.prune(self.place(uid) / "containers", runs)

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

    def _note_earlier(self, place: Path) -> None:
        """A new sandbox begins with nothing done, whatever has run in those before it."""
        runs = past_runs(place)
        if runs:
            (place / _EARLIER).write_text("\n".join(runs))
            self._earlier[place.name] = frozenset(runs)

    def _around(self, pod: NodePod, services: Mapping[str, str] | None = None) -> Surroundings:
        return Surroundings(
            host_address=self.facts.host_address,
            pod_address=self.address(pod.metadata.uid),
            node_allocatable=self.facts.allocatable,
            service_variables=services or {},
        )
