"""The status of a RayCluster: counted anew, written only when something but time changed."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.plan.raycluster.situation import LastFailure, Remembered, Situation
from heliostat.plan.raycluster.status import calculate_status, find_endpoints, is_consistent
from plan.worlds import (
    Tree,
    World,
    apply_plan,
    cluster_tree,
    event_reasons,
    group,
    observe,
    plan_world,
    pod_template,
    run,
    settle,
    stable,
    with_gates,
)


def status_of(world: World, remembered: Remembered | None = None, *, is_blocked: bool = False) -> Tree:
    status = status_if_any(world, remembered or Remembered(), is_blocked=is_blocked)
    assert status is not None
    return status


def status_if_any(world: World, remembered: Remembered, *, is_blocked: bool) -> Tree | None:
    observed, settings = observe(world), Settings()
    desired = build_desired(observed.cluster, settings)
    situation = Situation(observed=observed, desired=desired, settings=settings, remembered=remembered, now=world.now)
    return calculate_status(situation, is_blocked=is_blocked)


def newborn(tree: Tree) -> World:
    """Everything is made and runs, but no status was written yet."""
    world = settle(apply_plan(World(tree), plan_world(World(tree))))
    assert "status" not in world.cluster
    return world


def without_pods(world: World, *, keep_head: bool = False) -> World:
    kept = world.pods(node_type="head") if keep_head else []
    return world.edit_objects(lambda tree: None if tree["kind"] == "Pod" and tree not in kept else tree)


def test_8_1_the_status_of_a_ready_cluster() -> None:
    world = newborn(cluster_tree(group("a", 2, minReplicas=1, maxReplicas=5), group("b", 1, maxReplicas=3)))
    (head,) = world.pods(node_type="head")
    ip = head["status"]["podIP"]
    status = status_of(world)
    assert {key: status[key] for key in status if key not in ("conditions", "endpoints")} == {
        "state": "ready",
        "observedGeneration": 1,
        "readyWorkerReplicas": 3,
        "availableWorkerReplicas": 3,
        "desiredWorkerReplicas": 3,
        "minWorkerReplicas": 1,
        "maxWorkerReplicas": 8,
        "desiredCPU": "2",
        "desiredMemory": "4Gi",
        "desiredGPU": "0",
        "desiredTPU": "0",
        "head": {
            "podIP": ip,
            "podName": head["metadata"]["name"],
            "serviceIP": ip,
            "serviceName": "demo-head-svc",
        },
        "lastUpdateTime": "2027-01-15T08:00:00Z",
        "stateTransitionTimes": {"ready": "2027-01-15T08:00:00Z"},
    }
    assert status["endpoints"] == {
        "client": "10001", "dashboard": "8265", "gcs-server": "6379", "metrics": "8080", "serve": "8000",
    }  # fmt: skip


def test_8_1_running_is_available_and_only_ready_is_ready() -> None:
    world = newborn(cluster_tree(group(replicas=3)))
    first, second, _third = world.pods(group="g")
    world = world.edit_pod(first["metadata"]["name"], {"status": {"conditions": None}})
    world = world.edit_pod(second["metadata"]["name"], {"status": {"phase": "Pending"}})
    status = status_of(world)
    assert (status["readyWorkerReplicas"], status["availableWorkerReplicas"]) == (1, 2)


def test_8_1_what_is_zero_or_empty_is_left_out() -> None:
    status = status_of(without_pods(newborn(cluster_tree(group(replicas=2)))))
    for absent in ("state", "readyWorkerReplicas", "availableWorkerReplicas", "minWorkerReplicas", "reason"):
        assert absent not in status
    assert status["head"] == {"serviceName": "demo-head-svc"}


@pytest.mark.parametrize(
    ("fields", "desired", "low", "high"),
    [
        ({"replicas": 2147483647, "maxReplicas": 2147483647, "numOfHosts": 4}, 2147483647, None, 2147483647),
        ({"replicas": 1, "minReplicas": 2, "maxReplicas": 4, "numOfHosts": 3}, 6, 6, 12),
        ({"replicas": 9, "minReplicas": 100, "maxReplicas": 100, "suspend": True}, None, None, None),
    ],
)
def test_8_3_counts(fields: Tree, desired: int | None, low: int | None, high: int | None) -> None:
    world = newborn(cluster_tree()).edit_group(**fields)
    status = status_of(world)
    found = [status.get(f"{which}WorkerReplicas") for which in ("desired", "min", "max")]
    assert found == [desired, low, high]


def test_8_3_a_suspended_group_asks_for_nothing_and_the_head_alone_is_ready() -> None:
    world = newborn(cluster_tree(group(replicas=100, minReplicas=100, maxReplicas=100, suspend=True)))
    status = status_of(world)
    assert status["state"] == "ready"
    assert (status["desiredCPU"], status["desiredMemory"]) == ("500m", "1Gi")


def test_8_1_resources_count_raw_replicas_and_every_kind_of_gpu() -> None:
    limits = {"nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": "2", "foo.bar/gpu": "2", "google.com/tpu": "1"}
    template = pod_template("ray-worker")
    template["spec"]["containers"][0]["resources"] = {"limits": limits}
    world = newborn(cluster_tree(group(replicas=1, minReplicas=3, template=template)))
    status = status_of(world)
    assert (status["desiredGPU"], status["desiredTPU"]) == ("5", "1")
    assert status["desiredWorkerReplicas"] == 3


@pytest.mark.parametrize(
    ("failure", "blocked", "state"),
    [(None, False, "ready"), (LastFailure("", "conflict"), False, None), (None, True, None)],
)
def test_8_3_an_error_stands_in_the_way_of_ready(
    failure: LastFailure | None, *, blocked: bool, state: str | None
) -> None:
    status = status_of(newborn(cluster_tree()), Remembered(failure=failure), is_blocked=blocked)
    assert status.get("state") == state


def test_8_3_a_head_alone_is_not_ready_when_workers_are_wanted() -> None:
    world = newborn(cluster_tree(group(replicas=3)))
    assert "state" not in status_of(without_pods(world, keep_head=True))


def test_8_3_ready_is_kept_when_something_fails_later() -> None:
    world = stable(cluster_tree(group(replicas=3)))
    later = without_pods(world.after(60), keep_head=True)
    status = status_of(later, Remembered(failure=LastFailure("FailedCreateWorkerPod", "quota")))
    assert status["state"] == "ready"
    assert status["stateTransitionTimes"] == world.cluster["status"]["stateTransitionTimes"]


def test_a_failure_shows_as_a_condition_and_goes_with_it() -> None:
    world = stable(cluster_tree())
    failing = Remembered(failure=LastFailure("FailedCreateWorkerPod", "quota exceeded"))
    world = apply_plan(world, plan_world(world, remembered=failing))
    (shown,) = [c for c in world.cluster["status"]["conditions"] if c["type"] == "ReplicaFailure"]
    assert (shown["status"], shown["reason"]) == ("True", "FailedCreateWorkerPod")
    assert plan_world(world, remembered=failing).is_empty
    world, _plans = run(world)
    assert "ReplicaFailure" not in world.conditions()


@pytest.mark.parametrize(
    ("ports", "endpoints"),
    [
        ([{"name": "a", "port": 1, "targetPort": 2, "nodePort": 30000}], {"a": "30000"}),
        ([{"name": "a", "port": 1, "targetPort": 2, "nodePort": 0}], {"a": "2"}),
        ([{"name": "a", "port": 1, "targetPort": "http"}], {"a": "http"}),
        ([{"name": "a", "port": 1}], {"a": "1"}),
        ([{"port": 1, "targetPort": 2}], {}),
    ],
)
def test_8_1_endpoints(ports: list[Tree], endpoints: dict[str, str]) -> None:
    assert find_endpoints({"spec": {"ports": ports}}) == endpoints


def test_8_1_endpoints_are_never_removed() -> None:
    world = stable(cluster_tree())
    world.cluster["status"]["endpoints"]["old"] = "1"
    assert status_of(world)["endpoints"]["old"] == "1"


@pytest.mark.parametrize(
    ("cluster_ip", "service_ip"), [("None", "10.0.4.2"), ("10.96.0.7", "10.96.0.7"), (None, None), ("", None)]
)
def test_8_1_the_address_of_the_head_service(cluster_ip: str | None, service_ip: str | None) -> None:
    world = newborn(cluster_tree())
    world = world.edit_objects(
        lambda tree: merge_patch(tree, {"spec": {"clusterIP": cluster_ip}}) if tree["kind"] == "Service" else tree
    )
    status = status_if_any(world, Remembered(), is_blocked=False)
    assert (status["head"]["serviceIP"] if status else None) == service_ip


def twin_head(world: World) -> World:
    twin = copy_tree(world.pods(node_type="head")[0])
    twin["metadata"] |= {"name": "twin", "uid": "twin"}
    return world.add(twin)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.edit_objects(lambda tree: None if tree["kind"] == "Service" else tree),
        twin_head,
    ],
)
def test_8_1_without_one_head_and_one_service_nothing_is_said(change: Any) -> None:
    world = change(newborn(cluster_tree()))
    assert status_if_any(world, Remembered(), is_blocked=False) is None


OLD: Tree = {
    "state": "ready",
    "readyWorkerReplicas": 1,
    "availableWorkerReplicas": 1,
    "desiredWorkerReplicas": 1,
    "minWorkerReplicas": 1,
    "maxWorkerReplicas": 1,
    "desiredCPU": "1",
    "endpoints": {"a": "1"},
    "head": {"podIP": "10.0.0.1"},
    "conditions": [{"type": "HeadPodReady", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"}],
    "lastUpdateTime": "2027-01-15T08:00:00Z",
    "observedGeneration": 1,
    "stateTransitionTimes": {"ready": "2027-01-15T08:00:00Z"},
}


@pytest.mark.parametrize(
    ("change", "written"),
    [
        ({"state": "suspended"}, True),
        ({"reason": "x"}, True),
        ({"readyWorkerReplicas": 2}, True),
        ({"readyWorkerReplicas": None}, True),
        ({"availableWorkerReplicas": 2}, True),
        ({"desiredWorkerReplicas": 2}, True),
        ({"minWorkerReplicas": 2}, True),
        ({"maxWorkerReplicas": 2}, True),
        ({"desiredCPU": "2"}, True),
        ({"endpoints": {"b": "2"}}, True),
        ({"head": {"podIP": "10.0.0.2"}}, True),
        ({"conditions": []}, True),
        ({"conditions": [{**OLD["conditions"][0], "lastTransitionTime": "2027-01-15T09:00:00Z"}]}, True),
        ({"lastUpdateTime": "2027-01-15T09:00:00Z"}, False),
        ({"observedGeneration": 2}, True),
        ({"stateTransitionTimes": {"ready": "2027-01-15T09:00:00Z"}}, False),
        ({"reason": ""}, False),
        ({"head": {"serviceIP": ""}}, False),
        ({}, False),
    ],
)
def test_table_16_3_what_makes_a_status_worth_writing(change: Tree, *, written: bool) -> None:
    assert is_consistent(OLD, merge_patch(OLD, change)) is not written


@pytest.mark.parametrize(
    "edit",
    [{"upgradeStrategy": {"type": "Recreate"}}, {"suspend": False}, {"autoscalerOptions": {"idleTimeoutSeconds": 5}}],
)
def test_an_edit_that_changes_nothing_else_is_told_as_observed_once(edit: Tree) -> None:
    edited = stable(cluster_tree()).edit_spec(**edit)
    plan = plan_world(edited)
    assert plan.status is not None
    assert not plan.stages
    assert plan.status.status["observedGeneration"] == 2
    assert plan_world(apply_plan(edited, plan)).is_empty


def test_r8_22_a_written_status_is_looked_at_again_soon() -> None:
    assert plan_world(newborn(cluster_tree())).wake_after == 2
    assert plan_world(stable(cluster_tree())).wake_after == 300
    assert plan_world(stable(cluster_tree()), Settings(requeue_seconds=7)).wake_after == 7


def test_time_alone_changes_nothing() -> None:
    assert plan_world(stable(cluster_tree()).after(86400)).is_empty


def test_fields_of_the_status_that_are_not_ours_stay() -> None:
    world = stable(cluster_tree())
    world.cluster["status"]["somebodyElses"] = {"x": 1}
    world, _plans = run(world.edit_group(replicas=3))
    assert world.cluster["status"]["somebodyElses"] == {"x": 1}


def test_without_the_gate_there_are_no_conditions() -> None:
    world = stable(cluster_tree(), with_gates(RayClusterStatusConditions=False))
    assert "conditions" not in world.cluster["status"]
    assert world.cluster["status"]["state"] == "ready"


def test_v_t1_a_status_that_contradicts_itself_is_refused() -> None:
    world = stable(cluster_tree())
    for condition in world.cluster["status"]["conditions"]:
        condition["status"] = "True"
    plan = plan_world(world)
    assert plan.is_empty
    assert event_reasons(plan) == ["InvalidRayClusterStatus"]


def test_8_1_the_time_of_a_state_is_the_time_it_was_reached() -> None:
    world = stable(cluster_tree(group(replicas=1)))
    reached = world.cluster["status"]["stateTransitionTimes"]
    world, plans = run(world.after(60).edit_group(replicas=2))
    assert plans
    assert world.cluster["status"]["stateTransitionTimes"] == reached
    assert world.cluster["status"]["lastUpdateTime"] == "2027-01-15T08:01:00Z"
