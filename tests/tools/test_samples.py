"""What is said about a sample: from its documents, from its objects and Pods, and on the page."""

import asyncio
from typing import Any

import pytest
from tools.run_samples import find_reconciled
from tools.samples.page import Row, build_page, read_rows
from tools.samples.verdicts import (
    ACCEPTED,
    CANNOT,
    NOT_YET,
    RUNS,
    UNTRIED,
    Tree,
    Verdict,
    find_reservations,
    judge_documents,
    judge_late,
    judge_objects,
    renew,
    tell_states,
)


def document(kind: str = "RayCluster", version: str = "ray.io/v1", **spec: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def pod(conditions: list[Tree] | None = None, containers: list[Tree] | None = None, **spec: Any) -> Tree:
    status = {"conditions": conditions or [], "containerStatuses": containers or []}
    return {"metadata": {"name": "p"}, "spec": spec, "status": status}


READY = pod([{"type": "Ready", "status": "True"}])
CLUSTER = {**document(), "status": {"state": "ready"}}


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]},
        {"containers": [{"resources": {"requests": {"google.com/tpu": "4"}}}]},
        {"template": {"metadata": {"annotations": {"gpu-fraction": "0.5"}}}},
    ],
)
def test_hardware_that_is_asked_for_is_the_reason_also_of_kinds_that_are_not_known_yet(spec: Tree) -> None:
    for kind in ("RayCluster", "RayJob"):
        verdict = judge_documents([document(kind, **spec)], {"RayCluster"})
        assert verdict is not None
        assert (verdict.here, verdict.why.partition(":")[0]) == (CANNOT, "hardware")


def test_a_kind_that_the_operator_does_not_reconcile_comes_later_and_says_what_else_it_needs() -> None:
    trees = [document("RayJob", runtimeEnvYAML='pip: ["requests"]\nworking_dir: "https://github.com/a/b.zip"')]
    verdict = judge_documents(trees, {"RayCluster"})
    why = "the operator does not reconcile RayJob yet; it fetches from github.com and packages by pip"
    assert verdict == Verdict(NOT_YET, why)
    assert judge_documents(trees, {"RayCluster", "RayJob"}) is None


def test_an_earlier_run_did_not_know_what_the_operator_has_learnt_since() -> None:
    trees = [document("RayJob", runtimeEnvYAML='pip: ["requests"]')]
    before = Verdict(NOT_YET, "the operator does not reconcile RayJob yet")
    assert renew(before, trees, ()) == before
    assert renew(before, trees, {"RayJob"}) == Verdict(UNTRIED, "it fetches packages by pip")
    assert renew(Verdict(RUNS), trees, {"RayJob"}) == Verdict(RUNS)


def test_services_of_the_cluster_are_not_elsewhere() -> None:
    trees = [document("RayJob", url="http://rayservice-serve-svc:8000/fruit", at="http://127.0.0.1:8265")]
    verdict = judge_documents(trees, ())
    assert verdict == Verdict(NOT_YET, "the operator does not reconcile RayJob yet")


async def _ask() -> set[str]:
    return find_reconciled()


def test_the_kinds_are_asked_of_the_operator_itself() -> None:
    assert asyncio.run(_ask()) == {"RayCluster", "RayJob", "RayService", "RayCronJob"}


def test_a_cluster_that_is_ready_with_all_its_pods_runs() -> None:
    assert judge_objects([CLUSTER], [READY]) == Verdict(RUNS)
    assert judge_objects([CLUSTER], [READY, pod()]) is None
    assert judge_objects([document()], [READY]) is None
    redis = {**document("StatefulSet", "apps/v1", replicas=1), "status": {"replicas": 1}}
    assert judge_objects([CLUSTER, redis], [READY]) is None


def test_a_rayjob_that_is_complete_runs_also_when_its_pods_are_gone() -> None:
    job = {**document("RayJob"), "status": {"jobDeploymentStatus": "Complete"}}
    assert judge_objects([job], []) == Verdict(RUNS)


@pytest.mark.parametrize(("code", "expected"), [(0, Verdict(RUNS)), (1, None)])
def test_a_head_whose_submitter_has_ended_well_is_never_ready_again(code: int, expected: Verdict | None) -> None:
    job = {**document("RayJob"), "status": {"jobDeploymentStatus": "Complete"}}
    submitter = {"name": "submitter", "ready": False, "state": {"terminated": {"exitCode": code}}}
    head = {"name": "head", "ready": True, "state": {"running": {}}}
    beside = pod() | {"status": {"phase": "Running", "containerStatuses": [head, submitter]}}
    assert judge_objects([job], [beside]) == expected


