"""Pod facts from a slim view."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.pods import (
    PodError,
    PodView,
    Terminated,
    container_status,
    is_ready,
    is_running,
    is_terminal,
    is_terminating,
    ready_condition,
    view_pod,
    why_waiting,
)


def pod(status: dict[str, Any], **metadata: Any) -> PodView:
    return view_pod({"metadata": {"name": "p", **metadata}, "status": status})


def container(name: str, *, ready: bool = False, **state: Any) -> dict[str, Any]:
    return {"name": name, "ready": ready, "state": state}


FULL = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "d",
        "uid": "u",
        "resourceVersion": "12",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "ownerReferences": [{"uid": "x", "kind": "Y"}, {"uid": "owner", "controller": True}],
        "managedFields": [{"anything": 1}],
    },
    "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "ray", "image": "i"}, {"name": "s"}]},
    "status": {
        "phase": "Running",
        "reason": "r",
        "message": "m",
        "podIP": "10.0.0.1",
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
        "containerStatuses": [
            {
                "name": "ray",
                "ready": True,
                "restartCount": 2,
                "state": {
                    "terminated": {"exitCode": 137, "reason": "OOMKilled", "containerID": "c1", "finishedAt": "t"}
                },
            }
        ],
        "initContainerStatuses": [{"name": "wait", "state": {"running": {"startedAt": "t"}}}],
    },
}


def test_the_view_has_every_fact_and_nothing_else() -> None:
    view = view_pod(FULL)
    assert (view.name, view.namespace, view.uid, view.resource_version) == ("p", "d", "u", "12")
    assert view.creation_timestamp < view.deletion_timestamp
    assert (view.labels, view.annotations, view.controller_uid) == ({"a": "b"}, {"c": "d"}, "owner")
    assert (view.restart_policy, view.node_name, view.container_names) == ("Never", "n", ("ray", "s"))
    assert (view.phase, view.reason, view.message, view.pod_ip) == ("Running", "r", "m", "10.0.0.1")
    status = container_status(view, "ray")
    assert status is not None
    assert (status.ready, status.restart_count) == (True, 2)
    assert status.state.terminated == Terminated(exit_code=137, reason="OOMKilled", container_id="c1", finished_at="t")
    assert container_status(view, "s") is None
    assert view.init_container_statuses[0].state.running is not None


EMPTY = {"metadata": {"name": "p"}}


@pytest.mark.parametrize(
    "tree",
    [
        EMPTY,
        {"metadata": {"name": "p", "labels": None, "deletionTimestamp": None, "ownerReferences": None}, "spec": None},
        {"metadata": {"name": "p"}, "status": {"conditions": None, "containerStatuses": [None], "phase": None}},
    ],
)
def test_absent_and_null_are_the_same(tree: dict[str, Any]) -> None:
    assert view_pod(tree) == PodView(name="p") == view_pod(EMPTY)


def test_a_null_inside_a_status_is_absent() -> None:
    view = pod({"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": None}}, "lastState": None}]})
    status = container_status(view, "a")
    assert status is not None
    assert status.state.waiting is not None
    assert status.state.waiting.reason == ""


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ("pod", "object"),
        ({"metadata": {"labels": ["a"]}}, "$.metadata.labels"),
        ({"metadata": {"labels": {"a": 1}}}, "$.metadata.labels"),
        ({"status": {"phase": 1}}, "$.status.phase"),
        ({"status": {"containerStatuses": [{"ready": True}]}}, "$.status.containerStatuses[0]"),
    ],
)
def test_wrong_types_are_named(tree: Any, place: str) -> None:
    with pytest.raises(PodError) as caught:
        view_pod(tree)
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("phase", "running", "terminal"),
    [
        ("Pending", False, False),
        ("Running", True, False),
        ("Succeeded", False, True),
        ("Failed", False, True),
        ("", False, False),
    ],
)
def test_phases(phase: str, running: bool, terminal: bool) -> None:
    view = pod({"phase": phase})
    assert (is_running(view), is_terminal(view)) == (running, terminal)


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False), (None, False)])
def test_ready_is_what_the_condition_says(status: str | None, ready: bool) -> None:
    view = pod({"conditions": [{"type": "Ready", "status": status}] if status else []})
    assert is_ready(view) is ready
    assert (ready_condition(view) is None) is (status is None)


def test_terminating_is_a_deletion_timestamp() -> None:
    assert is_terminating(pod({}, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not is_terminating(pod({}))


SCHEDULED = {"type": "PodScheduled", "status": "True"}
INITIALIZED = {"type": "Initialized", "status": "True"}
NOT_READY = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate x"}


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        ({}, "Pending", "no node has reported"),
        (
            {
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
                ]
            },
            "Unschedulable",
            "0/3 nodes",
        ),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
            "SchedulingGated",
            "no node",
        ),
        (
            {"initContainerStatuses": [container("i", waiting={"reason": "ImagePullBackOff", "message": "no image"})]},
            "ImagePullBackOff",
            "init container i: no image",
        ),
        (
            {"initContainerStatuses": [container("i", terminated={"exitCode": 3})]},
            "Error",
            "init container i exited with code 3",
        ),
        (
            {
                "initContainerStatuses": [container("i", terminated={"exitCode": 0}), container("j", running={})],
                "containerStatuses": [container("a", waiting={"reason": "PodInitializing"})],
            },
            "Initializing",
            "init container j is still running",
        ),
        (
            {
                "conditions": [SCHEDULED, INITIALIZED],
                "initContainerStatuses": [container("sidecar", running={})],
                "containerStatuses": [container("a", waiting={"reason": "ErrImagePull", "message": "denied"})],
            },
            "ErrImagePull",
            "container a: denied",
        ),
        (
            {
                "containerStatuses": [
                    container("a", ready=True, running={}),
                    container("b", waiting={"reason": "ContainerCreating"}),
                ]
            },
            "ContainerCreating",
            "container b is waiting",
        ),
        (
            {
                "containerStatuses": [
                    container("a", waiting={"reason": "ContainerCreating"}),
                    container("b", waiting={"reason": "CrashLoopBackOff", "message": "back-off 5m"}),
                ]
            },
            "CrashLoopBackOff",
            "container b: back-off 5m",
        ),
        (
            {
                "containerStatuses": [
                    container("a", running={}),
                    container("b", terminated={"exitCode": 137, "reason": "OOMKilled"}),
                ]
            },
            "OOMKilled",
            "container b exited with code 137",
        ),
        (
            {"containerStatuses": [container("a", terminated={"exitCode": 0})]},
            "Completed",
            "container a exited with code 0",
        ),
        (
            {"containerStatuses": [container("a", terminated={"exitCode": 1, "message": "boom"})]},
            "Error",
            "exited with code 1: boom",
        ),
        (
            {"containerStatuses": [container("a", running={})]},
            "ContainersNotReady",
            "container a is running but not ready",
        ),
        ({"containerStatuses": [container("a", waiting={})]}, "ContainerCreating", "container a is waiting"),
        (
            {"containerStatuses": [container("a", ready=True, running={})], "conditions": [NOT_READY]},
            "ReadinessGatesNotReady",
            "gate x",
        ),
        ({"phase": "Pending", "reason": "NodeLost", "message": "gone"}, "NodeLost", "gone"),
    ],
)
def test_why_a_pod_waits(status: dict[str, Any], reason: str, words: str) -> None:
    why = why_waiting(pod(status))
    assert why is not None
    assert why[0] == reason
    assert words in why[1]


def test_a_deleted_pod_waits_for_its_end_and_a_ready_or_finished_one_for_nothing() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    why = why_waiting(pod(ready, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert why is not None
    assert why[0] == "Terminating"
    assert why_waiting(pod(ready)) is None
    assert why_waiting(pod({"phase": "Succeeded"})) is None
    assert why_waiting(pod({"phase": "Failed"}, deletionTimestamp="2026-01-01T00:00:00Z")) is None


states = st.fixed_dictionaries(
    {},
    optional={
        "waiting": st.fixed_dictionaries({}, optional={"reason": st.sampled_from(["", "X", "ContainerCreating"])}),
        "running": st.just({}),
        "terminated": st.fixed_dictionaries({"exitCode": st.integers(0, 2)}),
    },
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "phase": st.sampled_from(["Pending", "Running", "Failed", "Succeeded", "Unknown"]),
        "conditions": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(["Ready", "PodScheduled", "Initialized"]),
                    "status": st.sampled_from(["True", "False"]),
                }
            ),
            max_size=3,
        ),
        "containerStatuses": st.lists(st.builds(container, st.sampled_from("ab"), ready=st.booleans()), max_size=2),
        "initContainerStatuses": st.lists(st.fixed_dictionaries({"name": st.just("i"), "state": states}), max_size=2),
    },
)


@given(statuses)
def test_law_a_pod_that_is_neither_ready_nor_over_says_why(status: dict[str, Any]) -> None:
    view = pod(status)
    why = why_waiting(view)
    assert (why is None) == (is_ready(view) or is_terminal(view))
    assert why is None or all(why)
