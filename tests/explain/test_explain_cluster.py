"""The sentences that people get about a RayCluster, on worlds that the planner's own tests use."""

from collections.abc import Callable
from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, format_explanation
from heliostat.explain.raycluster.cluster import explain_cluster
from heliostat.explain.scene import OperatorPresence, Scene
from heliostat.kube.jsontree import merge_patch
from heliostat.plan.because import Hold
from plan.worlds import NAMESPACE, Tree, World, apply_plan, cluster_tree, group, plan_world, stable


def explain(world: World, *, operator: OperatorPresence = OperatorPresence.RUNNING, **scene: Any) -> Explanation:
    given = Scene(tree=world.cluster, objects=world.objects, operator=operator, now=world.now, **scene)
    return explain_cluster(given, Settings())


def head_of(world: World) -> str:
    return str(world.pods(node_type="head")[0]["metadata"]["name"])


def worker_of(world: World) -> str:
    return str(world.pods(node_type="worker")[0]["metadata"]["name"])


def pending(reason: str, message: str) -> Tree:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"spec": {"nodeName": None}, "status": {"phase": "Pending", "conditions": [condition], "podIP": None}}


def stuck(container: str, state: Tree, **status: Any) -> Tree:
    conditions = [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]
    statuses = [{"name": container, "ready": False, "state": state, **status}]
    return {"status": {"phase": "Running", "conditions": conditions, "containerStatuses": statuses}}


def warning(world: World, pod: str, reason: str, message: str, count: int = 1) -> Tree:
    uid = next(tree["metadata"]["uid"] for tree in world.objects if tree["metadata"]["name"] == pod)
    about = {"kind": "Pod", "name": pod, "namespace": NAMESPACE, "uid": uid}
    return {"type": "Warning", "reason": reason, "message": message, "count": count, "involvedObject": about}


def test_a_ready_cluster_says_what_runs_where() -> None:
    world = stable(cluster_tree(group(replicas=2)))
    told = explain(world)
    assert (told.is_ready, told.verdict) == (True, "is ready: 1 head and 2 workers")
    assert (told.sentences, told.steps) == ((), ())
    assert [row[0] for row in told.places] == ["GROUP", "headgroup", "g", "g"]
    assert {row[2] for row in told.places[1:]} == {"Ready"}


def test_without_an_operator_that_is_the_first_thing_to_say() -> None:
    told = explain(World(cluster_tree()), operator=OperatorPresence.ABSENT)
    assert not told.is_ready
    assert told.sentences[0].what == "no operator seems to be running"
    assert "heliostat up" in told.sentences[0].fix
    assert [step.split()[1] for step in told.steps] == ["Service", "Pod", "Pod"]


@pytest.mark.parametrize("operator", [OperatorPresence.RUNNING, OperatorPresence.UNKNOWN])
def test_an_operator_that_runs_or_may_run_is_not_called_missing(operator: OperatorPresence) -> None:
    told = explain(World(cluster_tree()), operator=operator)
    assert [sentence.what for sentence in told.sentences] == ["the operator has not created everything yet"]


def test_an_operator_with_nothing_to_do_is_not_missed() -> None:
    assert explain(stable(cluster_tree()), operator=OperatorPresence.ABSENT).is_ready


def test_pods_of_a_group_that_wait_for_the_same_are_told_together() -> None:
    world = stable(cluster_tree(group(replicas=3)))
    message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    for pod in world.pods(node_type="worker"):
        world = world.edit_pod(pod["metadata"]["name"], pending("Unschedulable", message))
    told = explain(world)
    assert told.verdict == "is not ready: 1 of 1 head and 0 of 3 workers are ready"
    (sentence,) = told.sentences
    assert sentence.what.endswith("and 2 more of group g are not ready: Unschedulable")
    assert sentence.why == message
    assert sentence.fix.startswith("ask for less in resources.requests")


def test_the_head_is_told_before_the_workers() -> None:
    world = stable(cluster_tree(group("a")))
    world = world.edit_pod(head_of(world), pending("Unschedulable", "no nodes available to schedule pods"))
    world = world.edit_pod(worker_of(world), pending("Unschedulable", "no nodes available to schedule pods"))
    first, second = explain(world).sentences
    assert "of group headgroup" in first.what
    assert "of group a" in second.what
    assert "heliostat up" in first.fix


