"""The finalizer, and the way out of a cluster whose state lives in Redis."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.raycluster import ObjectMeta
from heliostat.api.settings import Settings
from heliostat.kube.facts import UNKNOWN
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.lookups import JOB
from heliostat.kube.problems import Problem
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.because import Because
from heliostat.plan.kind import UNKNOWN_POLL
from heliostat.plan.own_conditions import Hindrance
from heliostat.plan.raycluster.deletion import (
    COLLECTING,
    FINALIZER,
    JobState,
    Step,
    decide_cleanup,
    deletion_timeout,
    format_seconds,
    is_job_finished,
)
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.situation import Remembered
from plan.worlds import (
    NOW,
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    creates,
    deletes,
    event_reasons,
    group,
    observe,
    own_conditions,
    owned,
    patches,
    plan_observed,
    plan_world,
    run,
    settle,
    stable,
    told,
    unread,
    wait_reasons,
)

REDIS = {"redisAddress": "redis:6379"}
LET_GO: Tree = {"metadata": {"ownerReferences": None}}
DELETED = {"deletionTimestamp": format_timestamp(NOW), "deletionGracePeriodSeconds": 0}


def redis_tree(**metadata: Any) -> Tree:
    return cluster_tree(group(replicas=1), gcsFaultToleranceOptions=REDIS, metadata=metadata)


def deleted(world: World) -> World:
    return world.edit_metadata(**DELETED)


def finalizers(world: World) -> list[str]:
    return world.cluster["metadata"].get("finalizers") or []


def finish_job(world: World, condition: str = "Complete") -> World:
    status = {"conditions": [{"type": condition, "status": "True"}]}
    return world.edit_objects(lambda tree: tree | {"status": status} if tree["kind"] == "Job" else tree)


def test_r3_4_the_finalizer_comes_before_any_pod() -> None:
    plan = plan_world(World(redis_tree()))
    (patch,) = patches(plan)
    assert patch.changes == {"metadata": {"finalizers": [FINALIZER]}}
    assert plan.status is None, "the patch moves the version that a status write would name"
    pod_stages = [stage for stage in plan.stages if stage.name in ("head-pod", "workers/g")]
    assert len(pod_stages) == 2
    assert all("finalizer" in stage.needs for stage in pod_stages)


@pytest.mark.parametrize(
    ("spec", "annotations", "settings", "pledged"),
    [
        ({"gcsFaultToleranceOptions": REDIS}, {}, Settings(), True),
        ({}, {"ray.io/ft-enabled": "TRUE"}, Settings(), True),
        ({}, {"ray.io/ft-enabled": "false"}, Settings(), False),
        ({}, {}, Settings(), False),
        ({"gcsFaultToleranceOptions": REDIS}, {}, Settings(redis_cleanup=False), False),
    ],
)
def test_r3_3_who_pledges_a_cleanup(spec: Tree, annotations: Tree, settings: Settings, *, pledged: bool) -> None:
    world = stable(cluster_tree(metadata={"annotations": annotations}, **spec), settings)
    assert finalizers(world) == ([FINALIZER] if pledged else [])


@pytest.mark.parametrize(
    ("has_head", "is_timed_out", "is_collecting", "job", "step"),
    [
        (True, False, False, JobState.NONE, Step.WAIT_FOR_HEAD),
        (True, True, False, JobState.FINISHED, Step.WAIT_FOR_HEAD),
        (False, True, False, JobState.NONE, Step.FORCE),
        (False, True, False, JobState.FINISHED, Step.FORCE),
        (False, False, False, JobState.NONE, Step.START_JOB),
        (False, False, False, JobState.RUNNING, Step.WAIT_FOR_JOB),
        (False, False, False, JobState.FINISHED, Step.RELEASE),
        (True, True, False, JobState.UNKNOWN, Step.WAIT_FOR_HEAD),
        (False, True, False, JobState.UNKNOWN, Step.FORCE),
        (False, False, False, JobState.UNKNOWN, Step.WAIT_FOR_SIGHT),
        (True, False, True, JobState.NONE, Step.WAIT_FOR_HEAD),
        (False, False, True, JobState.NONE, Step.WAIT_FOR_OTHERS),
        (False, True, True, JobState.NONE, Step.FORCE),
        (False, False, True, JobState.RUNNING, Step.WAIT_FOR_JOB),
        (False, False, True, JobState.FINISHED, Step.RELEASE),
    ],
)
def test_r3_5_the_steps_of_a_deletion(
    *, has_head: bool, is_timed_out: bool, is_collecting: bool, job: JobState, step: Step
) -> None:
    found = decide_cleanup(has_head=has_head, is_timed_out=is_timed_out, is_collecting=is_collecting, job=job)
    assert found is step


@pytest.mark.parametrize(
    ("has_head", "has_worker", "jobs"), [(True, True, 0), (False, True, 1), (True, False, 0), (False, False, 1)]
)
def test_table_r3_6_the_job_starts_when_the_head_is_gone(*, has_head: bool, has_worker: bool, jobs: int) -> None:
    world = deleted(stable(redis_tree()))
    gone = [*([] if has_head else world.pods(node_type="head")), *([] if has_worker else world.pods(group="g"))]
    world = world.edit_objects(lambda tree: None if tree in gone else tree)
    plan = plan_world(world)
    assert len([action for action in creates(plan) if action.object["kind"] == "Job"]) == jobs
    assert len(deletes(plan)) == has_head + has_worker


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 300),
        ("not-a-number", 300),
        ("0", 300),
        ("-5", 300),
        ("", 300),
        ("120", 120),
        ("1", 1),
        ("+7", 7),
        ("9" * 5000, 300),
    ],
)
def test_table_r3_7_the_timeout(text: str | None, seconds: int) -> None:
    annotations = {} if text is None else {"ray.io/gcs-ft-deletion-timeout": text}
    assert deletion_timeout(observe(World(redis_tree(annotations=annotations))).cluster.metadata) == seconds


@pytest.mark.parametrize(
    ("conditions", "finished"),
    [
        ([], False),
        ([("Complete", "True")], True),
        ([("Failed", "True")], True),
        ([("FailureTarget", "True")], True),
        ([("FailureTarget", "False")], False),
        ([("SuccessCriteriaMet", "True")], False),
    ],
)
def test_table_16_2_when_a_job_is_finished(conditions: list[tuple[str, str]], *, finished: bool) -> None:
    status = {"conditions": [{"type": type_, "status": status} for type_, status in conditions]}
    assert is_job_finished({"status": status}) is finished


@pytest.mark.parametrize("outcome", ["Complete", "Failed"])
def test_the_whole_way_out(outcome: str) -> None:
    world = deleted(stable(redis_tree()))
    first = plan_world(world)
    assert {action.because for action in deletes(first)} == {Because.CLUSTER_DELETED}
    assert first.wake_after == 10
    world = apply_plan(world, first, grace=True)
    waiting = plan_world(world)
    assert waiting.is_empty
    assert wait_reasons(waiting) == ["BeingDeleted"]
    world = settle(world)

    second = plan_world(world)
    (job,) = creates(second)
    assert told(second) == ["Created Redis cleanup Job ns/demo-redis-cleanup"]
    assert job.because == Because.CLEANUP_DUE
    world = apply_plan(world, second)
    running = plan_world(world)
    assert running.is_empty
    assert wait_reasons(running) == ["CleanupRunning"]

    last = plan_world(finish_job(world, outcome))
    (patch,) = patches(last)
    assert patch.because == Because.CLEANUP_OVER
    assert finalizers(apply_plan(finish_job(world, outcome), last)) == []


@pytest.mark.parametrize("collecting", COLLECTING)
def test_r3_5_the_job_comes_when_kubernetes_is_done_with_the_rest(collecting: str) -> None:
    """Before, it would be deleted with the rest, and made again, and so on; or be nobody's, and its end not be seen."""
    world = deleted(stable(redis_tree())).edit_objects(lambda tree: None if tree["kind"] == "Pod" else tree)
    world = world.edit_metadata(finalizers=[collecting, FINALIZER])
    plan = plan_world(world)
    assert plan.is_empty
    assert wait_reasons(plan) == ["BeingDeleted"]
    assert plan.wake_after == 300
    assert [patch.because for patch in patches(plan_world(world.after(300)))] == [Because.CLEANUP_TIMED_OUT]
    (job,) = creates(plan_world(world.edit_metadata(finalizers=[FINALIZER])))
    assert job.object["kind"] == "Job"


