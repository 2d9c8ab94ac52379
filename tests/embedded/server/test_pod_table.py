"""Ages, and the columns of Pods: how many are ready, one word for the state, restarts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.server.inprocess import NOW
from embedded.server.rows import ago, resource, row
from heliostat.embedded.server.tables.durations import age, human_duration
from heliostat.embedded.server.tables.table import TablePrinter

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2.5, "<invalid>"), (-1.9, "0s"), (-0.5, "0s"), (0, "0s"), (0.9, "0s"), (119, "119s"),
        (120, "2m"), (121, "2m1s"), (599, "9m59s"), (600, "10m"), (659, "10m"), (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"), (3 * HOUR + MINUTE, "3h1m"), (8 * HOUR - 1, "7h59m"), (8 * HOUR + 30 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"), (2 * DAY, "2d"), (2 * DAY + HOUR, "2d1h"), (8 * DAY, "8d"), (8 * DAY + 5 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"), (2 * YEAR, "2y"), (2 * YEAR + DAY, "2y1d"), (8 * YEAR, "8y"),
        (9 * YEAR + 40 * DAY, "9y"),
    ],
)  # fmt: skip
def test_a_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("timestamp", "text"), [(None, "<unknown>"), ("", "<unknown>"), ("soon", "<invalid>"), (ago(61), "61s")]
)
def test_an_age_is_the_time_since_or_says_what_is_wrong(timestamp: str | None, text: str) -> None:
    assert age(timestamp, NOW) == text


@given(st.integers(min_value=0, max_value=20 * YEAR))
def test_a_longer_time_never_reads_as_a_much_shorter_one(seconds: int) -> None:
    units = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}
    text = human_duration(seconds)
    total, digits = 0, ""
    for letter in text:
        if letter in units:
            total, digits = total + int(digits) * units[letter], ""
        else:
            digits += letter
    assert 0 <= seconds - total < max(units[text[-1]], 1)


# Pods.

POD = resource("", "v1", "pods")
RUNNING = {"running": {"startedAt": ago(100)}}


def ended(code: int, reason: str = "", signal: int = 0, seconds: float = 50) -> dict[str, Any]:
    what = {"exitCode": code, "reason": reason, "signal": signal, "finishedAt": ago(seconds)}
    return {"terminated": {key: value for key, value in what.items() if value or key == "exitCode"}}


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason} if reason else {}}


def container(
    name: str, state: dict[str, Any], *, ready: bool = False, restarts: int = 0, last: Any = None, started: Any = None
) -> dict[str, Any]:
    status = {"name": name, "state": state, "ready": ready, "restartCount": restarts}
    return {**status, **({"lastState": last} if last else {}), **({"started": started} if started is not None else {})}


def pod(phase: str, *, main: Any = (), init: Any = (), conditions: Any = (), **spec: Any) -> dict[str, Any]:
    return {
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], **spec},
        "status": {
            "phase": phase,
            "containerStatuses": list(main),
            "initContainerStatuses": list(init),
            "conditions": [{"type": name, "status": status} for name, status in conditions],
        },
    }


FAILED_BEFORE = ended(1, "Error", seconds=200)
INITS = {"initContainers": [{"name": "i1"}, {"name": "i2"}]}
SIDECAR = {"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]}


@pytest.mark.parametrize(
    ("tree", "ready", "status", "restarts"),
    [
        (pod("Pending"), "0/2", "Pending", "0"),
        (
            pod("Running", main=[container("a", RUNNING, ready=True), container("b", RUNNING, ready=True)]),
            "2/2", "Running", "0",
        ),
        (
            pod("Running", main=[
                container("a", waiting("CrashLoopBackOff"), restarts=3, last=FAILED_BEFORE),
                container("b", RUNNING, ready=True, restarts=2, last=ended(1, seconds=4000)),
            ]),
            "1/2", "CrashLoopBackOff", "5 (3m20s ago)",
        ),
        (pod("Pending", main=[container("a", waiting(""))]), "0/2", "Pending", "0"),
        (pod("Succeeded", main=[container("a", ended(0, "Completed"))]), "0/2", "Completed", "0"),
        (
            pod("Failed", main=[container("a", ended(3)), container("b", ended(0, "Completed"))]),
            "0/2", "ExitCode:3", "0",
        ),
        (pod("Failed", main=[container("a", ended(137, signal=9))]), "0/2", "Signal:9", "0"),
        (
            pod("Running", main=[container("a", ended(0, "Completed")), container("b", RUNNING, ready=True)],
                conditions=[("Ready", "True")]),
            "1/2", "Running", "0",
        ),
        (
            pod("Running", main=[container("a", ended(0, "Completed")), container("b", RUNNING, ready=True)],
                conditions=[("Ready", "False")]),
            "1/2", "NotReady", "0",
        ),
        (
            pod("Pending", init=[container("i1", RUNNING), container("i2", waiting("PodInitializing"))],
                main=[container("a", waiting("PodInitializing"))], **INITS),
            "0/2", "Init:0/2", "0",
        ),
        (
            pod("Pending", init=[container("i1", ended(0, "Completed")), container("i2", RUNNING)], **INITS),
            "0/2", "Init:1/2", "0",
        ),
        (pod("Pending", init=[container("i1", ended(1, "Error"), restarts=2)], **INITS), "0/2", "Init:Error", "2"),
        (pod("Pending", init=[container("i1", ended(7), restarts=2)], **INITS), "0/2", "Init:ExitCode:7", "2"),
        (pod("Pending", init=[container("i1", ended(7, signal=11))], **INITS), "0/2", "Init:Signal:11", "0"),
        (
            pod("Pending", **INITS,
                init=[container("i1", waiting("CrashLoopBackOff"), restarts=5, last=FAILED_BEFORE)]),
            "0/2", "Init:CrashLoopBackOff", "5 (3m20s ago)",
        ),
        (
            pod("Running", **SIDECAR, conditions=[("Ready", "True"), ("Initialized", "True")],
                init=[container("s", RUNNING, ready=True, restarts=2, last=FAILED_BEFORE, started=True),
                      container("i", ended(0, "Completed"), restarts=1)],
                main=[container("a", RUNNING, ready=True, restarts=1), container("b", RUNNING, ready=True)]),
            "3/3", "Running", "3 (3m20s ago)",
        ),
        (
            pod("Pending", **SIDECAR,
                init=[container("s", RUNNING, ready=True, restarts=2, started=True),
                      container("i", RUNNING, restarts=1)]),
            "1/3", "Init:1/2", "3",
        ),
        (pod("Pending", init=[container("s", RUNNING, started=False)], **SIDECAR), "0/3", "Init:0/2", "0"),
        (
            pod("Running", **SIDECAR, conditions=[("Initialized", "True")],
                init=[container("s", waiting("CrashLoopBackOff"), restarts=4, started=False)],
                main=[container("a", RUNNING, ready=True), container("b", RUNNING, ready=True)]),
            "2/3", "Init:CrashLoopBackOff", "4",
        ),
    ],
)  # fmt: skip
def test_a_pod_says_in_one_word_how_it_is(tree: dict[str, Any], ready: str, status: str, restarts: str) -> None:
    cells = row(POD, tree)
    assert (cells["Ready"], cells["Status"], cells["Restarts"]) == (ready, status, restarts)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_a_pod_that_is_being_deleted(status: dict[str, str], text: str) -> None:
    tree = {"metadata": {"name": "x", "deletionTimestamp": ago(5)}, "spec": {"containers": []}, "status": status}
    assert row(POD, tree)["Status"] == text


def test_a_gated_pod_and_the_wide_columns() -> None:
    gated = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
    }
    assert row(POD, {"spec": {}, "status": gated})["Status"] == "SchedulingGated"
    gates = [{"conditionType": "x/a"}, {"conditionType": "x/b"}]
    conditions = [{"type": "x/a", "status": "True"}]
    cells = row(
        POD,
        {
            "spec": {"nodeName": "n1", "readinessGates": gates},
            "status": {"podIPs": [{"ip": "10.1.1.1"}], "nominatedNodeName": "n2", "conditions": conditions},
        },
    )
    wide = ("IP", "Node", "Nominated Node", "Readiness Gates")
    assert [cells[name] for name in wide] == ["10.1.1.1", "n1", "n2", "1/2"]
    assert [row(POD, {"spec": {}})[name] for name in wide] == ["<none>"] * 4


@pytest.mark.parametrize(("phase", "reason"), [("Succeeded", "Succeeded"), ("Failed", "Failed")])
def test_the_row_of_a_pod_that_is_over_says_so(phase: str, reason: str) -> None:
    tree = {"metadata": {"name": "x"}, "spec": {}, "status": {"phase": phase}}
    found = TablePrinter(POD, "Pod").build_row(tree, NOW)
    assert (found["conditions"][0]["type"], found["conditions"][0]["reason"]) == ("Completed", reason)
    running = TablePrinter(POD, "Pod").build_row({**tree, "status": {"phase": "Running"}}, NOW)
    assert "conditions" not in running
