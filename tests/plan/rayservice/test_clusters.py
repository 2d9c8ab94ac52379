"""Which clusters a RayService has: every row of the decision, and what is written on a cluster in place."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.kube.plan import Patch
from heliostat.plan.rayservice.clusters import ClusterChoice, ClusterInputs, are_upgrades_on, decide_clusters
from heliostat.plan.rayservice.comparing import Fit
from plan.rayservice.service_worlds import ServiceWorld, act, begin, run, spec_of
from plan.worlds import Tree, pod_template


@pytest.mark.parametrize(
    ("sight", "verdict"),
    [
        (ClusterInputs(), ClusterChoice.NEW),
        (ClusterInputs(is_pending_routed=True, has_pending=True, pending=Fit.OTHER), ClusterChoice.STAY),
        (ClusterInputs(has_pending=True), ClusterChoice.STAY),
        (ClusterInputs(has_pending=True, pending=Fit.SAME), ClusterChoice.STAY),
        (ClusterInputs(has_pending=True, pending=Fit.GROWN), ClusterChoice.IN_PLACE),
        (ClusterInputs(has_pending=True, pending=Fit.OTHER), ClusterChoice.NEW),
        (ClusterInputs(has_active=True, active=Fit.SAME), ClusterChoice.STAY),
        (ClusterInputs(has_active=True, active=Fit.GROWN), ClusterChoice.IN_PLACE),
        (ClusterInputs(has_active=True, active=Fit.OTHER), ClusterChoice.NEW),
        (ClusterInputs(has_active=True, active=Fit.OTHER, are_upgrades_on=False), ClusterChoice.OFF),
        (ClusterInputs(has_active=True, active=Fit.OTHER, is_refreshed=True), ClusterChoice.IN_PLACE),
        # Only the pending one is compared: back to the active one's spec is another cluster all the same.
        (ClusterInputs(has_active=True, active=Fit.SAME, has_pending=True, pending=Fit.OTHER), ClusterChoice.NEW),
        (ClusterInputs(has_active=True, active=Fit.OTHER, has_pending=True, pending=Fit.SAME), ClusterChoice.STAY),
    ],
)
def test_the_clusters_follow_the_table(sight: ClusterInputs, verdict: ClusterChoice) -> None:
    assert decide_clusters(sight) is verdict


@pytest.mark.parametrize(
    ("type_", "zero_downtime", "gate", "is_on"),
    [
        (None, True, True, True),
        (None, False, True, False),
        ("NewCluster", False, True, True),
        ("None", True, True, False),
        ("NewClusterWithIncrementalUpgrade", False, True, True),
        ("NewClusterWithIncrementalUpgrade", True, False, False),
    ],
)
def test_upgrades_are_on_as_in_kuberay(type_: str | None, zero_downtime: bool, gate: bool, is_on: bool) -> None:
    strategy = {} if type_ is None else {"upgradeStrategy": {"type": type_}}
    gates = {**Settings().gates, "RayServiceIncrementalUpgrade": gate}
    settings = Settings(zero_downtime=zero_downtime, gates=gates)
    assert are_upgrades_on(spec_of(begin(**strategy)), settings) is is_on


def patches(world: ServiceWorld) -> list[Patch]:
    return [each for each in world.plan().actions() if isinstance(each, Patch) and each.ref.kind == "RayCluster"]


def test_another_operator_version_renews_the_stamp_and_nothing_else() -> None:
    world = run(begin())
    chosen = [{**world.of_kind("RayCluster")[0]["spec"]["workerGroupSpecs"][0], "replicas": 3}]
    world = world.change("RayCluster", world.active, {"spec": {"workerGroupSpecs": chosen}})
    newer = structs.replace(world, settings=Settings(operator_version="heliostat-v9"))
    (patch,) = patches(newer)
    assert patch.changes == {"metadata": {"annotations": {"ray.io/kuberay-version": "heliostat-v9"}}}
    assert newer.active == run(newer).active
    assert run(newer).pending == ""
    assert patches(run(newer)) == []


def test_a_cluster_that_kuberay_made_is_taken_over_with_no_roll() -> None:
    world = run(begin())
    foreign = {"ray.io/kuberay-version": "v1.7.0", "ray.io/hash-without-replicas-and-workers-to-delete": "KUBERAYS"}
    taken = run(world.change("RayCluster", world.active, {"metadata": {"annotations": foreign}}))
    assert taken.names("RayCluster") == world.names("RayCluster")
    assert taken.pending == ""


def after_an_edit_that_nobody_saw(**spec: Any) -> tuple[ServiceWorld, ServiceWorld]:
    """The image was edited while no operator ran, and then one of another version came: before it, and in the end."""
    world = run(begin(**spec))
    edited = world.edit(rayClusterConfig={"headGroupSpec": {"template": pod_template("ray-head", image="ray:other")}})
    return edited, run(structs.replace(edited, settings=Settings(operator_version="heliostat-v9")), passes=20)


def test_an_edit_that_the_operator_before_did_not_see_is_an_upgrade() -> None:
    """As in KubeRay it was written into the cluster that serves, whose Pods do not follow: the edit was lost."""
    before, after = after_an_edit_that_nobody_saw()
    assert after.active != before.active
    assert "ray:other" in str(
        [each for each in after.of_kind("RayCluster") if each["metadata"]["name"] == after.active]
    )


def test_without_upgrades_such_an_edit_leaves_the_cluster_as_it_is() -> None:
    before, after = after_an_edit_that_nobody_saw(upgradeStrategy={"type": "None"})
    (was,), (is_,) = before.of_kind("RayCluster"), after.of_kind("RayCluster")
    assert is_["spec"] == was["spec"]
    assert is_["metadata"]["annotations"]["ray.io/kuberay-version"] == "heliostat-v9"


def test_a_group_that_is_added_reaches_the_cluster_in_place_and_keeps_what_the_autoscaler_chose() -> None:
    world = run(begin())
    config = spec_tree(world) | {"enableInTreeAutoscaling": True}
    world = run(world.edit(rayClusterConfig=config))
    (stored,) = config["workerGroupSpecs"]
    chosen = [{**stored, "replicas": 3}]
    world = world.change("RayCluster", world.active, {"spec": {"workerGroupSpecs": chosen}})
    world = world.edit(rayClusterConfig=config | {"workerGroupSpecs": [stored, {**stored, "groupName": "second"}]})
    (patch,) = patches(world)
    groups = patch.changes["spec"]["workerGroupSpecs"]
    assert [(each["groupName"], each["replicas"]) for each in groups] == [
        (stored["groupName"], 3),
        ("second", stored["replicas"]),
    ]
    assert run(world).active == world.active


def spec_tree(world: ServiceWorld) -> Tree:
    assert world.service is not None
    found: Tree = world.service["spec"]["rayClusterConfig"]
    return found


def test_replicas_alone_change_nothing() -> None:
    world = run(begin())
    (stored,) = spec_tree(world)["workerGroupSpecs"]
    config = {"workerGroupSpecs": [{**stored, "replicas": 2}]}
    edited = act(world.edit(rayClusterConfig=config))
    assert edited.pending == ""
    assert patches(edited) == []


def test_an_edit_that_spells_out_what_is_so_anyway_changes_nothing() -> None:
    """As whoever applies a manifest again does after KubeRay, which leaves such fields away, has written the object."""
    world = run(begin())
    (stored,) = spec_tree(world)["workerGroupSpecs"]
    (container,) = stored["template"]["spec"]["containers"]
    spelled = {**stored["template"]["spec"], "hostNetwork": False, "containers": [{**container, "tty": False}]}
    edited = act(world.edit(rayClusterConfig={"workerGroupSpecs": [{**stored, "template": {"spec": spelled}}]}))
    assert edited.pending == ""
    assert patches(edited) == []