@pytest.mark.parametrize("storage", ["the same", "another"])
def test_redis_is_not_emptied_under_a_head_that_was_left_behind(storage: str) -> None:
    """Kubernetes was faster than the operator: nobody owns the Pods any more, which is what ``orphan`` asks for."""
    world = deleted(stable(redis_tree())).edit_objects(lambda tree: merge_patch(tree, LET_GO))
    if storage == "another":
        (head,) = world.pods(node_type="head")
        changes = {"metadata": {"annotations": {"ray.io/external-storage-namespace": "another"}}}
        world = world.edit_pod(head["metadata"]["name"], changes)
    plan = plan_world(world)
    assert not deletes(plan)
    assert len(creates(plan)) == (storage == "another")
    (patch,) = patches(plan_world(world.after(300)))
    assert patch.because == Because.CLEANUP_TIMED_OUT


def test_other_finalizers_stay() -> None:
    world = stable(redis_tree(finalizers=["example.com/mine"]))
    assert finalizers(world) == ["example.com/mine", FINALIZER]
    world = deleted(world).edit_objects(lambda tree: None if tree["kind"] == "Pod" else tree)
    world = finish_job(apply_plan(world, plan_world(world)))
    assert finalizers(apply_plan(world, plan_world(world))) == ["example.com/mine"]


