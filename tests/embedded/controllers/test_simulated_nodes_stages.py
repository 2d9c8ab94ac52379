"""One simulated Pod after the other: what its table lets it do, and when."""

from typing import Any

import msgspec
import pytest

from embedded.controllers.cluster_shapes import pod_tree
from embedded.controllers.simulated_life import NOON, SimulatedLife
from heliostat.embedded.controllers.nodes.conduct import ConductError, read_conduct
from heliostat.embedded.controllers.nodes.life import CREATING
from heliostat.embedded.controllers.nodes.stages import (
    ADMIT,
    DEFAULT_STAGES,
    FAST_STAGES,
    MAKE_READY,
    REMOVE,
    After,
    Stage,
    When,
)
from heliostat.embedded.controllers.nodes.steps import Later, next_step
from heliostat.embedded.controllers.views.pods import Pod


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {found["type"]: (found["status"], found.get("reason", "")) for found in status["conditions"]}


def test_a_plain_pod_is_created_then_ready() -> None:
    life = SimulatedLife()
    assert life.step() == ADMIT
    assert life.status["phase"] == "Pending"
    assert life.status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert conditions(life.status)["Ready"] == ("False", "ContainersNotReady")
    assert life.step() == MAKE_READY
    assert life.status["phase"] == "Running"
    assert life.status["podIP"] == "10.244.0.2"
    assert life.status["hostIP"] == "10.0.0.10"
    assert conditions(life.status) == {
        "PodReadyToStartContainers": ("True", ""),
        "Initialized": ("True", ""),
        "Ready": ("True", ""),
        "ContainersReady": ("True", ""),
        "PodScheduled": ("True", ""),
    }
    (container,) = life.status["containerStatuses"]
    assert container["ready"] is container["started"] is True
    assert container["state"] == {"running": {"startedAt": "2026-01-31T12:00:00Z"}}
    assert life.step() == "rest"


def test_messages_name_the_containers_that_are_not_ready() -> None:
    life = SimulatedLife(containers=[{"name": "ray"}, {"name": "side"}], initContainers=[{"name": "init"}])
    life.step()
    told = {found["type"]: found.get("message") for found in life.status["conditions"]}
    assert told["ContainersReady"] == "containers with unready status: [ray side]"
    assert told["Initialized"] == "containers with incomplete status: [init]"
    assert life.status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    life.step()
    (init,) = life.status["initContainerStatuses"]
    assert init["state"]["terminated"]["exitCode"] == 0
    assert conditions(life.status)["Initialized"] == ("True", "")


def test_sidecars_run_beside_and_end_with_the_pod() -> None:
    sidecar = {"name": "side", "restartPolicy": "Always"}
    life = SimulatedLife("succeed-after=1s", initContainers=[sidecar], restartPolicy="Never")
    life.run(2)
    assert "running" in life.status["initContainerStatuses"][0]["state"]
    life.now += 1
    life.step()
    assert "terminated" in life.status["initContainerStatuses"][0]["state"]


@pytest.mark.parametrize(
    ("asked", "policy", "phase", "reason", "code"),
    [
        ("succeed-after=5s", "Never", "Succeeded", "PodCompleted", 0),
        ("succeed-after=5s", "OnFailure", "Succeeded", "PodCompleted", 0),
        ("fail-after=5s", "Never", "Failed", "PodFailed", 1),
        ("fail-after=5s, exit-code=42", "Never", "Failed", "PodFailed", 42),
    ],
)
def test_a_pod_that_ends(asked: str, policy: str, phase: str, reason: str, code: int) -> None:
    life = SimulatedLife(asked, restartPolicy=policy)
    life.run(2)
    assert life.step() == 5.0
    life.now += 5.0
    life.step()
    assert life.status["phase"] == phase
    assert conditions(life.status)["Ready"] == ("False", reason)
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, "Completed" if code == 0 else "Error")
    assert (ended["startedAt"], ended["finishedAt"]) == ("2026-01-31T12:00:00Z", "2026-01-31T12:00:05Z")
    assert life.step() == "rest"


