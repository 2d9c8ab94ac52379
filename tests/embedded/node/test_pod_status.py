"""The status of a Pod as kubelets report it: phases, container states, conditions."""

from typing import Any

import pytest

from embedded.node.pod_shapes import NOW, STARTED, UID, build_pod, container, ended, running, sidecar, situation
from heliostat.embedded.node.lifecycle import Health, Situation
from heliostat.embedded.node.statuses import Place, Trouble, build_status, decide_phase

PLACE = Place(host_address="10.0.0.1", pod_address="10.244.0.2")
DELETED = {"deletionTimestamp": "2023-11-14T22:13:50Z"}
UNREADY = Health(has_started=True, is_ready=False)


def status(where: Situation, place: Place = PLACE) -> dict[str, Any]:
    return build_status(where, place)


def state(where: Situation, place: Place = PLACE, name: str = "c") -> dict[str, Any]:
    found = status(where, place)
    statuses = [*found.get("initContainerStatuses", ()), *found["containerStatuses"]]
    return next(dict(each) for each in statuses if each["name"] == name)


def condition(where: Situation, type_: str) -> dict[str, Any]:
    return next(dict(each) for each in status(where)["conditions"] if each["type"] == type_)


@pytest.mark.parametrize(
    ("where", "phase"),
    [
        (situation(build_pod(), has_sandbox=False, was_prepared=False), "Pending"),
        (situation(build_pod()), "Pending"),
        (situation(build_pod(initContainers=[container("i")]), running("i")), "Pending"),
        (situation(build_pod(), running()), "Running"),
        (situation(build_pod(container("a"), container("b")), running("a")), "Pending"),
        (situation(build_pod(), running(), health={f"{UID}-c-0": Health(is_set_up=False)}), "Pending"),
        (situation(build_pod(), ended(code=1)), "Running"),
        (situation(build_pod(restartPolicy="OnFailure"), ended(code=1)), "Running"),
        (situation(build_pod(restartPolicy="OnFailure"), ended()), "Succeeded"),
        (situation(build_pod(restartPolicy="Never"), ended()), "Succeeded"),
        (situation(build_pod(restartPolicy="Never"), ended(code=2)), "Failed"),
        (situation(build_pod(restartPolicy="Never", initContainers=[container("i")]), ended("i", 1)), "Failed"),
        (situation(build_pod(initContainers=[container("i")]), ended("i", 1)), "Pending"),
        (situation(build_pod(metadata=DELETED), running()), "Running"),
        (situation(build_pod(metadata=DELETED), ended(code=143), has_sandbox=False), "Failed"),
        (situation(build_pod(metadata=DELETED), ended(code=0), has_sandbox=False), "Succeeded"),
        (situation(build_pod(status={"phase": "Failed"}), running()), "Failed"),
    ],
)
def test_the_phase(where: Situation, phase: str) -> None:
    assert decide_phase(where) == phase


def test_a_pod_past_its_deadline_has_failed_and_says_why() -> None:
    pod = build_pod(status={"startTime": STARTED, "phase": "Running"}, activeDeadlineSeconds=5)
    assert decide_phase(situation(pod, running(), now=NOW + 6)) == "Running"  # until it has stopped
    found = status(situation(pod, ended(code=143), now=NOW + 6))
    assert (found["phase"], found["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_running_container_is_ready_and_started() -> None:
    assert state(situation(build_pod(), running())) == {
        "name": "c",
        "image": "busybox",
        "imageID": "",
        "restartCount": 0,
        "ready": True,
        "started": True,
        "state": {"running": {"startedAt": STARTED}},
        "lastState": {},
        "containerID": f"heliostat://{UID}-c-0",
    }


def test_the_addresses_and_the_beginning_are_told() -> None:
    found = status(situation(build_pod(), running()))
    assert (found["podIP"], found["podIPs"]) == ("10.244.0.2", [{"ip": "10.244.0.2"}])
    assert (found["hostIP"], found["startTime"]) == ("10.0.0.1", "2023-11-14T22:13:21Z")


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (situation(build_pod()), "ContainerCreating"),
        (situation(build_pod(initContainers=[container("i")])), "PodInitializing"),
        (situation(build_pod(), running(), health={f"{UID}-c-0": Health(is_set_up=False)}), "ContainerCreating"),
    ],
)
def test_what_a_container_waits_for(where: Situation, reason: str) -> None:
    assert state(where)["state"] == {"waiting": {"reason": reason}}


def test_what_stands_in_the_way_is_told_for_its_container() -> None:
    place = Place(host_address="h", troubles={"c": Trouble("ErrImagePull", "no such entry")})
    assert state(situation(build_pod()), place)["state"] == {
        "waiting": {"reason": "ErrImagePull", "message": "no such entry"}
    }


