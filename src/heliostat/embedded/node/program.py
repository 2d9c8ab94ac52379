"""Local nodes as a program: their Node objects, their Pods, the network and names of these, all on one loop.

Who runs it hands in the way to the server and a state directory. Pods outlive it: when it comes back it finds them.
"""

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from heliostat.embedded.controllers.nodes.machines import Machine
from heliostat.embedded.controllers.nodes.node_agents import SimulatedNodeAgents
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.views.leases import LEASE
from heliostat.embedded.controllers.views.nodes import NODE
from heliostat.embedded.gateway.feed import DirectoryFeed
from heliostat.embedded.gateway.program import LocalGateway, Surface, refuse_gateways, without_absent_kinds
from heliostat.embedded.node.agent import STEP, PodAgent, step_order
from heliostat.embedded.node.attendance import Attendance
from heliostat.embedded.node.backend import LocalBackend
from heliostat.embedded.node.cluster_network import ClusterNetwork
from heliostat.embedded.node.imaging.image_pulls import ImagePulls
from heliostat.embedded.node.isolating.memory_watch import MemoryWatch
from heliostat.embedded.node.lifecycle import Dismantle, Prepare, Pull, Release, Start, Stop, run_id
from heliostat.embedded.node.linking.link_server import LinkServer
from heliostat.embedded.node.network.namespaces import NamespaceVisitor
from heliostat.embedded.node.network.outbound import CONDITION as OUTBOUND
from heliostat.embedded.node.network.outbound import Outbound, judge_failure
from heliostat.embedded.node.network.pod_network import PodNetwork
from heliostat.embedded.node.network.shared import SharedNetwork
from heliostat.embedded.node.network.wiring import Networks, Wiring, open_wiring
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.own_pods import OwnPods
from heliostat.embedded.node.pods import POD
from heliostat.embedded.node.probing.probe_runner import Listeners
from heliostat.embedded.node.step_reports import build_start_events
from heliostat.embedded.node.storage.references import RecentSources
from heliostat.embedded.node.storage.volume_upkeep import VolumeUpkeep
from heliostat.embedded.node.storage_watch import StorageWatch, build_event
from heliostat.embedded.node.workbench import Workbench
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
    machines: tuple[Machine, ...]  # the nodes that this machine plays, at least one
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
        self._machines = options.machines
        self._on_problem = on_problem
        self._program = Program(
            transport,
            instance=options.machines[0].name,
            on_problem=without_absent_kinds(on_problem),
            types=ResourceTypes((POD, NODE, LEASE)),
            settings=HostSettings(workers=WORKERS),
            request_seconds=options.request_seconds,
            metrics=metrics,
            fence=fence,
        )
        self.host = self._program.host
        self._pods = OwnPods(self.host.caches, [machine.name for machine in options.machines])
        self._sources = RecentSources(self._program.client)
        self._variables: Callable[[str], Mapping[str, str]] = self._variables_of_api
        self._bench: Workbench | None = None
        self._agent: PodAgent | None = None

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop. Pods go on without us."""
        options = self._options
        network = await self._open_network()
        bench = self._bench = Workbench(options.directory / "pods", network, options.facts, self._changed)
        await bench.recover()
        attendance = self._attendance = Attendance(
            bench.sandbox,
            bench.address,
            network.connect,
            Listeners(self._changed, self._tell, self._on_problem),
        )
        pulls = self._pulls = ImagePulls(options.facts.images, self._changed, self._tell)
        agent = self._agent = PodAgent(self._pods, bench, attendance, pulls)
        self.host.add(SimulatedNodeAgents(self.host.caches, Simulation(self._machines)))
        self.host.add(agent, after=agent.after)
        self.host.effects[STEP] = self._carry_out
        upkeep = VolumeUpkeep(self._pods, bench.sandbox, bench.fill_volumes, self._program.client)
        storage = StorageWatch(self._pods, bench.place, lambda uid, why: self._tell(uid, build_event(why)))
        self.host.beside += [self._remove_leftovers, bench.history.run, upkeep.run, storage.run]
        if not bench.keeps_limits:
            self.host.beside.append(MemoryWatch(self._pods, bench.pid, self._tell).run)
        if options.socket is not None:
            backend = LocalBackend(bench, network, self._program.metrics.registry)
            link = LinkServer(backend, options.socket, self._on_problem)
            self.host.beside.append(link.run)
        try:
            await self._program.run(stop, since)
        finally:
            await pulls.close()
            await attendance.close()
            await bench.close()
            await network.close()

    async def _open_network(self) -> PodNetwork:
        """Names and services are served in a network of the Pods' own, and nowhere else."""
        options, facts = self._options, self._options.facts
        if facts.plain_because:
            refuse_gateways(self.host, "Pods share the machine's network here, so there is none to listen in")
            return SharedNetwork(IPv4Address(facts.host_address))
        wiring = await open_wiring(options.directory / "network", options.networks, NamespaceVisitor())
        feed = DirectoryFeed(self.host.caches, options.api_server)
        cluster = ClusterNetwork(feed, wiring, facts, self._on_problem)
        self._variables = cluster.variables
        self.host.beside += [cluster.run, await self._open_way_out(wiring)]
        LocalGateway(self.host, feed, Surface(wiring.listen, wiring.dial), self._program.metrics.registry)
        return wiring

    def _outbound_failed(self, error: OSError) -> None:
        self._on_problem("the way out of the Pods' network", error)

    async def _open_way_out(self, wiring: Wiring) -> Callable[[], Coroutine[Any, Any, None]]:
        """Before the nodes are registered, so that their condition says what is."""
        way_out = Outbound(wiring, self._options.facts.outbound_ports, on_problem=self._outbound_failed)
        error = await way_out.open()
        if error is not None:
            self._outbound_failed(error)
            self._machines = tuple(
                structs.replace(machine, conditions={**machine.conditions, OUTBOUND: judge_failure(error)})
                for machine in self._machines
            )
        return way_out.run

    def _variables_of_api(self, _namespace: str) -> Mapping[str, str]:
        host, port = self._options.api_server
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}

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
                with self._read_anew_after_failure(uid):
                    await bench.prepare(pod, await self._sources.fetch(pod))
            case Pull(image):
                self._pulls.pull(image, uid)
            case Start(container, attempt):
                with self._read_anew_after_failure(uid):
                    sources = await self._sources.fetch(pod)
                    services = self._variables(pod.metadata.namespace)
                    id_ = run_id(pod, container, attempt)
                    begin = functools.partial(bench.start, pod, container, attempt, sources, services)
                    await self._attendance.start(pod, container, id_, begin)
                started = pod.container(container)
                for event in build_start_events(started, self._pulls.pulled(started.image, uid)):
                    self._tell(uid, event)
            case Stop(id_, container, deadline, _because):
                self._attendance.stop(pod, id_, container, deadline - time.time())
            case Dismantle():
                await bench.dismantle(uid)
            case Release():
                await bench.release(uid)

    @contextlib.contextmanager
    def _read_anew_after_failure(self, uid: str) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._sources.forget(uid)
            raise

    async def _remove_leftovers(self) -> None:
        """Pods that the API no longer has: removed by force, or while we were away."""
        pods = self._pods
        await pods.cache.synced.wait()
        changed = asyncio.Event()
        pods.cache.subscribe(lambda _before, _after: changed.set())
        while self._bench is not None and self._agent is not None:
            living = {pod.metadata.uid for pod in pods}
            self._attendance.keep_only(living)
            self._agent.keep_only(living)
            gone = [uid for uid in self._bench.known_pods() if uid not in living]
            for result in await asyncio.gather(*map(self._bench.release, gone), return_exceptions=True):
                if isinstance(result, BaseException) and not isinstance(result, OSError):
                    raise result
            await changed.wait()
            changed.clear()


def dns_address_of(networks: Networks) -> IPv4Address:
    """The tenth of the service range, as clusters have it."""
    return networks.services.network_address + 10
