"""How far a cluster is, in lines for a person: each Pod with its reason."""

from typing import Any

from heliostat.kube.image_versions import VERSION_MATCHES
from heliostat.local.progress import is_cluster_ready, view_cluster

Tree = dict[str, Any]


def cluster(generation: int = 1, **status: Any) -> Tree:
    return {"metadata": {"name": "demo", "generation": generation}, "status": status}


def pod(name: str, phase: str = "Pending", *, ready: bool = False, waiting: Tree | None = None) -> Tree:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    state = {"waiting": waiting} if waiting else {"running": {}}
    return {
        "metadata": {"name": name},
        "status": {
            "phase": phase,
            "conditions": [condition],
            "containerStatuses": [{"name": "ray", "ready": ready, "state": state}],
        },
    }


def test_ready_is_what_the_operator_says_of_this_spec() -> None:
    assert is_cluster_ready(cluster(2, state="ready", observedGeneration=2))
    assert not is_cluster_ready(cluster(3, state="ready", observedGeneration=2))
    assert not is_cluster_ready({"metadata": {"name": "demo"}})


def test_each_pod_tells_its_state_or_why_it_waits() -> None:
    stuck = {"reason": "ErrImagePull", "message": 'no entry of images.toml stands for the image "x"'}
    view = view_cluster(
        cluster(state="", desiredWorkerReplicas=1), [pod("head", "Running", ready=True), pod("worker", waiting=stuck)]
    )
    assert view.lines == (
        "… RayCluster demo: starting, 1 of 2 Ray nodes ready",
        "  ✓ head: ready",
        '  … worker: ErrImagePull: container ray: no entry of images.toml stands for the image "x"',
    )


def test_pods_that_run_another_version_than_their_image_says_are_told_in_one_line() -> None:
    differs = {"type": VERSION_MATCHES, "status": "False", "message": "2.52.0 is not 2.60.0"}
    pods = [pod(name, "Running", ready=True) for name in ("head", "worker")]
    for each in pods:
        each["status"]["conditions"].append(differs)
    assert view_cluster(cluster(), pods).lines[-2:] == ("  ✓ worker: ready", "  ! 2.52.0 is not 2.60.0")


def test_a_failure_of_the_operator_is_shown() -> None:
    failure = {"type": "ReplicaFailure", "status": "True", "message": "FailedCreateHeadPod\nexceeded quota"}
    assert "    FailedCreateHeadPod: exceeded quota" in view_cluster(cluster(conditions=[failure]), []).lines


def test_pods_of_the_same_file_are_shown_below_those_of_the_cluster() -> None:
    crashes = {"reason": "CrashLoopBackOff", "message": "back-off 10s"}
    view = view_cluster(cluster(), [pod("head", "Running", ready=True)], [pod("redis", waiting=crashes)])
    assert view.lines == (
        "… RayCluster demo: starting, 1 of 1 Ray nodes ready",
        "  ✓ head: ready",
        "  … redis: CrashLoopBackOff: container ray: back-off 10s",
    )


def test_a_pod_that_has_failed_is_not_shown_as_done() -> None:
    assert view_cluster(cluster(), [pod("head", "Failed")]).lines[-1] == "  ✗ head: failed"