def test_r3_5e_after_the_timeout_the_finalizer_is_removed_by_force() -> None:
    annotations = {"ray.io/external-storage-namespace": "ours"}
    tree = cluster_tree(metadata={"annotations": {"ray.io/ft-enabled": "true", **annotations}})
    world = deleted(stable(tree)).edit_objects(lambda tree: None if tree["kind"] == "Pod" else tree)
    world = apply_plan(world, plan_world(world))
    assert not patches(plan_world(world.after(299)))
    plan = plan_world(world.after(300))
    (note,) = told(plan)
    assert note == (
        "Force-removed GCS FT finalizer after 5m0s due to Redis cleanup timeout; "
        'Redis storage namespace "ours" may need manual cleanup'
    )
    assert finalizers(apply_plan(world, plan)) == []


def test_a_head_that_never_goes_does_not_hold_the_deletion_for_ever() -> None:
    world = deleted(stable(redis_tree()))
    world = apply_plan(world, plan_world(world), grace=True)
    assert not patches(plan_world(world.after(301))), "the head may still be there"
    assert [patch.because for patch in patches(plan_world(world.after(331)))] == [Because.CLEANUP_TIMED_OUT]


@pytest.mark.parametrize(
    ("spec", "settings"), [({"gcsFaultToleranceOptions": None}, Settings()), ({}, Settings(redis_cleanup=False))]
)
def test_a_finalizer_that_nothing_would_remove_goes(spec: Tree, settings: Settings) -> None:
    """Differs from KubeRay: R3-3, where the RayCluster stays for ever."""
    world = deleted(stable(redis_tree()).edit_spec(**spec))
    (patch,) = patches(plan_world(world, settings))
    assert patch.because == Because.CLEANUP_POINTLESS


def test_r3_2_a_stale_finalizer_goes_from_an_embedded_cluster() -> None:
    world = stable(redis_tree()).edit_spec(gcsFaultToleranceOptions={"backend": "rocksdb", "redisAddress": None})
    gates = Settings().gates | {"GCSFaultToleranceEmbeddedStorage": True}
    (patch,) = patches(plan_world(deleted(world), Settings(gates=gates)))
    assert patch.because == Because.CLEANUP_POINTLESS


def test_a_plain_cluster_leaves_its_deletion_to_kubernetes() -> None:
    plan = plan_world(deleted(stable(cluster_tree())))
    assert plan.is_empty
    assert wait_reasons(plan) == ["BeingDeleted"]


def test_r1_4_a_refused_spec_is_released_only_at_the_deadline() -> None:
    world = deleted(stable(redis_tree()).edit_group(minReplicas=9, maxReplicas=1))
    waiting = plan_world(world.after(10))
    assert waiting.is_empty
    assert waiting.wake_after == pytest.approx(290)
    assert [patch.because for patch in patches(plan_world(world.after(300)))] == [Because.CLEANUP_TIMED_OUT]


def blind(world: World, *, pods: bool) -> ObservedCluster:
    """As if Pods, or else Jobs, could not be read."""
    observed = observe(world)
    if pods:
        return structs.replace(observed, pods=UNKNOWN)
    return structs.replace(observed, objects=unread(observed.objects, JOB))


@pytest.mark.parametrize(("pods", "deadline"), [(False, 300), (True, 600)], ids=["Jobs", "Pods"])
def test_without_knowledge_of_pods_or_jobs_the_deletion_waits_until_the_deadline(*, pods: bool, deadline: int) -> None:
    """The patience with a head that does not go counts too while nobody can say that there is none."""
    world = deleted(stable(redis_tree())).edit_objects(lambda tree: None if tree["kind"] == "Pod" else tree)
    waiting = plan_observed(blind(world, pods=pods), now=NOW + deadline - 1)
    assert not waiting.stages
    assert wait_reasons(waiting) == ["NotKnown"]
    assert waiting.wake_after == pytest.approx(1)
    over = plan_observed(blind(world, pods=pods), now=NOW + deadline)
    assert [patch.because for patch in patches(over)] == [Because.CLEANUP_TIMED_OUT]
    assert over.status is None, "the patch moves the version that a status write would name"