def test_a_raycronjob_runs_when_one_of_its_jobs_is_complete_although_the_next_has_begun() -> None:
    cron = {**document("RayCronJob"), "status": {"lastScheduleTime": "2027-01-15T08:00:00Z"}}
    next_one = {**document("RayJob"), "status": {"jobDeploymentStatus": "Initializing"}}
    assert judge_objects([cron, next_one], [pod()]) is None
    complete = {**document("RayJob"), "status": {"jobDeploymentStatus": "Complete"}}
    assert judge_objects([cron, complete, next_one], [pod()]) == Verdict(RUNS)


def test_a_program_that_is_written_to_run_for_longer_does_what_it_should() -> None:
    job = {**document("RayJob"), "status": {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}}
    assert judge_objects([job], [READY]) is None
    assert judge_late([job], 60.0) == Verdict(RUNS, "its program was left after 60 s")
    assert judge_late([{**job, "status": {"jobStatus": "PENDING"}}], 60.0) is None
    assert judge_late([CLUSTER], 60.0) is None


def test_a_raycronjob_whose_tick_is_far_is_only_kept() -> None:
    assert judge_late([document("RayCronJob")], 60.0) == Verdict(ACCEPTED, "its first job was not due within 60 s")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (
            {
                **document("RayJob"),
                "status": {"jobDeploymentStatus": "Failed", "message": "Job failed:\n\nno way\n"},
            },
            "Job failed: no way",
        ),
        ({**document("RayJob"), "status": {"jobDeploymentStatus": "Suspended"}}, "it stays suspended until"),
        (
            {
                **document("RayService"),
                "status": {
                    "pendingServiceStatus": {
                        "applicationStatuses": {"fruit": {"status": "DEPLOY_FAILED", "message": "no zip"}}
                    }
                },
            },
            "application fruit is DEPLOY_FAILED: no zip",
        ),
    ],
)
def test_what_is_over_says_why(found: Tree, why: str) -> None:
    verdict = judge_objects([found], [READY])
    assert verdict is not None
    assert verdict.here == CANNOT
    assert verdict.why.startswith(why)


def test_what_nothing_is_said_about_is_told_by_its_state() -> None:
    job = {**document("RayJob"), "status": {"jobDeploymentStatus": "Running", "jobStatus": "PENDING"}}
    assert tell_states([job, document("RayService"), CLUSTER]) == (
        "RayJob Running, PENDING; RayService without a state; RayCluster ready"
    )


def test_a_run_without_the_internet_says_so() -> None:
    assert "package registries at most" in build_page([], is_online=False)
    assert "package registries at most" not in build_page([])


def test_what_a_sample_asks_for_and_does_not_get_is_said_though_it_runs() -> None:
    gang = document(networkPolicy={"mode": "DenyAll"})
    gang["metadata"]["labels"] = {"ray.io/gang-scheduling-enabled": "true"}
    batch, policies = find_reservations([gang])
    assert "no batch scheduler" in batch
    assert "not enforced" in policies
    assert find_reservations([document()]) == []


def test_objects_without_pods_are_only_kept() -> None:
    verdict = judge_objects([document("Ingress", "networking.k8s.io/v1")], [])
    assert verdict is not None
    assert verdict.here == ACCEPTED


@pytest.mark.parametrize(
    ("found", "part"),
    [
        (pod([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]), "no node"),
        (pod(containers=[{"name": "c", "state": {"waiting": {"reason": "ErrImagePull"}}}]), "container c: ErrImage"),
        (
            pod(containers=[{"name": "c", "state": {"terminated": {"exitCode": 127}}}], restartPolicy="Never"),
            "container c exited with code 127",
        ),
        (pod(schedulerName="volcano"), "another scheduler: volcano"),
        (
            pod(containers=[{"name": "c", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]),
            "container c ends again and again",
        ),
    ],
)
def test_what_a_pod_waits_for_in_vain_is_the_reason(found: Tree, part: str) -> None:
    verdict = judge_objects([CLUSTER], [READY, found])
    assert verdict is not None
    assert verdict.here == CANNOT
    assert part in verdict.why


def test_a_page_is_read_back_as_it_was_written() -> None:
    rows = [Row("b.yaml", "RayCluster", Verdict(CANNOT, "a | b")), Row("a.yaml", "RayJob, Secret", Verdict(RUNS))]
    page = build_page(rows)
    assert "Of 2 files: 1 runs, 1 cannot." in page
    assert read_rows(page) == {row.file: row for row in rows}
    assert build_page(read_rows(page).values()) == page
