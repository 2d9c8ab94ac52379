"""The agents of simulated nodes between caches and loop: registration, leases, addresses, and falling silent."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from embedded.controllers.cluster_shapes import pod_tree
from embedded.controllers.plan_world import START, World
from heliostat.embedded.controllers.nodes.addresses import AddressesExhaustedError, AddressPool
from heliostat.embedded.controllers.nodes.machines import Machine, TooManyMachinesError, build_machines
from heliostat.embedded.controllers.nodes.node_agents import SimulatedNodeAgents
from heliostat.embedded.controllers.nodes.pod_agents import SimulatedPodAgents
from heliostat.embedded.controllers.nodes.simulation import Simulation, jitter_of
from heliostat.embedded.controllers.views.leases import NODE_LEASES
from heliostat.embedded.controllers.views.nodes import NODES, Taint
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Patch, Plan, Ref
from heliostat.runtime.reconciler import KeysOf

LOST = {"metadata": {"annotations": {"heliostat.dev/simulate": "lost"}}}
NODE_REF = Ref("v1", "Node", "", "node-0")


class Farm:
    """Simulated nodes whose plans are carried out at once."""

    def __init__(self, count: int = 1, machines: tuple[Machine, ...] = (), **settings: Any) -> None:
        self.world = World(NODES, NODE_LEASES, PODS)
        simulation = Simulation(machines or build_machines(count), **settings)
        self.nodes = SimulatedNodeAgents(self.world.caches, simulation)
        self.pods = SimulatedPodAgents(self.world.caches, simulation)
        self.woken: list[str] = []
        for source in (*self.nodes.sources(), *self.pods.sources()):
            source.changes.subscribe(self._listen(source.keys_of))

    def _listen(self, keys_of: KeysOf) -> Callable[[Any, Any], None]:
        def hear(before: Any, after: Any) -> None:
            self.woken += [key.name for key in keys_of(before, after)]

        return hear

    def beat(self, name: str = "node-0") -> Plan:
        return self.world.reconcile(self.nodes, Key("", name))

    def live(self, name: str) -> Plan:
        return self.world.reconcile(self.pods, Key("default", name))

    def pod(self, name: str, place: str = "node-0", **more: Any) -> None:
        self.world.add(pod_tree(name, nodeName=place, **more))

    def address(self, name: str) -> str:
        found: str = self.world.trees[Ref("v1", "Pod", "default", name)]["status"].get("podIP", "")
        return found


def test_nodes_start_by_themselves_register_and_keep_a_lease() -> None:
    farm = Farm(2)
    assert farm.woken == ["node-0", "node-1"]
    farm.beat()
    node = farm.world.one("Node")
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-0"
    assert node["spec"]["podCIDR"] == "10.244.0.0/24"
    assert node["status"]["allocatable"]["cpu"] == "32"
    assert {found["type"]: found["status"] for found in node["status"]["conditions"]}["Ready"] == "True"
    assert farm.beat().wake_after == 10.0
    lease = farm.world.one("Lease")
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    assert lease["spec"]["renewTime"] == "2023-11-14T22:13:20.000000Z"
    assert farm.beat().is_empty


def test_a_lease_is_renewed_when_it_is_time() -> None:
    farm = Farm(heartbeat_seconds=20.0)
    farm.beat()
    farm.beat()
    farm.world.now += 19.0
    plan = farm.beat()
    assert (plan.is_empty, plan.wake_after) == (True, 1.0)
    farm.world.now += 1.0
    assert not farm.beat().is_empty
    assert farm.world.one("Lease")["spec"]["renewTime"] == "2023-11-14T22:13:40.000000Z"


def test_a_node_that_is_deleted_stays_deleted() -> None:
    farm = Farm()
    farm.beat()
    farm.beat()
    farm.world.remove(NODE_REF)
    assert farm.beat().is_empty


def test_a_lost_node_is_silent_and_comes_back() -> None:
    farm = Farm()
    farm.beat()
    farm.beat()
    farm.world.change(NODE_REF, **LOST)
    farm.world.now += 60.0
    assert farm.beat() == Plan()
    doubted = [{"type": "Ready", "status": "Unknown"}]
    farm.world.change(NODE_REF, metadata={"annotations": None}, status={"conditions": doubted})
    assert not farm.beat().is_empty
    conditions = farm.world.one("Node")["status"]["conditions"]
    assert {found["type"]: found["status"] for found in conditions}["Ready"] == "True"


def test_machines_can_be_tainted_labelled_and_of_any_size() -> None:
    taint = Taint("gpu", "NoSchedule", "yes")
    (machine,) = build_machines(1, {"cpu": "1"}, {"pool": "gpu"}, (taint,), prefix="gpu")
    assert (machine.name, machine.capacity, machine.labels) == ("gpu-0", {"cpu": "1"}, {"pool": "gpu"})
    farm = Farm(machines=(machine,))
    farm.beat("gpu-0")
    assert farm.world.one("Node")["spec"]["taints"] == [{"key": "gpu", "effect": "NoSchedule", "value": "yes"}]


def test_no_more_machines_than_ranges() -> None:
    with pytest.raises(TooManyMachinesError, match="give a larger network"):
        build_machines(257)


def test_pods_get_addresses_of_their_node_and_give_them_back() -> None:
    farm = Farm(2)
    for name in ("node-0", "node-1"):
        farm.beat(name)
    farm.pod("p")
    farm.pod("q")
    farm.pod("r", "node-1")
    farm.pod("host", hostNetwork=True)
    for name in ("p", "q", "r", "host"):
        farm.live(name)
        farm.live(name)
    assert [farm.address(name) for name in ("p", "q", "r", "host")] == [
        "10.244.0.2",
        "10.244.0.3",
        "10.244.1.2",
        "10.0.0.10",
    ]
    farm.world.remove(Ref("v1", "Pod", "default", "p"))
    farm.pod("s")
    farm.live("s")
    farm.live("s")
    assert farm.address("s") == "10.244.0.4"


def test_addresses_come_round_and_run_out() -> None:
    pool = AddressPool("10.0.0.0/29")
    taken = [pool.take(f"uid-{number}") for number in range(5)]
    assert taken == [f"10.0.0.{number}" for number in range(2, 7)]
    assert pool.take("uid-3") == taken[3]
    with pytest.raises(AddressesExhaustedError):
        pool.take("one too many")
    pool.release("uid-1")
    assert pool.take("new") == taken[1]


@pytest.mark.parametrize("phase", ["Failed", ""])
def test_a_node_without_addresses_says_so_until_a_pod_is_over_or_gone(phase: str) -> None:
    farm = Farm(machines=(Machine("node-0", "10.244.0.0/30", "10.0.0.10", {"pods": "9"}),))
    farm.beat()
    for name in ("p", "q"):
        farm.pod(name)
        farm.live(name)
    farm.live("p")
    refused = farm.live("q")
    assert [event.reason for event in refused.events] == ["FailedCreatePodSandBox"]
    first = Ref("v1", "Pod", "default", "p")
    if phase:
        farm.world.change(first, status={"phase": phase})
    else:
        farm.world.remove(first)
    farm.live("q")
    assert farm.address("q") == "10.244.0.2"


def test_pods_of_a_lost_node_stay_as_they_are_and_go_on_later() -> None:
    farm = Farm()
    farm.beat()
    farm.pod("p")
    farm.world.change(NODE_REF, **LOST)
    assert farm.live("p").is_empty
    farm.woken.clear()
    farm.world.change(NODE_REF, metadata={"annotations": None})
    assert "p" in farm.woken
    assert not farm.live("p").is_empty


def test_pods_on_other_nodes_are_not_ours() -> None:
    farm = Farm()
    farm.pod("p", "real-node")
    assert farm.live("p") == Plan()
    assert "p" not in farm.woken


def test_the_last_delete_has_no_grace_and_names_the_uid() -> None:
    farm = Farm()
    farm.beat()
    tree = pod_tree("p", nodeName="node-0")
    tree["metadata"] |= {"deletionTimestamp": "2023-11-14T22:13:50Z", "deletionGracePeriodSeconds": 30}
    farm.world.add(tree)
    plan = farm.pods.plan(Key("default", "p"), START)
    (delete,) = plan.actions()
    assert isinstance(delete, Delete)
    assert (delete.uid, delete.grace_seconds) == ("uid-p", 0)


def test_an_unreadable_annotation_is_told_and_ignored() -> None:
    farm = Farm()
    farm.beat()
    tree = pod_tree("p", nodeName="node-0")
    tree["metadata"]["annotations"] = {"heliostat.dev/simulate": "dance"}
    farm.world.add(tree)
    plan = farm.live("p")
    assert [event.reason for event in plan.events] == ["InvalidSimulation"]
    assert farm.live("p").events == ()
    assert farm.address("p") == "10.244.0.2"


def test_status_is_patched_from_the_version_it_was_decided_from() -> None:
    farm = Farm()
    farm.beat()
    farm.pod("p")
    (patch,) = farm.pods.plan(Key("default", "p"), START).actions()
    assert isinstance(patch, Patch)
    assert patch.resource_version == farm.world.one("Pod")["metadata"]["resourceVersion"]
    assert patch.subresource == "status"


def test_chance_is_even_and_depends_on_seed_pod_restart_and_stage() -> None:
    pods = [msgspec.convert(pod_tree(f"p{number}"), Pod) for number in range(200)]
    drawn = [jitter_of(each, 0, "seed")("start") for each in pods]
    assert all(0 <= value < 1 for value in drawn)
    assert 0.4 < sum(drawn) / len(drawn) < 0.6
    others = [
        jitter_of(pods[0], 0, "seed")("ready"),
        jitter_of(pods[0], 1, "seed")("start"),
        jitter_of(pods[0], 0, "other")("start"),
    ]
    assert len({drawn[0], drawn[1], *others}) == 5
    assert jitter_of(pods[0], 0, "seed")("start") == drawn[0]


def test_a_node_that_comes_back_with_other_resources_says_so_once() -> None:
    farm = Farm()
    farm.beat()
    _allocate(farm, {"example.com/made-up": "1"})
    larger = Simulation(build_machines(1, capacity={"cpu": "64", "nvidia.com/gpu": "2"}))
    farm.nodes = SimulatedNodeAgents(farm.world.caches, larger)
    farm.beat()
    found = farm.world.one("Node")["status"]["allocatable"]
    assert (found["cpu"], found["nvidia.com/gpu"], found["example.com/made-up"]) == ("64", "2", "1")
    _allocate(farm, {"cpu": "1"})
    farm.beat()
    assert farm.world.one("Node")["status"]["allocatable"]["cpu"] == "1"


def _allocate(farm: Farm, resources: dict[str, str]) -> None:
    """By hand."""
    farm.world.change(NODE_REF, status={"allocatable": resources})


def test_a_node_of_an_earlier_life_gets_what_it_is_started_with_now_beside_what_others_gave_it() -> None:
    farm = Farm()
    farm.beat()
    farm.world.change(NODE_REF, metadata={"labels": {"of": "others"}}, spec={"taints": OF_OTHERS})
    taints = (Taint("spot", "NoSchedule", "now"), Taint("new", "NoExecute"))
    machine = msgspec.structs.replace(
        build_machines(1)[0], labels={"zone": "a"}, taints=taints, info={"osImage": "a real one"}
    )
    farm.nodes = SimulatedNodeAgents(farm.world.caches, Simulation((machine,)))
    farm.beat()
    farm.beat()
    node = farm.world.one("Node")
    assert {**node["metadata"]["labels"], "of": "others", "zone": "a"} == node["metadata"]["labels"]
    assert node["spec"]["taints"] == [
        {"key": "own", "effect": "NoSchedule"},
        {"key": "spot", "effect": "NoSchedule", "value": "now"},
        {"key": "new", "effect": "NoExecute"},
    ]
    assert node["status"]["nodeInfo"]["osImage"] == "a real one"
    assert farm.beat().is_empty


OF_OTHERS = [{"key": "own", "effect": "NoSchedule"}, {"key": "spot", "effect": "NoSchedule", "value": "before"}]
