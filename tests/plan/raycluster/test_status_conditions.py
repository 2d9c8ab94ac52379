"""Conditions of a RayCluster."""

from typing import Any

import pytest

from heliostat.kube.pods import ContainerState, ContainerStatus, PodCondition, PodView, Terminated, Waiting
from heliostat.plan.raycluster.situation import LastFailure
from heliostat.plan.raycluster.status_conditions import (
    ConditionInputs,
    are_all_running,
    head_pod_ready,
    next_conditions,
)
from heliostat.plan.raycluster.suspend import SUSPENDED, SUSPENDING

EARLIER, NOW = "2027-01-15T07:00:00Z", "2027-01-15T08:00:00Z"


def waiting(name: str, reason: str, message: str) -> ContainerStatus:
    return ContainerStatus(name, state=ContainerState(waiting=Waiting(reason, message)))


def ended(name: str, reason: str, message: str) -> ContainerStatus:
    return ContainerStatus(name, state=ContainerState(terminated=Terminated(reason=reason, message=message)))


def head(ready: PodCondition | None, *statuses: ContainerStatus) -> PodView:
    conditions = () if ready is None else (ready,)
    return PodView(name="head", phase="Running", conditions=conditions, container_statuses=statuses)


NOT_READY = PodCondition("Ready", "False", "ContainersNotReady", "m")


@pytest.mark.parametrize(
    ("pod", "status", "reason", "message"),
    [
        (None, "False", "HeadPodNotFound", "Head Pod not found"),
        (head(None), "False", "Unknown", ""),
        (head(PodCondition("Ready", "True")), "True", "HeadPodRunningAndReady", ""),
        (head(PodCondition("Ready", "True", "Because", "x")), "True", "Because", "x"),
        (head(PodCondition("Ready", "False")), "False", "Unknown", ""),
        (head(PodCondition("Ready", "Unknown", "NodeLost", "gone")), "Unknown", "NodeLost", "gone"),
        (head(NOT_READY), "False", "ContainersNotReady", "m"),
        (head(NOT_READY, waiting("ray", "ImagePullBackOff", "x")), "False", "ImagePullBackOff", "m; ray: x"),
        (
            head(NOT_READY, waiting("a", "BadColor", "too blue"), ended("b", "Crashed", "y")),
            "False",
            "BadColor",
            "m; a: too blue",
        ),
        (
            head(PodCondition("Ready", "False", "ContainersNotReady"), ended("c", "Crashed", "bash not found")),
            "False",
            "Crashed",
            "c: bash not found",
        ),
        (head(NOT_READY, ContainerStatus("ray", ready=True)), "False", "ContainersNotReady", "m"),
    ],
)
def test_table_head_pod_ready(pod: PodView | None, status: str, reason: str, message: str) -> None:
    assert head_pod_ready(pod) == {"type": "HeadPodReady", "status": status, "reason": reason, "message": message}


READY = (PodCondition("Ready", "True"),)


@pytest.mark.parametrize(
    ("pods", "all_running"),
    [
        ([], False),
        ([PodView(name="a", phase="Running", conditions=READY)], True),
        ([PodView(name="a", phase="Running")], True),
        ([PodView(name="a", phase="Running", conditions=(PodCondition("Ready", "False"),))], False),
        ([PodView(name="a", phase="Pending", conditions=READY)], False),
        ([PodView(name="a", phase="Running"), PodView(name="b", phase="Pending")], False),
    ],
)
def test_8_1_when_all_pods_run(pods: list[PodView], *, all_running: bool) -> None:
    assert are_all_running(pods) is all_running


def situation(**fields: Any) -> ConditionInputs:
    pods = [PodView(name="head", phase="Running", conditions=READY)]
    sound: dict[str, Any] = {
        "pods": pods,
        "head": pods[0],
        "failure": None,
        "is_blocked": False,
        "suspend": None,
        "has_any_pod": True,
    }
    return ConditionInputs(**(sound | fields))


def old(*conditions: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {"type": type_, "status": status, "reason": "Old", "message": "old", "lastTransitionTime": EARLIER}
        for type_, status in conditions
    ]


def brief(conditions: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(condition["type"], condition["status"]) for condition in conditions]


def test_r8_10_the_order_of_the_first_write() -> None:
    failing = situation(failure=LastFailure("FailedCreateHeadPod", "quota"))
    assert [type_ for type_, _status in brief(next_conditions([], failing, NOW))] == [
        "ReplicaFailure", "HeadPodReady", "RayClusterProvisioned", "RayClusterSuspended", "RayClusterSuspending",
    ]  # fmt: skip


def test_r8_10_a_time_changes_only_with_the_status() -> None:
    before = old(
        ("HeadPodReady", "True"), ("RayClusterProvisioned", "False"), (SUSPENDED, "False"), (SUSPENDING, "False")
    )
    after = {condition["type"]: condition for condition in next_conditions(before, situation(), NOW)}
    assert after["HeadPodReady"]["lastTransitionTime"] == EARLIER
    assert after["HeadPodReady"]["reason"] == "HeadPodRunningAndReady"
    assert after["RayClusterProvisioned"]["lastTransitionTime"] == NOW


@pytest.mark.parametrize(
    ("failure", "blocked", "shown"),
    [
        (LastFailure("FailedCreateHeadPod", "quota"), False, "FailedCreateHeadPod\nquota"),
        (LastFailure("", "conflict"), False, "old"),
        (None, True, "old"),
        (None, False, None),
    ],
)
def test_8_2_step_1_replica_failure(failure: LastFailure | None, *, blocked: bool, shown: str | None) -> None:
    after = next_conditions(old(("ReplicaFailure", "True")), situation(failure=failure, is_blocked=blocked), NOW)
    messages = [condition["message"] for condition in after if condition["type"] == "ReplicaFailure"]
    assert messages == ([] if shown is None else [shown])


def test_8_2_step_3_provisioned_once_stays_so() -> None:
    before = old(("RayClusterProvisioned", "True"))
    pending = [PodView(name="head", phase="Pending")]
    after = next_conditions(before, situation(pods=pending, head=pending[0]), NOW)
    assert ("RayClusterProvisioned", "True") in brief(after)


def test_8_2_step_3_a_suspended_cluster_is_not_provisioning() -> None:
    before = [*old(("RayClusterProvisioned", "False"), (SUSPENDED, "True"))]
    after = next_conditions(before, situation(pods=[], head=None, suspend=True, has_any_pod=False), NOW)
    assert after[0]["message"] == "old"


def test_8_2_step_4_a_completed_suspension_ends_provisioned() -> None:
    before = old(("RayClusterProvisioned", "True"), (SUSPENDED, "False"), (SUSPENDING, "True"))
    after = next_conditions(before, situation(pods=[], head=None, suspend=True, has_any_pod=False), NOW)
    found = {condition["type"]: condition for condition in after}
    assert found["RayClusterProvisioned"]["status"] == "False"
    assert found["RayClusterProvisioned"]["message"] == "RayCluster has been suspended"
    assert (found[SUSPENDED]["status"], found[SUSPENDING]["status"]) == ("True", "False")