def test_a_first_crash_is_terminated_and_a_second_one_backs_off() -> None:
    first = ended(code=3)
    assert state(situation(build_pod(), first))["state"]["terminated"]["exitCode"] == 3
    found = state(situation(build_pod(), first, ended(code=4, attempt=1, at=NOW + 1)))
    assert found["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 10s restarting failed container=c pod=p_default({UID})",
        }
    }
    assert found["lastState"]["terminated"]["exitCode"] == 4
    assert found["restartCount"] == 1


def test_after_a_restart_the_run_before_is_the_last_state() -> None:
    found = state(situation(build_pod(), ended(code=3), running(attempt=1, at=NOW + 1)))
    assert "running" in found["state"]
    assert found["lastState"]["terminated"]["exitCode"] == 3


@pytest.mark.parametrize(
    ("run", "killed", "expected"),
    [
        (ended(), False, "Completed"),
        (ended(code=1), False, "Error"),
        (ended(code=137), False, "Error"),
        (ended(code=137), True, "OOMKilled"),
        (ended(code=127, error="no such command"), False, "ContainerCannotRun"),
    ],
)
def test_why_a_container_has_ended(run: Any, killed: bool, expected: str) -> None:
    place = Place(host_address="h", killed_for_memory=frozenset([run.id]) if killed else frozenset())
    found = state(situation(build_pod(restartPolicy="Never"), run), place)
    assert found["state"]["terminated"]["reason"] == expected


def test_last_words_are_the_message() -> None:
    place = Place(host_address="h", messages={f"{UID}-c-0": "bye"})
    found = state(situation(build_pod(restartPolicy="Never"), ended(code=1)), place)
    assert found["state"]["terminated"]["message"] == "bye"


def test_an_init_container_that_succeeded_is_ready_and_not_started() -> None:
    found = state(situation(build_pod(initContainers=[container("i")]), ended("i"), running()), name="i")
    assert (found["ready"], found["started"], found["state"]["terminated"]["reason"]) == (True, False, "Completed")


@pytest.mark.parametrize(
    ("where", "type_", "expected"),
    [
        (situation(build_pod(), running()), "Ready", ("True", None)),
        (situation(build_pod(), running()), "ContainersReady", ("True", None)),
        (situation(build_pod(), running()), "Initialized", ("True", None)),
        (situation(build_pod(), running()), "PodReadyToStartContainers", ("True", None)),
        (situation(build_pod(), has_sandbox=False), "PodReadyToStartContainers", ("False", None)),
        (situation(build_pod(), running(), health={f"{UID}-c-0": UNREADY}), "Ready", ("False", "ContainersNotReady")),
        (situation(build_pod(initContainers=[container("i")])), "Initialized", ("False", "ContainersNotInitialized")),
        (situation(build_pod(restartPolicy="Never"), ended()), "Ready", ("False", "PodCompleted")),
        (situation(build_pod(restartPolicy="Never"), ended()), "Initialized", ("True", "PodCompleted")),
        (situation(build_pod(restartPolicy="Never"), ended(code=1)), "ContainersReady", ("False", "PodFailed")),
        (
            situation(build_pod(readinessGates=[{"conditionType": "x/gate"}]), running()),
            "Ready",
            ("False", "ReadinessGatesNotReady"),
        ),
    ],
)
def test_conditions(where: Situation, type_: str, expected: tuple[str, str | None]) -> None:
    found = condition(where, type_)
    assert (found["status"], found.get("reason")) == expected


def test_a_condition_names_the_containers_that_are_not_ready() -> None:
    where = situation(
        build_pod(container("a"), container("b")), running("a"), running("b"), health={f"{UID}-b-0": UNREADY}
    )
    assert condition(where, "Ready")["message"] == "containers with unready status: [b]"


def test_a_sidecar_that_is_not_ready_keeps_the_pod_from_being_so() -> None:
    where = situation(build_pod(initContainers=[sidecar("s")]), running("s"), running(), health={f"{UID}-s-0": UNREADY})
    assert condition(where, "Ready")["status"] == "False"


def test_a_transition_time_moves_only_with_its_status_and_conditions_of_others_stay() -> None:
    first = status(situation(build_pod(), running()))
    own = {"type": "x/gate", "status": "True"}
    pod = build_pod(status={**first, "conditions": [*first["conditions"], own]})
    again = status(situation(pod, running(), now=NOW + 100))
    assert [each for each in again["conditions"] if each["type"] != "x/gate"] == first["conditions"]
    assert own in again["conditions"]
    assert again["startTime"] == first["startTime"]
