"""One reconcile as a value: whose cluster, accepted or not, known or not, and what is told."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.facts import UNKNOWN, Unknown
from heliostat.kube.lookups import ListedObjects
from heliostat.kube.plan import WriteStatus
from heliostat.plan.observing import ObservationError
from heliostat.plan.raycluster.cluster import plan_cluster
from heliostat.plan.raycluster.observed import ObservedCluster, observe_objects
from heliostat.plan.raycluster.situation import LastFailure, Remembered, Situation
from plan.worlds import (
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    creates,
    deletes,
    event_reasons,
    group,
    is_quiet,
    observe,
    own_conditions,
    plan_observed,
    plan_world,
    pod_template,
    run,
    settle,
    stable,
    wait_reasons,
)

NETWORK_POLICY_GATE = Settings(gates=Settings().gates | {"RayClusterNetworkPolicy": True})


@pytest.mark.parametrize("deletion", [None, "2027-01-15T08:00:00Z"])
def test_c11_a_cluster_that_is_managed_elsewhere_is_never_touched(deletion: str | None) -> None:
    metadata = {"finalizers": ["ray.io/gcs-ft-redis-cleanup-finalizer"]}
    tree = cluster_tree(managedBy="kueue.x-k8s.io/multikueue", networkPolicy={}, metadata=metadata)
    if deletion:
        tree["metadata"]["deletionTimestamp"] = deletion
    plan = plan_world(World(tree), NETWORK_POLICY_GATE)
    assert plan.is_empty
    assert not plan.events
    assert wait_reasons(plan) == ["ManagedElsewhere"]
    assert plan.wake_after is None


def test_managed_by_this_operator_is_ours() -> None:
    assert created_pods(plan_world(World(cluster_tree(managedBy="ray.io/kuberay-operator"))))


def test_r1_5_a_refused_spec_gets_the_event_and_a_wait_that_names_the_fix() -> None:
    plan = plan_world(stable(cluster_tree()).edit_group(minReplicas=5, maxReplicas=1))
    assert plan.is_empty
    assert [event.note for event in plan.events] == [
        "The RayCluster spec is invalid ns/demo: worker group g has minReplicas 5 greater than maxReplicas 1"
    ]
    (wait,) = plan.waits
    assert wait.reason == "Refused"
    assert "spec.workerGroupSpecs[0]" in wait.message
    assert wait.until
    assert plan.wake_after is None


@pytest.mark.parametrize(
    ("world", "reason", "note"),
    [
        (
            World(cluster_tree(metadata={"name": "a" * 54})),
            "InvalidRayClusterMetadata",
            f"The RayCluster metadata is invalid ns/{'a' * 54}: ",
        ),
        (
            World(
                cluster_tree(
                    upgradeStrategy={"type": "Recreate"},
                    metadata={"labels": {"ray.io/originated-from-crd": "RayJob"}},
                )
            ),
            "InvalidRayClusterSpec",
            "The RayCluster UpgradeStrategy is invalid ns/demo: ",
        ),
    ],
)
def test_14_1_the_frame_of_a_refusal(world: World, reason: str, note: str) -> None:
    (event,) = plan_world(world).events
    assert (event.type, event.reason, event.action) == ("Warning", reason, "Validate")
    assert event.note.startswith(note)


def test_the_autoscaler_v1_warning_is_told_at_every_pass_and_stops_nothing() -> None:
    worker = group(template=pod_template("ray-worker", restartPolicy="Always"))
    tree = cluster_tree(worker, enableInTreeAutoscaling=True, autoscalerOptions={"version": "v1"})
    world, _plans = run(World(tree))
    plan = plan_world(world)
    assert world.pods()
    assert event_reasons(plan) == ["InvalidRayClusterSpec"]
    assert plan.events[0].note.startswith("RayCluster spec warning ns/demo: ")


def with_unknown_pods(world: World) -> ObservedCluster:
    seen = observe(world)
    return ObservedCluster(cluster=seen.cluster, status=seen.status, pods=UNKNOWN, objects=seen.objects)


@pytest.mark.parametrize("spec", [{}, {"suspend": True}, {"workerGroupSpecs": []}])
def test_unknown_pods_nothing_is_created_deleted_or_said_of_them(spec: Tree) -> None:
    world = stable(cluster_tree())
    plan = plan_observed(with_unknown_pods(world.edit_spec(**spec)))
    assert is_quiet(plan, world)
    assert own_conditions(plan) == {"Hindered": "NotKnown"}
    assert "NotKnown" in wait_reasons(plan)


def test_unknown_pods_do_not_hold_up_what_does_not_depend_on_them() -> None:
    plan = plan_observed(with_unknown_pods(World(cluster_tree())))
    assert [action.object["kind"] for action in creates(plan)] == ["Service"]


def test_a_kind_that_was_never_read_is_unknown() -> None:
    seen = observe(World(cluster_tree()))
    blind = ObservedCluster(cluster=seen.cluster, status={}, pods=(), objects=ListedObjects())
    assert not creates(plan_observed(blind))


def test_r8_13_no_status_is_written_before_the_head_service_is_seen() -> None:
    first = plan_world(World(cluster_tree()))
    assert first.status is None
    assert created_pods(first)


def test_the_status_names_the_version_it_was_decided_from() -> None:
    world, plans = run(World(cluster_tree()))
    status = plans[-1].status
    assert isinstance(status, WriteStatus)
    assert status.uid == world.cluster["metadata"]["uid"]
    assert status.resource_version == "100"


def test_the_last_failure_is_told() -> None:
    plan = plan_world(
        stable(cluster_tree()), remembered=Remembered(failure=LastFailure("FailedCreateHeadPod", "quota exceeded"))
    )
    assert ("LastFailure", "quota exceeded") in [(wait.reason, wait.message) for wait in plan.waits]


def test_an_accepted_cluster_without_its_desired_objects_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="objects it should consist of"):
        plan_cluster(
            Situation(
                observed=observe(World(cluster_tree())),
                desired=None,
                settings=Settings(),
                remembered=Remembered(),
                now=0.0,
            )
        )


def test_why_a_pod_is_pending_is_part_of_the_plan() -> None:
    world = stable(cluster_tree(group(replicas=2)))
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    for pod in world.pods(group="g"):
        status = {"phase": "Pending", "conditions": [unschedulable], "containerStatuses": None}
        world = world.edit_pod(pod["metadata"]["name"], {"status": status})
    (wait,) = [wait for wait in plan_world(world).waits if wait.reason == "PodNotReady"]
    assert wait.message.endswith("and 1 more of group g: Unschedulable: 0/3 nodes")


def test_observe_objects_leaves_out_other_namespaces_and_other_clusters() -> None:
    world = stable(cluster_tree())
    elsewhere = [tree | {"metadata": tree["metadata"] | {"namespace": "other"}} for tree in world.objects]
    seen = observe_objects(world.cluster, elsewhere)
    assert seen.pods == ()
    assert seen.list_kind("Service") == ()
    relabelled = [
        tree | {"metadata": tree["metadata"] | {"labels": {"ray.io/cluster": "another"}}} for tree in world.objects
    ]
    assert observe_objects(world.cluster, relabelled).pods == ()


def test_observe_objects_takes_an_object_without_a_namespace_for_a_neighbour() -> None:
    world = stable(cluster_tree())
    bare = [
        tree | {"metadata": {key: value for key, value in tree["metadata"].items() if key != "namespace"}}
        for tree in world.objects
    ]
    seen = observe_objects(world.cluster, [*bare, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}])
    assert not isinstance(seen.pods, Unknown)
    assert len(seen.pods) == 2


def test_an_empty_uid_owns_nothing() -> None:
    world = stable(cluster_tree())
    anonymous = World(cluster_tree(metadata={"uid": ""}), world.objects, world.version)
    assert not deletes(plan_world(anonymous))
    assert observe(anonymous).own_pods == ()


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("a string", "an entry is not a Kubernetes object"),
        ({"kind": "Pod"}, "Pod is not a Kubernetes object: Object missing required field `apiVersion`"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": ["x"]}}, r"Pod p .*labels"),
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": 7}, r"Service s .*spec"),
        (
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "labels": {"ray.io/cluster": "demo"}},
                "status": {"phase": 5},
            },
            "Pod p is not a Pod: .*phase",
        ),
    ],
)
def test_an_entry_that_is_no_object_is_named(entry: Any, problem: str) -> None:
    with pytest.raises(ObservationError, match=problem):
        observe_objects(cluster_tree(), [entry])


def test_objects_that_a_person_wrote_need_no_uid_and_no_version() -> None:
    world = stable(cluster_tree(networkPolicy={}), NETWORK_POLICY_GATE).edit_group(replicas=0)
    lost = ("uid", "resourceVersion", "namespace", "creationTimestamp")
    bare = [
        tree | {"metadata": {key: value for key, value in tree["metadata"].items() if key not in lost}}
        for tree in world.objects
    ]
    plan = plan_observed(observe_objects(world.cluster, bare), NETWORK_POLICY_GATE)
    assert [str(action.ref).split("-")[0] for action in deletes(plan)] == ["Pod ns/demo"]


def test_8_1_a_cluster_with_something_in_its_way_does_not_become_ready() -> None:
    spec = cluster_tree()["spec"]["headGroupSpec"]
    spec["template"]["spec"]["serviceAccountName"] = "mine"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine"}}
    new = World(cluster_tree(headGroupSpec=spec, enableInTreeAutoscaling=True)).add(account)
    running = settle(apply_plan(new, plan_world(new)))
    blocked = running.edit_objects(lambda tree: None if tree["metadata"]["name"] == "mine" else tree)
    for world, state in ((running, "ready"), (blocked, None)):
        status = plan_world(world).status
        assert status is not None
        assert status.status.get("state") == state


@pytest.mark.parametrize(("seconds", "wake_after"), [(300, 300.0), (7, 7.0), (0, None), (-1, None)])
def test_constants_6_1_without_a_period_only_a_change_wakes_a_cluster(seconds: int, wake_after: float | None) -> None:
    world = stable(cluster_tree())
    assert plan_world(world, Settings(requeue_seconds=seconds)).wake_after == wake_after
