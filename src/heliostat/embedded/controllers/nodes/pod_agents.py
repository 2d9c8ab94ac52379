"""The agents of all simulated nodes on the loop, as far as Pods are concerned: one cache, one reconciler.

A Pod on a node that is lost stays as it is. A Pod whose annotation cannot be read is told so and lives plainly.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from heliostat.embedded.controllers.nodes.addresses import AddressesExhaustedError, AddressPool
from heliostat.embedded.controllers.nodes.conduct import PLAIN, Conduct, ConductError, read_conduct
from heliostat.embedded.controllers.nodes.life import Life, life_of, restarts_of
from heliostat.embedded.controllers.nodes.simulation import Simulation, is_lost, jitter_of
from heliostat.embedded.controllers.nodes.stages import ADMIT, REMOVE
from heliostat.embedded.controllers.nodes.statuses import Host, build_status
from heliostat.embedded.controllers.nodes.steps import Later, Rest, Step, next_step
from heliostat.embedded.controllers.views.nodes import NODES, Node
from heliostat.embedded.controllers.views.pods import POD, PODS, Pod
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Event, Patch, Plan, Ref, Stage, Wait
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, subject_of

_RETRY_SECONDS = 10.0


class _Seen(Struct, frozen=True):
    """When a Pod was first seen where it is; only makes delays finer than whole seconds."""

    uid: str
    life: Life
    is_terminating: bool
    at: float


class SimulatedPodAgents:
    name = "simulated-pods"

    def __init__(self, caches: Caches, simulation: Simulation) -> None:
        self._simulation = simulation
        self._machines = simulation.by_name
        self._pods = caches.of(PODS)
        self._nodes = caches.of(NODES)
        self._by_node = self._pods.add_index(lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ())
        self._pools = {machine.name: AddressPool(machine.pod_network) for machine in simulation.machines}
        self._seen: dict[Key, _Seen] = {}
        self._pods.subscribe(self._pod_changed)

    def sources(self) -> Sequence[Source]:
        return Source(self._pods, self._keys_of_pod), Source(self._nodes, self._keys_of_node)

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        return subject_of(pod, POD.api_version, POD.kind) if pod is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        pod = self._pods.get(key)
        if pod is None or pod.spec.node_name not in self._machines:
            return Plan()
        if is_lost(self._nodes.get(Key("", pod.spec.node_name))):
            return Plan(waits=(Wait("NodeLost", "the node's agent is silent", "the node is back"),))
        conduct, events = _conduct_of(pod)
        jitter = jitter_of(pod, restarts_of(pod), self._simulation.seed)
        step = next_step(pod, now, self._simulation.stages, conduct, jitter, self._seen_at(pod, now))
        match step:
            case Step():
                return self._take(pod, step, events, now)
            case Later():
                return Plan(waits=(Wait(step.stage, "simulated time has to pass", "it has"),), wake_after=step.seconds)
            case Rest():
                return Plan()

    def _take(self, pod: Pod, step: Step, events: tuple[Event, ...], now: float) -> Plan:
        ref = Ref(POD.api_version, POD.kind, pod.metadata.namespace, pod.metadata.name)
        because = f"simulated: {step.stage}"
        if step.do == REMOVE:
            gone = Delete(ref, pod.metadata.uid, because, grace_seconds=0)
            return Plan((Stage("remove", (gone,)),))
        try:
            host = self._host(pod, step)
        except AddressesExhaustedError as error:
            told = Event("Warning", "FailedCreatePodSandBox", "Simulating", f"Failed to create pod sandbox: {error}")
            return Plan(events=(told,), wake_after=_RETRY_SECONDS)
        status = build_status(pod, step, host, now)
        version = pod.metadata.resource_version
        patch = Patch(ref, pod.metadata.uid, version, {"status": status}, because, subresource="status")
        return Plan((Stage("status", (patch,)),), events=events if step.do == ADMIT else ())

    def _host(self, pod: Pod, step: Step) -> Host:
        machine = self._machines[pod.spec.node_name]
        if pod.spec.host_network:
            return Host(machine.address, machine.address)
        if pod.status.pod_ip or step.do == ADMIT:
            return Host(machine.address, pod.status.pod_ip)
        return Host(machine.address, self._pools[machine.name].take(pod.metadata.uid))

    def _seen_at(self, pod: Pod, now: float) -> float:
        life, metadata = life_of(pod), pod.metadata
        seen = self._seen.get(metadata.key)
        is_same = seen is not None and (seen.uid, seen.life) == (metadata.uid, life)
        if seen is None or not is_same or seen.is_terminating != metadata.is_terminating:
            seen = self._seen[metadata.key] = _Seen(metadata.uid, life, metadata.is_terminating, now)
        return seen.at

    def _pod_changed(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None and (after is None or after.is_over or after.metadata.uid != before.metadata.uid):
            self._seen.pop(before.metadata.key, None)
            if (pool := self._pools.get(before.spec.node_name)) is not None:
                pool.release(before.metadata.uid)
        if after is None or after.is_over or not after.status.pod_ip or after.spec.host_network:
            return
        if (pool := self._pools.get(after.spec.node_name)) is not None:
            pool.occupy(after.metadata.uid, after.status.pod_ip)

    def _keys_of_pod(self, _before: Pod | None, after: Pod | None) -> Iterable[Key]:
        is_ours = after is not None and after.spec.node_name in self._machines
        return (after.metadata.key,) if after is not None and is_ours else ()

    def _keys_of_node(self, before: Node | None, after: Node | None) -> Iterable[Key]:
        """A node that is back: its Pods go on living."""
        if after is None or not is_lost(before) or is_lost(after):
            return ()
        return [pod.metadata.key for pod in self._by_node.at(after.metadata.name)]


def _conduct_of(pod: Pod) -> tuple[Conduct, tuple[Event, ...]]:
    try:
        return read_conduct(pod.metadata.annotations), ()
    except ConductError as error:
        return PLAIN, (Event("Warning", "InvalidSimulation", "Simulating", str(error)),)
