"""Which Pods are beyond help, which keep their place, which go first."""

from typing import Any

import pytest

from heliostat.kube.pods import ContainerState, ContainerStatus, PodCondition, PodView, Running, Terminated, Waiting
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.raycluster.pod_health import Presence, presence_of, rank_victims, replica_index, why_unhealthy
from heliostat.plan.raycluster.reports import describe_end
from plan.worlds import NOW

TERMINATED = ContainerState(terminated=Terminated(exit_code=7, reason="Error"))
RUNNING = ContainerState(running=Running())
WAITING = ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))


def pod(phase: str, state: ContainerState | None, policy: str, **fields: Any) -> PodView:
    statuses = [ContainerStatus("sidecar", state=RUNNING)]
    if state is not None:
        statuses.append(ContainerStatus("ray", state=state, last_state=TERMINATED))
    return PodView(
        name="p",
        namespace="ns",
        phase=phase,
        restart_policy=policy,
        container_names=("ray", "sidecar"),
        container_statuses=tuple(statuses),
        **fields,
    )


@pytest.mark.parametrize(
    ("phase", "state", "policy", "deleted"),
    [
        ("Failed", None, "Always", True),
        ("Failed", RUNNING, "Never", True),
        ("Succeeded", TERMINATED, "OnFailure", True),
        ("Running", TERMINATED, "Never", True),
        ("Running", TERMINATED, "Always", False),
        ("Running", TERMINATED, "OnFailure", False),
        ("Running", TERMINATED, "", False),
        ("Running", RUNNING, "Never", False),
        ("Running", WAITING, "Never", False),
        ("Running", None, "Never", False),
        ("Pending", TERMINATED, "Never", False),
        ("Unknown", TERMINATED, "Never", False),
        ("", TERMINATED, "Never", False),
    ],
)
def test_table_5_2_which_pods_are_deleted(
    phase: str, state: ContainerState | None, policy: str, *, deleted: bool
) -> None:
    assert (why_unhealthy(pod(phase, state, policy)) is not None) is deleted


def test_5_2_the_ray_container_is_found_by_name_not_by_position() -> None:
    ended_sidecar = PodView(
        name="p",
        phase="Running",
        restart_policy="Never",
        container_names=("ray", "sidecar"),
        container_statuses=(ContainerStatus("sidecar", state=TERMINATED), ContainerStatus("ray", state=RUNNING)),
    )
    assert why_unhealthy(ended_sidecar) is None


def test_a_pod_without_containers_is_not_unhealthy() -> None:
    assert why_unhealthy(PodView(name="p", phase="Running", restart_policy="Never")) is None


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (RUNNING, "Ray container terminated status: nil"),
        (TERMINATED, "&ContainerStateTerminated{ExitCode:7,Signal:0,Reason:Error,"),
    ],
)
def test_r5_72_how_an_end_is_told(state: ContainerState, told: str) -> None:
    text = describe_end(pod("Running", state, "Never"))
    assert text.startswith("Pod status: Running; Pod restart policy: Never; ")
    assert told in text


@pytest.mark.parametrize(
    ("deleted_at", "presence"),
    [
        ("", Presence.STAYING),
        (format_timestamp(NOW + 30), Presence.LEAVING),
        (format_timestamp(NOW - 59), Presence.LEAVING),
        (format_timestamp(NOW - 60), Presence.STUCK),
        ("not a time", Presence.LEAVING),
    ],
)
def test_a_terminating_pod_keeps_its_place_until_it_is_stuck(deleted_at: str, presence: Presence) -> None:
    leaving = pod("Running", RUNNING, "Always", deletion_timestamp=deleted_at)
    assert presence_of(leaving, NOW, patience=60) is presence


@pytest.mark.parametrize(
    ("label", "index"), [("0", 0), ("12", 12), ("", None), ("-1", None), ("x", None), ("1.0", None), ("²", None)]
)
def test_r5_28_an_index_label_that_is_no_number_names_none(label: str, index: int | None) -> None:
    assert replica_index(PodView(name="p", labels={"ray.io/worker-group-replica-index": label})) == index


def test_victims_are_the_least_useful_then_the_youngest_then_the_highest_index() -> None:
    ready = (PodCondition("Ready", "True"),)

    def worker(name: str, age: int, index: str = "0", **fields: Any) -> PodView:
        created = format_timestamp(NOW - age)
        labels = {"ray.io/worker-group-replica-index": index}
        return PodView(name=name, creation_timestamp=created, labels=labels, **fields)

    pods = [
        worker("ready-old", 90, phase="Running", conditions=ready, node_name="n"),
        worker("ready-young", 10, phase="Running", conditions=ready, node_name="n"),
        worker("running-not-ready", 95, phase="Running", node_name="n"),
        worker("pending-on-node", 96, phase="Pending", node_name="n"),
        worker("pending-low", 50, "1", phase="Pending"),
        worker("pending-high", 50, "10", phase="Pending"),
    ]
    expected = [
        "pending-high", "pending-low", "pending-on-node", "running-not-ready", "ready-young", "ready-old",
    ]  # fmt: skip
    assert [victim.name for victim in rank_victims(pods)] == expected
    assert [victim.name for victim in rank_victims(pods[::-1])] == expected