def test_pods_go_and_a_head_that_stays_is_waited_for_while_jobs_cannot_be_read() -> None:
    world = deleted(stable(redis_tree()))
    plan = plan_observed(blind(world, pods=False), now=NOW + 1000)
    assert len(deletes(plan)) == 2
    assert not patches(plan)
    assert plan.wake_after == UNKNOWN_POLL  # sooner than the deletion itself asks for


def test_what_holds_a_deletion_is_told_in_the_status_and_taken_back() -> None:
    world = deleted(stable(redis_tree())).edit_objects(lambda tree: None if tree["kind"] == "Pod" else tree)
    plan = plan_observed(blind(world, pods=False))
    assert own_conditions(plan) == {"Hindered": "NotKnown"}
    told_world = apply_plan(world, plan)
    assert plan_observed(blind(told_world, pods=False)).is_empty, "it is told once"
    assert "Hindered" not in apply_plan(told_world, plan_world(told_world)).conditions()
    refused = Remembered(
        hindrances=(Hindrance("QuotaExceeded", "create Job ns/demo-redis-cleanup: no", "there is room"),)
    )
    assert own_conditions(plan_world(world, remembered=refused)) == {"Hindered": "QuotaExceeded"}


def misfit_metadata(**fields: Any) -> ObjectMeta:
    return observe(World(redis_tree(finalizers=[FINALIZER, "example.com/mine"], **fields))).cluster.metadata


def test_r1_4_a_spec_that_cannot_be_read_is_released_at_the_deadline() -> None:
    metadata = misfit_metadata(**DELETED, annotations={"ray.io/gcs-ft-deletion-timeout": "20"})
    misfit = Problem(path=("spec", "workerGroupSpecs"), problem="Expected `array`", fix="make it a list")
    waiting = RAY_CLUSTER.plan_misfit(metadata, {"workerGroupSpecs": 1}, misfit, NOW + 5)
    assert waiting.is_empty
    assert waiting.wake_after == pytest.approx(15)
    assert event_reasons(waiting) == ["InvalidRayClusterSpec"]
    (patch,) = patches(RAY_CLUSTER.plan_misfit(metadata, {"managedBy": 5}, misfit, NOW + 20))
    assert (patch.because, patch.changes) == (
        Because.CLEANUP_TIMED_OUT,
        {"metadata": {"finalizers": ["example.com/mine"]}},
    )
    elsewhere = RAY_CLUSTER.plan_misfit(metadata, {"managedBy": "kueue.x-k8s.io/multikueue"}, misfit, NOW + 20)
    assert elsewhere.is_empty, "C11: what is managed elsewhere is never touched"
    assert RAY_CLUSTER.plan_misfit(misfit_metadata(), {}, misfit, NOW + 1000).is_empty, "it lives"


def test_r3_11_the_job_is_found_by_name_although_a_template_overrides_its_labels() -> None:
    world = deleted(stable(redis_tree())).edit_objects(lambda tree: None if tree["kind"] == "Pod" else tree)
    job = owned({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "demo-redis-cleanup", "labels": {}}})
    assert not creates(plan_world(world.add(job)))


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "1s"), (60, "1m0s"), (300, "5m0s"), (3600, "1h0m0s"), (3725, "1h2m5s")]
)
def test_durations_read_as_go_writes_them(seconds: int, text: str) -> None:
    assert format_seconds(seconds) == text


def test_no_pod_is_created_for_a_cluster_that_is_being_deleted() -> None:
    world = deleted(stable(redis_tree())).edit_group(replicas=5)
    for _ in range(3):
        plan = plan_world(world)
        assert not created_pods(plan)
        world = settle(apply_plan(world, plan))
    assert run(world)[1] == []


def test_a_living_cluster_that_turns_to_redis_gets_the_finalizer_first_and_the_status_later() -> None:
    world = stable(cluster_tree(group(replicas=1))).edit_spec(gcsFaultToleranceOptions=REDIS).edit_group(replicas=2)
    plan = plan_world(world)
    assert len(patches(plan)) == 1
    assert plan.status is None, "its version would be stale by then"
    assert run(world)[0].cluster["status"]["desiredWorkerReplicas"] == 2
