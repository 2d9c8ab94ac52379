"""Jobs from their first look to their end, by their statuses, conditions and events."""

from typing import Any

import pytest

from embedded.controllers.job_world import START, TRACKING, Process, World, drive, job_tree, settle, stages
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp

T0 = format_timestamp(START)


def begin(**spec: Any) -> tuple[World, Process]:
    world = World(job_tree(**spec))
    return world, Process(world)


def condition(world: World, type_: str) -> JsonObject:
    found: list[JsonObject] = [each for each in world.status["conditions"] if each["type"] == type_]
    assert len(found) == 1
    return found[0]


def notes(world: World) -> list[tuple[str, str]]:
    return [(event.reason, event.note) for event in world.events]


def test_one_pod_from_start_to_completion() -> None:
    world, process = begin()
    settle(process)
    (pod,) = world.pods
    assert world.status == {
        "startTime": T0,
        "active": 1,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    world.run(pod)
    settle(process)
    assert (world.status["active"], world.status["ready"]) == (1, 1)
    world.end(pod, "Succeeded")
    plan = process.look()
    assert list(stages(plan)) == ["record", "release"]
    assert world.status["uncountedTerminatedPods"] == {"succeeded": [pod["metadata"]["uid"]]}
    assert world.conditions() == {"SuccessCriteriaMet": "True"}
    settle(process)
    assert world.conditions() == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert condition(world, "Complete") == {
        "type": "Complete",
        "status": "True",
        "lastProbeTime": T0,
        "lastTransitionTime": T0,
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
    }
    assert world.status["succeeded"] == 1
    assert world.status["completionTime"] == T0
    assert world.status["uncountedTerminatedPods"] == {}
    name = pod["metadata"]["name"]
    assert notes(world) == [("SuccessfulCreate", f"Created pod: {name}"), ("Completed", "Job completed")]


def test_a_pod_is_made_from_the_template() -> None:
    template = {
        "metadata": {"labels": {"job": "work"}, "annotations": {"a": "b"}, "finalizers": ["own/one"]},
        "spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"},
    }
    world, process = begin(template=template)
    settle(process)
    (pod,) = world.pods
    assert pod["metadata"]["labels"] == {"job": "work"}
    assert pod["metadata"]["annotations"] == {"a": "b"}
    assert pod["metadata"]["finalizers"] == ["own/one", TRACKING]
    assert pod["metadata"]["generateName"] == "work-"
    assert pod["metadata"]["name"].startswith("work-")
    assert pod["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "work",
            "uid": "job-uid",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert pod["spec"] == template["spec"]
    world.end(pod, "Succeeded")
    settle(process)
    assert world.pods[0]["metadata"]["finalizers"] == ["own/one"]


def test_an_indexed_pod_knows_its_index() -> None:
    containers = [{"name": "c"}, {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "x"}]}]
    spec = {"initContainers": [{"name": "i"}], "containers": containers, "restartPolicy": "Never"}
    world, process = begin(completionMode="Indexed", completions=3, parallelism=3, template={"spec": spec})
    settle(process)
    pods = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod for pod in world.pods}
    assert sorted(pods) == ["0", "1", "2"]
    pod = pods["1"]
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "1"
    assert pod["metadata"]["generateName"] == "work-1-"
    assert pod["metadata"]["name"].startswith("work-1-")
    assert pod["spec"]["hostname"] == "work-1"
    source = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    assert pod["spec"]["initContainers"] == [{"name": "i", "env": [variable]}]
    assert pod["spec"]["containers"] == [{"name": "c", "env": [variable]}, containers[1]]