def test_a_crash_loop_backs_off_further_and_further() -> None:
    life = SimulatedLife("fail-after=1s", restartPolicy="OnFailure")
    life.run(2)
    waits = []
    for restart in range(8):
        assert life.status["containerStatuses"][0]["restartCount"] == restart
        life.now += 1.0
        life.step()
        waiting = life.status["containerStatuses"][0]["state"]["waiting"]
        assert waiting["reason"] == "CrashLoopBackOff"
        assert life.status["phase"] == "Running"
        wait = life.step()
        waits.append(wait if isinstance(wait, float) else 0.0)
        life.now += waits[-1]
        if waits[-1]:
            life.step()
    assert waits == [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    assert waiting["message"] == "back-off 5m0s restarting failed container=main pod=pod_default(uid-pod)"
    assert life.status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1


def test_a_pod_that_stays_pending() -> None:
    life = SimulatedLife("stay-pending")
    assert life.step() == ADMIT
    assert life.step() == "rest"
    assert life.status["phase"] == "Pending"


def test_a_pod_that_never_becomes_ready() -> None:
    life = SimulatedLife("never-ready")
    life.run(2)
    assert life.step() == "rest"
    assert life.status["phase"] == "Running"
    assert conditions(life.status)["Ready"] == ("False", "ContainersNotReady")


def test_a_pod_that_takes_its_time() -> None:
    life = SimulatedLife("start-after=3s, ready-after=7s, succeed-after=20s", restartPolicy="Never")
    life.step()
    assert life.step() == 3.0
    life.now += 3.0
    life.step()
    assert life.step() == 7.0
    life.now += 7.0
    life.step()
    assert conditions(life.status)["Ready"] == ("True", "")
    assert life.step() == 13.0


def test_eviction() -> None:
    life = SimulatedLife("evict-after=1s")
    life.run(2)
    life.now += 1.0
    life.step()
    assert (life.status["phase"], life.status["reason"]) == ("Failed", "Evicted")
    assert conditions(life.status)["DisruptionTarget"] == ("True", "TerminationByKubelet")


def test_the_deadline_of_the_pod_ends_it() -> None:
    life = SimulatedLife(activeDeadlineSeconds=30)
    life.run(2)
    assert life.step() == 30.0
    life.now += 30.0
    life.step()
    assert (life.status["phase"], life.status["reason"]) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize(("asked", "wait"), [("", 0.0), ("terminate-after=4s", 4.0), ("terminate-after=10m", 30.0)])
def test_a_pod_that_is_deleted_stops_within_its_grace_and_is_removed(asked: str, wait: float) -> None:
    life = SimulatedLife(asked)
    life.run(2)
    life.delete(grace=30)
    if wait:
        assert life.step() == wait
        life.now += wait
    life.step()
    assert life.status["phase"] == "Failed"
    assert life.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert life.step() == REMOVE


@pytest.mark.parametrize("steps", [0, 1])
def test_a_pod_that_never_ran_is_removed_at_once(steps: int) -> None:
    life = SimulatedLife()
    life.run(steps)
    life.delete(grace=30)
    assert life.step() == REMOVE


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_pod_that_is_stuck_terminating(steps: int) -> None:
    life = SimulatedLife("stuck-terminating")
    life.run(steps)
    life.delete(grace=1)
    life.now += 1000.0
    assert life.step() == "rest"


def test_readiness_gates_keep_a_pod_from_being_ready_until_they_hold() -> None:
    life = SimulatedLife(readinessGates=[{"conditionType": "example.com/gate"}])
    life.run(2)
    assert conditions(life.status)["Ready"] == ("False", "ReadinessGatesNotReady")
    assert conditions(life.status)["ContainersReady"] == ("True", "")
    assert life.step() == "rest"
    life.say_condition("example.com/gate", "True")
    assert life.step() == MAKE_READY
    assert conditions(life.status)["Ready"] == ("True", "")


def test_a_ready_pod_that_was_marked_unready_becomes_ready_again() -> None:
    life = SimulatedLife()
    life.run(2)
    life.say_condition("Ready", "False")
    assert life.step() == MAKE_READY
    assert conditions(life.status)["Ready"] == ("True", "")


def test_the_fast_table_needs_one_write() -> None:
    life = SimulatedLife(stages=FAST_STAGES)
    assert life.step() == MAKE_READY
    assert conditions(life.status)["Ready"] == ("True", "")
    life.delete(grace=30)
    assert life.step() == REMOVE


def test_tables_of_tests_choose_by_labels() -> None:
    slow = Stage("slow", When((CREATING,), labels={"group": "slow"}), MAKE_READY, After(60.0))
    quick = Stage("quick", When((CREATING,), labels={"group": "quick"}), MAKE_READY)
    table = (DEFAULT_STAGES[2], slow, quick)
    for group, expected in (("slow", 60.0), ("quick", MAKE_READY), ("other", "rest")):
        life = SimulatedLife(stages=table, labels={"group": group})
        life.step()
        assert life.step() == expected


def test_jitter_is_a_share_of_its_own() -> None:
    table = (Stage("start", When(("bound",)), MAKE_READY, After(2.0, jitter=10.0)),)
    tree = pod_tree("pod", nodeName="a")
    new = msgspec.convert(tree, Pod)
    assert next_step(new, NOON, table, read_conduct({}), lambda _stage: 0.5, NOON) == next_step(
        new, NOON, table, read_conduct({}), lambda _stage: 0.5, NOON
    )
    started = msgspec.convert({**tree, "status": {"phase": "Pending", "startTime": "2026-01-31T12:00:00Z"}}, Pod)
    table = (Stage("start", When((CREATING,)), MAKE_READY, After(2.0, jitter=10.0)),)
    step = next_step(started, NOON, table, read_conduct({}), lambda _stage: 0.5)
    assert step == Later("start", 7.0)


def test_delays_shorter_than_a_second_are_kept() -> None:
    """The API knows only whole seconds; when the Pod was seen says more."""
    started = pod_tree("pod", nodeName="a", status={"startTime": "2026-01-31T12:00:00Z"})
    new = msgspec.convert(started, Pod)
    conduct = read_conduct({"heliostat.dev/simulate": "start-after=500ms"})
    step = next_step(new, NOON + 0.9, DEFAULT_STAGES, conduct, seen_at=NOON + 0.9)
    assert isinstance(step, Later)
    assert step.seconds == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sleep=5s", "'sleep=5s' is not known"),
        ("succeed-after", "succeed-after= is not a duration; write it like succeed-after=5s"),
        ("succeed-after=5", "succeed-after=5 is not a duration"),
        ("exit-code=999", "exit-code=999 is not an exit code"),
        ("stay-pending=yes", "stay-pending takes no value"),
        ("succeed-after=1s,,", "'' is not known"),
    ],
)
def test_an_annotation_that_cannot_be_read_says_how_to_write_it(text: str, problem: str) -> None:
    with pytest.raises(ConductError) as found:
        read_conduct({"heliostat.dev/simulate": text})
    assert problem in str(found.value)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0), ("250ms", 0.25)])
def test_durations(text: str, seconds: float) -> None:
    conduct = read_conduct({"heliostat.dev/simulate": f" fail-after={text} , exit-code=2 "})
    assert conduct.value("fail-after") == seconds
    assert conduct.value("exit-code") == 2