CRASHED = {"exitCode": 1, "reason": "Error"}
KILLED = {"exitCode": 137, "reason": "OOMKilled"}
CONTAINER_CASES: list[tuple[str, Tree, str, str, str]] = [
    (
        "an image that nobody has",
        stuck("ray-worker", {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image nope"}}),
        "ImagePullBackOff",
        "container ray-worker: Back-off pulling image nope",
        "correct the image name and tag",
    ),
    (
        "an image that the local table lacks",
        stuck("ray-worker", {"waiting": {"reason": "ErrImagePull", "message": "add nope = … to images.toml"}}),
        "ErrImagePull",
        "images.toml",
        "add the lines that the message names to that images.toml",
    ),
    (
        "a program that ends again and again",
        stuck(
            "ray-worker",
            {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
            lastState={"terminated": CRASHED},
            restartCount=4,
        ),
        "CrashLoopBackOff",
        "container ray-worker last exited with code 1; it was restarted 4 times and is restarted with back-off",
        "read why it ended: heliostat logs {pod} -n ns --previous",
    ),
    (
        "a program that needs more memory",
        stuck(
            "ray-worker",
            {"waiting": {"reason": "CrashLoopBackOff"}},
            lastState={"terminated": KILLED},
            restartCount=2,
        ),
        "OOMKilled",
        "last exited with code 137 (OOMKilled)",
        "raise resources.limits.memory",
    ),
    (
        "a command that is not there",
        stuck("ray-worker", {"waiting": {"reason": "RunContainerError", "message": 'exec: "rai": not found'}}),
        "RunContainerError",
        "not found",
        "correct command and args",
    ),
    (
        "a Secret that is not there",
        stuck("ray-worker", {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}}),
        "CreateContainerConfigError",
        'secret "x" not found',
        "create the Secret",
    ),
]


@pytest.mark.parametrize(("patch", "reason", "why", "fix"), [case[1:] for case in CONTAINER_CASES],
                         ids=[case[0] for case in CONTAINER_CASES])  # fmt: skip
def test_what_a_container_says_comes_with_its_fix(patch: Tree, reason: str, why: str, fix: str) -> None:
    world = stable(cluster_tree())
    name = worker_of(world)
    (sentence,) = explain(world.edit_pod(name, patch)).sentences
    assert sentence.what == f"Pod {name} of group g is not ready: {reason}"
    assert why in sentence.why
    assert fix.format(pod=name) in sentence.fix


EVENT_CASES = [
    (stuck("ray-worker", {"running": {}}), "Unhealthy", "Readiness probe failed: 503", "raise failureThreshold"),
    (stuck("ray-worker", {"running": {}}), "Unhealthy", "Startup probe failed: refused", "give it more time"),
    (
        stuck("ray-worker", {"waiting": {"reason": "ContainerCreating"}}),
        "FailedMount",
        'configmap "settings" not found',
        "create the ConfigMap",
    ),
    (
        stuck("ray-worker", {"waiting": {"reason": "ContainerCreating"}}),
        "FailedCreatePodSandBox",
        "write: No space left on device",
        "free space on the node's disk",
    ),
]


@pytest.mark.parametrize(("patch", "reason", "message", "fix"), EVENT_CASES)
def test_a_vague_state_is_told_by_its_newest_warning(patch: Tree, reason: str, message: str, fix: str) -> None:
    world = stable(cluster_tree())
    name = worker_of(world)
    events = (warning(world, name, "BackOff", "unrelated"), warning(world, name, reason, message, count=7))
    (sentence,) = explain(world.edit_pod(name, patch), events=events).sentences
    assert sentence.what == f"Pod {name} of group g is not ready: {reason}"
    assert sentence.why.endswith(f"{message} (7 times)")
    assert fix in sentence.fix


def test_a_warning_about_a_former_pod_of_the_same_name_is_not_told() -> None:
    world = stable(cluster_tree())
    name = worker_of(world)
    event = merge_patch(warning(world, name, "Unhealthy", "old"), {"involvedObject": {"uid": "another"}})
    (sentence,) = explain(world.edit_pod(name, stuck("ray-worker", {"running": {}})), events=(event,)).sentences
    assert "old" not in sentence.why


def suspended() -> World:
    world = stable(cluster_tree()).edit_spec(suspend=True)
    for _ in range(4):
        world = apply_plan(world, plan_world(world))
    return world


VERDICTS: list[tuple[str, Callable[[], World], str]] = [
    ("suspended", suspended, "is suspended"),
    ("managed elsewhere", lambda: World(cluster_tree(managedBy="kueue.x-k8s.io/multikueue")), "is left to another"),
    (
        "refused",
        lambda: World(cluster_tree(group("g", minReplicas=5, maxReplicas=2, replicas=3))),
        "is refused",
    ),
    (
        "being deleted",
        lambda: stable(cluster_tree()).edit_metadata(deletionTimestamp="2027-01-15T08:00:00Z"),
        "is being deleted",
    ),
]


@pytest.mark.parametrize(("build", "verdict"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS])
def test_a_cluster_that_is_not_meant_to_run_says_what_it_is(build: Callable[[], World], verdict: str) -> None:
    told = explain(build())
    assert told.verdict.startswith(verdict)
    assert not told.is_ready
    assert all(sentence.fix for sentence in told.sentences)


def test_a_missing_service_account_is_named_with_its_end() -> None:
    tree = cluster_tree(enableInTreeAutoscaling=True)
    tree["spec"]["headGroupSpec"]["template"]["spec"]["serviceAccountName"] = "mine"
    sentence = explain(World(tree)).sentences[0]
    assert sentence.what == "the ServiceAccount that its Pods run as does not exist"
    assert "mine" in sentence.why
    assert sentence.fix == "this ends when ServiceAccount mine is created"


def test_a_kind_that_cannot_be_read_is_unknown_and_not_missing() -> None:
    world = stable(cluster_tree())
    told = explain(world, unread={"Service": "services is forbidden", "Pod": "pods is forbidden"})
    assert not told.is_ready
    assert told.steps == ()
    assert {"the Pods: pods is forbidden"} <= {sentence.why for sentence in told.sentences}


def condition(type_: str, reason: str, message: str) -> Tree:
    told = {"type": type_, "status": "True", "reason": reason, "message": message}
    return told | {"lastTransitionTime": "2027-01-15T08:00:00Z"}


STATUS_CASES = [
    (
        condition("ReplicaFailure", "FailedCreateHeadPod", "FailedCreateHeadPod\npods is forbidden: exceeded quota: q"),
        "the operator's last write failed: FailedCreateHeadPod",
        "raise the ResourceQuota",
    ),
    (
        condition("Hindered", "Forbidden", "create Service ns/x: nope; this ends when the role grants this right"),
        "the operator is blocked",
        "this ends when the role grants this right",
    ),
]


@pytest.mark.parametrize(("told", "what", "fix"), STATUS_CASES)
def test_what_only_the_operator_knows_is_taken_from_the_status(told: Tree, what: str, fix: str) -> None:
    tree = cluster_tree()
    (sentence,) = explain(World(tree | {"status": {"conditions": [told]}})).sentences
    assert sentence.what == what
    assert fix in sentence.fix


def test_a_spec_that_running_pods_do_not_follow_is_a_note() -> None:
    world = stable(stable(cluster_tree()).cluster)
    edited = world.edit_group(0, template={"spec": {"priorityClassName": "high"}})
    edited = apply_plan(edited, plan_world(edited))
    told = explain(edited)
    assert told.is_ready
    assert [note.what for note in told.notes] == ["the running Pods do not follow the spec"]


def test_the_autoscaler_at_its_limit_is_a_note() -> None:
    full = group("full", replicas=2, maxReplicas=2)
    told = explain(stable(cluster_tree(full, group("idle", replicas=0), enableInTreeAutoscaling=True)))
    assert told.is_ready
    assert [note.what for note in told.notes] == [
        "group full is at its maxReplicas of 2",
        "group idle has no workers now",
        "the autoscaler decides how many workers there are",
    ]
    assert told.notes[-1].fix == "its reasons: heliostat logs demo -n ns -c autoscaler"


def test_an_object_that_no_raycluster_can_be_is_refused_with_the_field() -> None:
    told = explain(World(merge_patch(cluster_tree(), {"spec": {"workerGroupSpecs": "none"}})))
    assert (told.verdict, told.is_ready) == ("is refused", False)
    assert "spec.workerGroupSpecs" in told.sentences[0].why


def test_a_pod_too_many_on_its_way_out_leaves_the_cluster_ready() -> None:
    world = stable(cluster_tree(group(replicas=2)))
    leaving = worker_of(world)
    world = world.edit_pod(leaving, {"metadata": {"deletionTimestamp": "2027-01-15T08:00:30Z"}}).edit_group(replicas=1)
    told = explain(world)
    assert (told.is_ready, told.sentences) == (True, ())
    assert told.notes[0].what == f"Pod {leaving} of group g is being deleted: Terminating"


def test_every_wait_has_a_meaning_of_its_own() -> None:
    assert all(hold.about.meaning for hold in Hold)
    assert len({hold.about.meaning for hold in Hold}) == len(Hold)


def test_the_text_has_a_line_for_each_part() -> None:
    world = stable(cluster_tree())
    name = worker_of(world)
    text = format_explanation(explain(world.edit_pod(name, pending("Unschedulable", "0/1 nodes:\n1 Insufficient cpu"))))
    head, *rest = text.splitlines()
    assert head == "RayCluster ns/demo is not ready: 1 of 1 head and 0 of 1 workers are ready"
    assert rest[1:4] == [
        f"1. Pod {name} of group g is not ready: Unschedulable",
        "   why: 0/1 nodes: 1 Insufficient cpu",
        "   fix: ask for less in resources.requests, stop other Pods, or add a node that has what is asked for",
    ]
    assert rest[5].split() == ["GROUP", "POD", "STATE", "NODE", "ADDRESS"]