def test_failures_are_followed_by_a_growing_wait() -> None:
    world, process = begin()
    for wait in (10, 20, 40, 80, 160, 320):
        settle(process)
        (pod,) = world.active
        world.end(pod, "Failed")
        settle(process)
        assert not world.active
        plan = process.look()
        assert plan.wake_after == wait
        assert [found.reason for found in plan.waits] == ["BackOff"]
        world.now += wait
    settle(process)
    assert len(world.active) == 1
    world.end(world.active[0], "Failed")
    settle(process)
    assert condition(world, "Failed")["reason"] == "BackoffLimitExceeded"
    assert condition(world, "Failed")["message"] == "Job has reached the specified backoff limit"
    assert world.status["failed"] == 7
    assert "completionTime" not in world.status
    assert notes(world)[-1] == ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


def test_a_failure_whose_pod_is_gone_still_delays_the_next_pod() -> None:
    world, process = begin()
    settle(process)
    world.delete_pod(world.active[0])
    settle(process)
    assert not world.pods
    assert world.status["failed"] == 1
    assert process.look().wake_after == 10
    world.now += 10
    settle(process)
    assert len(world.active) == 1


def test_a_failing_job_stops_its_pods_and_counts_them_as_failed() -> None:
    world, process = begin(parallelism=3, completions=3, backoffLimit=0)
    settle(process)
    first, *others = world.pods
    for pod in others:
        world.run(pod)
    world.end(first, "Failed")
    plan = process.look()
    assert list(stages(plan)) == ["record", "release", "delete"]
    assert stages(plan)["delete"].needs == ("record", "release")
    assert world.conditions() == {"FailureTarget": "True"}
    process.look()
    assert world.status["terminating"] == 2
    assert "Failed" not in world.conditions()
    settle(process)
    assert world.conditions() == {"FailureTarget": "True", "Failed": "True"}
    assert world.status["failed"] == 3
    assert world.status["terminating"] == 0
    deleted = {note for reason, note in notes(world) if reason == "SuccessfulDelete"}
    assert deleted == {f"Deleted pod: {pod['metadata']['name']}" for pod in others}


def test_the_deadline_ends_a_job() -> None:
    world, process = begin(activeDeadlineSeconds=30)
    settle(process)
    assert process.look().wake_after == 30
    world.now += 30
    settle(process)
    assert condition(world, "Failed")["reason"] == "DeadlineExceeded"
    assert condition(world, "Failed")["message"] == "Job was active longer than specified deadline"
    assert notes(world)[-1] == ("DeadlineExceeded", "Job was active longer than specified deadline")


def test_suspending_removes_the_pods_uncounted_and_resuming_starts_anew() -> None:
    world, process = begin(parallelism=2, completions=2, activeDeadlineSeconds=100)
    settle(process)
    world.edit_job(suspend=True)
    settle(process)
    assert not world.pods
    assert world.status.get("failed", 0) == 0
    assert condition(world, "Suspended") == {
        "type": "Suspended",
        "status": "True",
        "lastProbeTime": T0,
        "lastTransitionTime": T0,
        "reason": "JobSuspended",
        "message": "Job suspended",
    }
    assert process.look().wake_after is None
    world.now += 50
    world.edit_job(suspend=False)
    settle(process)
    assert condition(world, "Suspended")["status"] == "False"
    assert condition(world, "Suspended")["reason"] == "JobResumed"
    assert world.status["startTime"] == format_timestamp(world.now)
    assert process.look().wake_after == 100
    assert len(world.active) == 2
    reasons = [reason for reason, _note in notes(world)]
    assert reasons.count("Suspended") == reasons.count("Resumed") == 1


def test_a_job_created_suspended_has_no_start() -> None:
    world, process = begin(suspend=True)
    settle(process)
    assert "startTime" not in world.status
    assert world.conditions() == {"Suspended": "True"}
    assert not world.pods


def test_fewer_parallel_pods_are_no_failures() -> None:
    world, process = begin(parallelism=4, completions=8)
    settle(process)
    running = world.pods[0]
    world.run(running)
    settle(process)
    world.edit_job(parallelism=1)
    plan = process.look()
    assert list(stages(plan)) == ["let go", "delete"]
    settle(process)
    assert [pod["metadata"]["name"] for pod in world.pods] == [running["metadata"]["name"]]
    assert world.status.get("failed", 0) == 0


