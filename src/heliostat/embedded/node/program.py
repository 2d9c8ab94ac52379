"""A local node as a program: its Node object, its Pods, their network and names, all on one loop.

Who runs it hands in the way to the server and a state directory. Pods outlive it: when it comes back it finds them.
"""

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.controllers.nodes.machines import Machine
from heliostat.embedded.controllers.nodes.node_agents import SimulatedNodeAgents
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.views.leases import LEASE
from heliostat.embedded.controllers.views.nodes import NODE
from heliostat.embedded.node.agent import STEP, PodAgent, step_order
from heliostat.embedded.node.attendance import Attendance
from heliostat.embedded.node.backend import LocalBackend
from heliostat.embedded.node.cluster_network import ClusterNetwork
from heliostat.embedded.node.lifecycle import Dismantle, Prepare, Release, Start, Stop, run_id
from heliostat.embedded.node.link_server import LinkServer
from heliostat.embedded.node.memory_watch import MemoryWatch
from heliostat.embedded.node.network.namespaces import NamespaceVisitor
from heliostat.embedded.node.network.wiring import Networks, open_wiring
from heliostat.embedded.node.pods import POD, pods_of
from heliostat.embedded.node.probe_runner import Listeners
from heliostat.embedded.node.references import fetch_sources
from heliostat.embedded.node.step_reports import build_start_events
from heliostat.embedded.node.workbench import NodeFacts, Workbench
from heliostat.kube.plan import Effect, Event
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.client import Fence
from heliostat.runtime.host import HostSettings
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.program import Program
from heliostat.runtime.transport import Transport

WORKERS = 32


class LocalNodeOptions(Struct, frozen=True, kw_only=True):
    directory: Path  # the state: Pods, logs, the network's holder
    machine: Machine
    facts: NodeFacts
    api_server: tuple[str, int]  # where Pods' calls to the kubernetes service go
    networks: Networks = Networks()
    socket: Path | None = None  # where logs, commands and ports are served to the API server
    request_seconds: float = 4.0


class LocalNode:
    """To be made inside a running loop."""

    def __init__(
        self,
        transport: Transport,
        options: LocalNodeOptions,
        *,
        on_problem: Callable[[str, Exception], None],
        metrics: LoopMetrics | None = None,
        fence: Fence | None = None,
    ) -> None:
        self._options = options
        self._on_problem = on_problem
        self._program = Program(
            transport,
            instance=options.machine.name,
            on_problem=on_problem,
            types=ResourceTypes((POD, NODE, LEASE)),
            settings=HostSettings(workers=WORKERS),
            request_seconds=options.request_seconds,
            metrics=metrics,
            fence=fence,
        )
        self.host = self._program.host
        self._visitor = NamespaceVisitor()
        self._bench: Workbench | None = None
        self._agent: PodAgent | None = None

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop. Pods go on without us."""
        options = self._options
        wiring = await open_wiring(options.directory / "network", options.networks, self._visitor)
        bench = self._bench = Workbench(options.directory / "pods", wiring, options.facts, self._changed)
        await bench.recover()
        network = ClusterNetwork(self.host.caches, wiring, options.facts, options.api_server, self._on_problem)
        attendance = self._attendance = Attendance(
            bench.sandbox,
            bench.address,
            functools.partial(self._visitor.connect, wiring.namespace),
            Listeners(self._changed, self._tell, self._on_problem),
        )
        agent = self._agent = PodAgent(self.host.caches, options.machine.name, bench, attendance)
        self.host.add(SimulatedNodeAgents(self.host.caches, Simulation((options.machine,))))
        self.host.add(agent, after=agent.after)
        self.host.effects[STEP] = self._carry_out
        self.host.beside += [network.run, self._remove_leftovers]
        if not bench.keeps_limits:
            pods = self.host.caches.of(pods_of(options.machine.name))
            self.host.beside.append(MemoryWatch(pods, bench.pid, self._tell).run)
        if options.socket is not None:
            link = LinkServer(LocalBackend(bench, wiring), options.socket, self._on_problem)
            self.host.beside.append(link.run)
        self._network = network
        try:
            await self._program.run(stop, since)
        finally:
            await attendance.close()
            await bench.close()
            await wiring.holder.close()
            self._visitor.close()

    def _changed(self, uid: str) -> None:
        if self._agent is not None:
            self._agent.changed(uid)

    def _tell(self, uid: str, event: Event) -> None:
        if self._agent is not None:
            self._agent.tell(uid, event)

    async def _carry_out(self, effect: Effect) -> None:
        order, bench = step_order(effect), self._bench
        if bench is None:
            raise RuntimeError("a step before the node has begun")
        pod, uid = order.pod, order.pod.metadata.uid
        match order.step:
            case Prepare():
                await bench.prepare(pod, await fetch_sources(self._program.client, pod))
            case Start(container, attempt):
                sources = await fetch_sources(self._program.client, pod)
                services = self._network.variables(pod.metadata.namespace)
                id_ = run_id(pod, container, attempt)
                begin = functools.partial(bench.start, pod, container, attempt, sources, services)
                await self._attendance.start(pod, container, id_, begin)
                for event in build_start_events(pod.container(container)):
                    self._tell(uid, event)
            case Stop(id_, container, deadline, _because):
                self._attendance.stop(pod, id_, container, deadline - time.time())
            case Dismantle():
                await bench.dismantle(uid)
            case Release():
                await bench.release(uid)

    async def _remove_leftovers(self) -> None:
        """Pods that the API no longer has: removed by force, or while we were away."""
        pods = self.host.caches.of(pods_of(self._options.machine.name))
        await pods.synced.wait()
        changed = asyncio.Event()
        pods.subscribe(lambda _before, _after: changed.set())
        while self._bench is not None and self._agent is not None:
            living = {pod.metadata.uid for pod in pods}
            self._attendance.keep_only(living)
            self._agent.keep_only(living)
            for uid in self._bench.known_pods():
                if uid not in living:
                    with contextlib.suppress(OSError):
                        await self._bench.release(uid)
            await changed.wait()
            changed.clear()


def dns_address_of(networks: Networks) -> IPv4Address:
    """The tenth of the service range, as clusters have it."""
    return networks.services.network_address + 10
