"""What a person sees of a RayService: its clusters side by side, and the line that tells what went wrong."""

from typing import Any

import pytest

from heliostat.local.service_progress import picture_service, plain_lines, table_lines

Tree = dict[str, Any]
TRACEBACK = (
    "Deploying app 'fruit' failed with exception:\nTraceback (most recent call last):\n  File x\nKeyError: 'price'\n"
)


def condition(type_: str, status: str, reason: str, message: str = "") -> Tree:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def applications(**states: str) -> Tree:
    return {
        name: {"status": state, "message": TRACEBACK if "FAILED" in state else ""} for name, state in states.items()
    }


def slot(name: str, apps: Tree | None = None, **fields: Any) -> Tree:
    return {"rayClusterName": name, "applicationStatuses": apps or {}, **fields}


def service(active: Tree, pending: Tree, *conditions: Tree, endpoints: int = 0) -> Tree:
    status = {
        "activeServiceStatus": active,
        "pendingServiceStatus": pending,
        "conditions": list(conditions),
        "numServeEndpoints": endpoints,
    }
    return {"metadata": {"name": "stand"}, "spec": {}, "status": status}


def pod(name: str) -> Tree:
    """One that no node has looked at yet."""
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "ray-head", "image": "x"}]},
        "status": {"phase": "Pending"},
    }


READY = condition("Ready", "True", "NonZeroServeEndpoints")
MOVES = condition("UpgradeInProgress", "True", "BothActivePendingClustersExist")


def test_a_service_that_is_new_says_so() -> None:
    picture = picture_service({"metadata": {"name": "stand"}}, {}, {})
    assert table_lines(picture) == plain_lines(picture) == ("… RayService stand: starts",)


def test_both_clusters_stand_beside_each_other_while_requests_move() -> None:
    tree = service(
        slot("stand-a", trafficRoutedPercent=75, targetCapacity=100),
        slot("stand-b", applications(fruit="RUNNING"), trafficRoutedPercent=25, targetCapacity=50),
        READY,
        MOVES,
        endpoints=2,
    )
    told = {"stand-a": {"fruit": {"status": "RUNNING"}, "old": {"status": "RUNNING"}}}
    picture = picture_service(tree, {}, {}, told)
    assert table_lines(picture) == (
        "… RayService stand: moves to stand-b; 2 Pods answer",
        "              active         pending",
        "  cluster     stand-a        stand-b",
        "  requests    75 %           25 %",
        "  capacity    100 %          50 %",
        "  Ray nodes   0 of 1 ready   0 of 1 ready",
        "  fruit       RUNNING        RUNNING",
        "  old         RUNNING        –",
    )
    first, second = plain_lines(picture)[1:]
    assert first.startswith("  … RayCluster stand-a (active): 75 % of the requests, capacity 100 %, 0 of 1 Ray nodes")
    assert first.endswith("; fruit RUNNING, old RUNNING")
    assert second.startswith("  … RayCluster stand-b (pending): 25 % of the requests, capacity 50 %")


def test_a_switch_at_once_sends_everything_to_the_active_cluster() -> None:
    picture = picture_service(service(slot("stand-a"), slot("stand-b"), READY, MOVES), {}, {})
    assert [(side.traffic, side.capacity) for side in picture.sides] == [(100, 100), (0, 100)]


def test_a_failed_application_is_told_with_the_line_that_matters() -> None:
    tree = service(slot("stand-a"), slot("stand-b", applications(fruit="DEPLOY_FAILED")), READY, MOVES)
    assert table_lines(picture_service(tree, {}, {}))[-1] == "  ✗ fruit on stand-b is DEPLOY_FAILED: KeyError: 'price'"


def test_names_too_long_for_a_terminal_keep_their_end() -> None:
    long = f"{'a' * 47}-bcdfg"
    row = table_lines(picture_service(service(slot(long), slot(long), READY, MOVES), {}, {}))[2]
    assert len(row) < 80
    assert row.endswith("a-bcdfg")


def test_a_pod_that_waits_is_told_and_one_that_leaves_does_not_count() -> None:
    waiting, leaving = pod("head"), pod("old")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    tree = service(slot("stand-a"), {}, condition("Ready", "False", "Initializing"))
    picture = picture_service(tree, {}, {"stand-a": [waiting, leaving]})
    assert [line for line in table_lines(picture) if "old" in line] == []
    assert any(line.startswith("  … head: ") for line in table_lines(picture))


@pytest.mark.parametrize(
    ("told", "mark"), [({"observedGeneration": 1}, "…"), ({"observedGeneration": 2}, "✓"), ({}, "✓")]
)
def test_an_edit_that_was_not_looked_at_yet_is_not_done(told: Tree, mark: str) -> None:
    tree = service(slot("stand-a", applications(fruit="RUNNING")), {}, READY, endpoints=1)
    tree["metadata"]["generation"] = 2
    tree["status"] |= told
    assert plain_lines(picture_service(tree, {}, {}))[0] == f"{mark} RayService stand: ready, 1 Pod answers requests"


def test_a_pod_that_cannot_be_made_is_told_with_its_cluster() -> None:
    failure = condition("ReplicaFailure", "True", "FailedCreateHeadPod", "FailedCreateHeadPod\nexceeded quota")
    clusters = {"stand-a": {"status": {"conditions": [failure]}}}
    tree = service({}, slot("stand-a"), condition("Ready", "False", "Initializing"))
    assert table_lines(picture_service(tree, clusters, {}))[-1] == "  ! stand-a: FailedCreateHeadPod: exceeded quota"


def test_a_refusal_and_a_time_out_are_marked_as_failures() -> None:
    refused = service({}, {}, condition("Ready", "False", "ValidationFailed", "the name is too long"))
    assert plain_lines(picture_service(refused, {}, {})) == (
        "✗ RayService stand: ValidationFailed: the name is too long",
    )


def test_what_a_deployment_says_is_shown_while_it_waits_and_instead_of_the_word_that_it_failed() -> None:
    waiting = {"status": "UPDATING", "message": "replicas wait: {'CPU': 64.0}"}
    app = {"status": "DEPLOYING", "message": "", "serveDeploymentStatuses": {"Fruit": waiting}}
    lines = plain_lines(picture_service(service(slot("stand-a", {"fruit": app}), {}, READY), {}, {}))
    assert "  … fruit on stand-a is DEPLOYING: deployment Fruit is UPDATING: replicas wait: {'CPU': 64.0}" in lines
    failed = {"status": "DEPLOY_FAILED", "message": "failed 3 times. Error:\nValueError: no weights"}
    said = "Failed to update the deployments ['Fruit']."
    app = {"status": "DEPLOY_FAILED", "message": said, "serveDeploymentStatuses": {"Fruit": failed}}
    lines = plain_lines(picture_service(service(slot("stand-a", {"fruit": app}), {}, READY), {}, {}))
    assert "  ✗ fruit on stand-a is DEPLOY_FAILED: ValueError: no weights" in lines