def test_without_completions_one_success_is_enough_and_the_others_are_waited_for() -> None:
    world, process = begin(parallelism=2)
    settle(process)
    first, second = world.pods
    world.end(first, "Succeeded")
    settle(process)
    assert world.conditions() == {}
    assert len(world.active) == 1
    world.end(second, "Failed")
    settle(process)
    assert world.conditions() == {"SuccessCriteriaMet": "True", "Complete": "True"}


def test_no_completions_wanted_is_complete_at_once() -> None:
    world, process = begin(completions=0)
    settle(process)
    assert world.conditions() == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert not world.names


@pytest.mark.parametrize(
    ("policy", "during", "counted"),
    [("TerminatingOrFailed", 1, 1), ("Failed", 0, 0)],
)
def test_when_a_pod_that_was_asked_to_go_is_replaced(policy: str, during: int, counted: int) -> None:
    world, process = begin(podReplacementPolicy=policy)
    settle(process)
    world.delete_pod(world.pods[0])
    for _ in range(4):
        process.look()
    world.now += 15
    for _ in range(3):
        process.look()
    assert (len(world.active), world.status.get("failed", 0)) == (during, counted)
    assert world.status["terminating"] == 1
    settle(process)
    world.now += 15
    settle(process)
    assert (len(world.active), world.status["failed"], world.status["terminating"]) == (1, 1, 0)


def test_indexes_complete_one_by_one() -> None:
    world, process = begin(completionMode="Indexed", completions=5, parallelism=5)
    settle(process)
    for pod in world.pods:
        if pod["spec"]["hostname"] != "work-3":
            world.end(pod, "Succeeded")
    settle(process)
    assert world.status["completedIndexes"] == "0-2,4"
    assert world.status["succeeded"] == 4
    world.end(world.active[0], "Succeeded")
    settle(process)
    assert world.status["completedIndexes"] == "0-4"
    assert world.conditions()["Complete"] == "True"


