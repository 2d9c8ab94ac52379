"""NetworkPolicies, as KubeRay's separate controller keeps them."""

from typing import Any

import pytest

from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.plan.because import Because
from plan.worlds import (
    NAMESPACE,
    Tree,
    World,
    cluster_tree,
    created_pods,
    deletes,
    event_reasons,
    group,
    is_quiet,
    names_of,
    owned,
    patches,
    plan_world,
    reporters,
    run,
    stable,
    told,
    with_gates,
)

GATE = with_gates(RayClusterNetworkPolicy=True)


def isolated(**policy: Any) -> Tree:
    return cluster_tree(group("a", 1), group("b", 1), networkPolicy=policy)


def test_r12_2_one_policy_for_the_head_and_one_for_each_group() -> None:
    world = World(isolated())
    plan = plan_world(world, GATE)
    assert "Created NetworkPolicy ns/demo-head" in told(plan)
    world, _plans = run(world, GATE)
    assert world.names("NetworkPolicy") == ["demo-head", "demo-workers-a", "demo-workers-b"]


def test_r12_1_without_the_gate_leftovers_stay() -> None:
    world = stable(isolated(), GATE).edit_spec(networkPolicy=None)
    assert is_quiet(plan_world(world), world)


def test_r12_1_without_the_field_ours_go_and_foreign_ones_stay() -> None:
    world = stable(isolated(), GATE)
    stranger = copy_tree(world.of_kind("NetworkPolicy")[0])
    stranger["metadata"] |= {"name": "stranger", "ownerReferences": []}
    plan = plan_world(world.add(stranger).edit_spec(networkPolicy=None), GATE)
    assert names_of(deletes(plan)) == {"demo-head", "demo-workers-a", "demo-workers-b"}
    assert {action.because for action in deletes(plan)} == {Because.NOT_WANTED}
    assert "Deleted NetworkPolicy ns/demo-head" in told(plan)


def test_r12_2_the_policy_of_a_removed_group_goes() -> None:
    world = stable(isolated(), GATE)
    world = world.edit_spec(workerGroupSpecs=world.cluster["spec"]["workerGroupSpecs"][:1])
    assert names_of(deletes(plan_world(world, GATE))) == {"demo-workers-b"}


RULE = {"from": [{"podSelector": {}}], "ports": [{"port": 80}]}


def test_r12_7_a_port_without_a_protocol_is_a_tcp_port_and_no_difference() -> None:
    world = stable(isolated(head={"ingressRules": [RULE]}), GATE)

    def as_the_api_server_keeps_it(tree: Tree) -> Tree:
        if tree["metadata"]["name"] != "demo-head":
            return tree
        tree["spec"]["ingress"][-1]["ports"][0]["protocol"] = "TCP"
        return tree

    assert plan_world(world.edit_objects(as_the_api_server_keeps_it), GATE).is_empty


@pytest.mark.parametrize(
    "drift",
    [
        {"spec": {"policyTypes": ["Ingress"]}},
        {"spec": {"ingress": None}},
        {"spec": {"podSelector": {"matchLabels": {"extra": "x"}}}},
        {"metadata": {"labels": {"ray.io/group": None}}},
        {"metadata": {"labels": {"extra": "x"}}},
    ],
)
def test_r12_7_a_policy_that_drifted_is_made_equal_again(drift: Tree) -> None:
    world = stable(isolated(head={"ingressRules": [RULE]}), GATE)
    wanted = next(tree for tree in world.objects if tree["metadata"]["name"] == "demo-head")
    drifted = world.edit_objects(
        lambda tree: merge_patch(tree, drift) if tree["metadata"]["name"] == "demo-head" else tree
    )
    plan = plan_world(drifted, GATE)
    assert told(plan) == ["Updated NetworkPolicy ns/demo-head"]
    assert [patch.because for patch in patches(plan)] == [Because.DRIFTED]
    repaired = next(tree for tree in run(drifted, GATE)[0].objects if tree["metadata"]["name"] == "demo-head")
    assert repaired["metadata"]["labels"] == wanted["metadata"]["labels"]
    assert repaired["spec"]["podSelector"] == wanted["spec"]["podSelector"]
    assert len(repaired["spec"]["ingress"]) == len(wanted["spec"]["ingress"])


def test_an_empty_selector_means_everything_and_is_a_difference() -> None:
    world = stable(isolated(head={"ingressRules": [RULE]}), GATE)

    def widen(tree: Tree) -> Tree:
        if tree["metadata"]["name"] == "demo-head":
            tree["spec"]["ingress"][-1]["from"] = [{"namespaceSelector": {}}]
        return tree

    assert len(patches(plan_world(world.edit_objects(widen), GATE))) == 1


@pytest.mark.parametrize("uid", [None, "another-cluster"])
def test_r12_7_a_foreign_policy_under_our_name_is_left_alone(uid: str | None) -> None:
    foreign: Tree = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "demo-head", "namespace": NAMESPACE},
        "spec": {"podSelector": {}},
    }
    world = World(isolated()).add(foreign if uid is None else owned(foreign, uid))
    plan = plan_world(world, GATE)
    assert not patches(plan)
    assert event_reasons(plan) == ["NetworkPolicyNameCollision"]
    assert created_pods(plan), "nothing waits for policies"


def test_r1_6_a_refused_spec_gets_its_policies_and_nothing_else() -> None:
    tree = cluster_tree(group("a", minReplicas=5, maxReplicas=1), networkPolicy={})
    world, plans = run(World(tree), GATE)
    assert {tree["kind"] for tree in world.objects} == {"NetworkPolicy"}
    assert event_reasons(plans[0]) == ["InvalidRayClusterSpec"]
    assert "status" not in world.cluster


def test_a_cluster_that_is_being_deleted_keeps_its_policies() -> None:
    world = stable(isolated(), GATE).edit_metadata(deletionTimestamp="2027-01-15T08:00:00Z")
    assert plan_world(world.edit_spec(networkPolicy=None), GATE).is_empty


def test_14_2_everything_about_policies_is_told_in_the_name_of_their_controller() -> None:
    name = "networkpolicy-controller"
    assert reporters(plan_world(World(isolated()), GATE), "network-policies") == {name}
    world = stable(isolated(), GATE)
    drifted = world.edit_spec(networkPolicy={"mode": "DenyAllIngress"})
    assert reporters(plan_world(drifted, GATE), "network-policies") == {name}
    assert reporters(plan_world(world.edit_spec(networkPolicy=None), GATE), "network-policies") == {name}
    foreign = world.edit_objects(lambda tree: merge_patch(tree, {"metadata": {"ownerReferences": None}}))
    collisions = [event for event in plan_world(foreign, GATE).events if event.reason == "NetworkPolicyNameCollision"]
    assert {event.reporter for event in collisions} == {name}
    assert reporters(plan_world(World(isolated()), GATE), "head-service", "head-pod") == {""}
