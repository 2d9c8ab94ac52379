"""The agents of all simulated nodes on the loop, as far as the nodes themselves are concerned.

Each registers its Node once, says that it is ready when somebody doubts it, and renews its lease. A Node that was
deleted stays deleted until the next start, as with a kubelet. A node annotated ``heliostat.dev/simulate: lost`` falls
silent until the annotation is gone.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from heliostat.embedded.controllers.nodes.machines import (
    Machine,
    build_conditions,
    build_info,
    build_node,
    build_node_status,
)
from heliostat.embedded.controllers.nodes.simulation import Simulation, is_lost
from heliostat.embedded.controllers.views.leases import LEASE, NODE_LEASE_NAMESPACE, NODE_LEASES, Lease
from heliostat.embedded.controllers.views.nodes import NODE, NODES, Node, Taint
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Action, Create, JsonObject, Patch, Plan, Ref, Stage
from heliostat.kube.timestamps import format_micro_timestamp, format_timestamp, parse_timestamp
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, signalled

_LEASE_SECONDS = 40


class _Start:
    """The agents start by themselves: no cache shows a node that has not registered yet."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def subscribe(self, listener: Callable[[None, Key], None]) -> None:
        for name in self._names:
            listener(None, Key("", name))


class SimulatedNodeAgents:
    name = "simulated-nodes"

    def __init__(self, caches: Caches, simulation: Simulation) -> None:
        self._simulation = simulation
        self._machines = simulation.by_name
        self._nodes = caches.of(NODES)
        self._leases = caches.of(NODE_LEASES)
        self._registered: set[str] = set()  # only keeps a deleted Node from coming back
        self._settled: set[str] = set()  # they were told what their machine has now

    def sources(self) -> Sequence[Source]:
        return (
            Source(_Start(self._machines), signalled),
            Source(self._nodes, self._keys_by_name),
            Source(self._leases, self._keys_by_name),
        )

    def subject(self, key: Key) -> Subject | None:
        """A kubelet speaks of its node before there is an object, by its name."""
        return Subject(Ref(NODE.api_version, NODE.kind, "", key.name), key.name) if key.name in self._machines else None

    def plan(self, key: Key, now: float) -> Plan:
        machine = self._machines[key.name]
        node = self._nodes.get(key)
        if node is None:
            return self._register(machine, now)
        self._registered.add(key.name)
        if is_lost(node):
            return Plan()
        is_settled = key.name in self._settled
        wishes = [] if is_settled else _report_wishes(machine, node)
        if wishes:
            return Plan((Stage("wishes", tuple(wishes)),))  # changes the Node, so it is looked at again
        self._settled.add(key.name)
        status = _report_status(machine, node, now, is_known=is_settled)
        lease = self._leases.get(Key(NODE_LEASE_NAMESPACE, key.name))
        rest = self._seconds_until_renewal(lease, now)
        actions = [*status, *([] if rest > 0 else [_renew(node, lease, now)])]
        stages = (Stage("heartbeat", tuple(actions)),) if actions else ()
        return Plan(stages, wake_after=rest if rest > 0 else self._simulation.heartbeat_seconds)

    def _register(self, machine: Machine, now: float) -> Plan:
        if machine.name in self._registered:
            return Plan()
        create = Create(build_node(machine, format_timestamp(now)), because="a simulated node starts")
        return Plan((Stage("register", (create,)),))

    def _seconds_until_renewal(self, lease: Lease | None, now: float) -> float:
        if lease is None or lease.spec.renew_time is None:
            return 0.0
        return parse_timestamp(lease.spec.renew_time) + self._simulation.heartbeat_seconds - now

    def _keys_by_name(self, before: Object | None, after: Object | None) -> Iterable[Key]:
        item = after or before
        return (Key("", item.metadata.name),) if item is not None and item.metadata.name in self._machines else ()


def _report_status(machine: Machine, node: Node, now: float, *, is_known: bool) -> list[Action]:
    """A Node that an earlier life has registered is told what the machine has now, as a kubelet does at its start.

    Resources that the machine does not name are left: people make them up by hand.
    """
    ready = node.condition("Ready")
    has_changed = not is_known and not _tells(node, machine)
    if ready is not None and ready.status == "True" and node.status.allocatable and not has_changed:
        return []
    moment = format_timestamp(now)
    if ready is None or not node.status.allocatable or has_changed:
        status = build_node_status(machine, moment)
    else:
        status = {"conditions": [msgspec.to_builtins(condition) for condition in build_conditions(moment, machine)]}
    metadata = node.metadata
    ref = Ref(NODE.api_version, NODE.kind, "", metadata.name)
    because = "the simulated node is well"
    return [Patch(ref, metadata.uid, metadata.resource_version, {"status": status}, because, subresource="status")]


def _tells(node: Node, machine: Machine) -> bool:
    status = node.status
    told = {one.type: (one.status, one.reason, one.message) for one in status.conditions}
    return (
        machine.capacity.items() <= status.allocatable.items()
        and machine.conditions.items() <= told.items()
        and build_info(machine) == status.node_info
    )


def _report_wishes(machine: Machine, node: Node) -> list[Action]:
    """Labels and taints that the machine was given since an earlier life registered its Node; those of others stay."""
    change: JsonObject = {}
    if not machine.labels.items() <= node.metadata.labels.items():
        change["metadata"] = {"labels": dict(machine.labels)}
    missing = [taint for taint in machine.taints if not any(_is_same(taint, known) for known in node.spec.taints)]
    if missing:
        kept = [known for known in node.spec.taints if (known.key, known.effect) not in _places(missing)]
        change["spec"] = {"taints": [msgspec.to_builtins(taint) for taint in (*kept, *missing)]}
    if not change:
        return []
    metadata = node.metadata
    ref = Ref(NODE.api_version, NODE.kind, "", metadata.name)
    return [Patch(ref, metadata.uid, metadata.resource_version, change, "the node was started with other wishes")]


def _is_same(wanted: Taint, known: Taint) -> bool:
    return (wanted.key, wanted.value, wanted.effect) == (known.key, known.value, known.effect)


def _places(taints: Iterable[Taint]) -> set[tuple[str, str]]:
    """There is one taint of a key with an effect."""
    return {(taint.key, taint.effect) for taint in taints}


def _renew(node: Node, lease: Lease | None, now: float) -> Action:
    renewed: JsonObject = {"spec": {"renewTime": format_micro_timestamp(now)}}
    name, because = node.metadata.name, "the simulated node lives"
    if lease is not None:
        metadata = lease.metadata
        ref = Ref(LEASE.api_version, LEASE.kind, NODE_LEASE_NAMESPACE, name)
        return Patch(ref, metadata.uid, metadata.resource_version, renewed, because)
    owner = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": name, "uid": node.metadata.uid}
    return Create(
        {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"namespace": NODE_LEASE_NAMESPACE, "name": name, "ownerReferences": [owner]},
            "spec": {**renewed["spec"], "holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS},
        },
        because,
    )