def test_failures_per_index() -> None:
    world, process = begin(
        completionMode="Indexed", completions=2, parallelism=2, backoffLimitPerIndex=1, backoffLimit=2147483647
    )
    settle(process)
    assert world.status["failedIndexes"] == ""
    first = {pod["spec"]["hostname"]: pod for pod in world.pods}
    world.end(first["work-1"], "Succeeded")
    world.end(first["work-0"], "Failed")
    settle(process)
    assert process.look().wake_after == 10
    assert TRACKING in world.trees["Pod", first["work-0"]["metadata"]["name"]]["metadata"]["finalizers"]
    assert world.status.get("failed", 0) == 0
    world.now += 10
    settle(process)
    (second,) = world.active
    assert second["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    assert world.status["failed"] == 1
    world.end(second, "Failed")
    settle(process)
    assert (world.status["failedIndexes"], world.status["completedIndexes"]) == ("0", "1")
    assert condition(world, "Failed")["reason"] == "FailedIndexes"
    assert condition(world, "Failed")["message"] == "Job has failed indexes"
    assert world.status["failed"] == 2


def test_too_many_failed_indexes() -> None:
    world, process = begin(
        completionMode="Indexed",
        completions=4,
        parallelism=4,
        backoffLimitPerIndex=0,
        maxFailedIndexes=1,
        backoffLimit=2147483647,
    )
    settle(process)
    for pod in world.pods[:2]:
        world.end(pod, "Failed")
    settle(process)
    assert condition(world, "Failed")["reason"] == "MaxFailedIndexesExceeded"
    assert world.status["failedIndexes"] == "0,1"


def test_a_success_policy_ends_a_job_and_its_other_pods_are_no_failures() -> None:
    world, process = begin(
        completionMode="Indexed",
        completions=3,
        parallelism=3,
        successPolicy={"rules": [{"succeededIndexes": "2", "succeededCount": 1}]},
    )
    settle(process)
    for pod in world.pods:
        if pod["spec"]["hostname"] == "work-2":
            world.end(pod, "Succeeded")
        else:
            world.run(pod)
    settle(process)
    assert world.conditions() == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert condition(world, "Complete")["reason"] == "SuccessPolicy"
    assert condition(world, "Complete")["message"] == "Matched rules at index 0"
    assert world.status["succeeded"] == 1
    assert world.status.get("failed", 0) == 0


def test_a_failure_policy_ignores_and_fails() -> None:
    rules = [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]
    world, process = begin(podFailurePolicy={"rules": rules}, podReplacementPolicy="Failed", backoffLimit=0)
    settle(process)
    world.end(world.active[0], "Failed", 3)
    settle(process)
    assert world.status.get("failed", 0) == 0
    world.now += 10
    settle(process)
    (pod,) = world.active
    world.end(pod, "Failed", 42)
    settle(process)
    assert condition(world, "Failed")["reason"] == "PodFailurePolicy"
    message = (
        f"Container c for pod ns/{pod['metadata']['name']} failed with exit code 42 matching FailJob rule at index 1"
    )
    assert condition(world, "FailureTarget")["message"] == condition(world, "Failed")["message"] == message
    assert world.status["failed"] == 1


def test_restarts_spend_the_limit_of_pods_that_restart_themselves() -> None:
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "OnFailure"}}
    world, process = begin(template=template, backoffLimit=2)
    settle(process)
    for restarts, ends in ((1, False), (2, True)):
        statuses = [{"name": "c", "restartCount": restarts}]
        world.change_pod(world.pods[0], status={"phase": "Running", "containerStatuses": statuses})
        settle(process)
        assert ("Failed" in world.conditions()) == ends
    assert condition(world, "Failed")["reason"] == "BackoffLimitExceeded"


@pytest.mark.parametrize("ending", ["Succeeded", "Failed"])
def test_more_than_five_hundred_pods_are_counted_in_turns(ending: str) -> None:
    world, process = begin(parallelism=1200, completions=1200, backoffLimit=1199)
    settle(process)
    assert len(world.pods) == 1200
    for pod in world.pods:
        world.end(pod, ending)
    plan = process.look()
    assert len(stages(plan)["release"].actions) == 500
    settle(process)
    assert world.status["succeeded" if ending == "Succeeded" else "failed"] == 1200


def test_a_job_of_another_controller_is_left_alone() -> None:
    _world, process = begin(managedBy="example.com/queue")
    assert process.look().is_empty


def test_an_unknown_mode_is_told_and_nothing_else() -> None:
    world, process = begin(completionMode="Round")
    assert process.look().is_empty
    assert notes(world) == [("UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")]


def test_a_job_on_its_way_out_lets_its_pods_go() -> None:
    world, process = begin(parallelism=2, completions=2)
    settle(process)
    world.trees["Job", "work"]["metadata"]["deletionTimestamp"] = T0
    world.edit_job()
    settle(process)
    assert len(world.pods) == 2
    assert all(not pod["metadata"].get("finalizers") for pod in world.pods)
    assert "failed" not in world.status


def test_a_job_that_is_over_lets_the_last_finalizers_go_and_writes_nothing_else() -> None:
    world, process = begin()
    drive(process, lambda _pod: "Succeeded")
    before = world.status
    world.change_pod(world.pods[0], metadata={"finalizers": [TRACKING]})
    settle(process)
    assert not world.pods[0]["metadata"].get("finalizers")
    assert world.status == before


def test_more_successes_than_wanted_are_told() -> None:
    world, process = begin(completions=2, parallelism=2)
    settle(process)
    for pod in world.pods:
        world.end(pod, "Succeeded")
    world.edit_job(completions=1)
    settle(process)
    assert [reason for reason, _note in notes(world)][-2:] == ["TooManySucceededPods", "Completed"]
