"""What belongs to whom: adoption, Pods whose Job is gone, names, and Jobs whose time is up."""

from typing import Any

import pytest
from msgspec import convert

from embedded.controllers.job_world import KEY, TRACKING, Process, World, drive, job_tree, settle, stages
from heliostat.embedded.controllers.jobs.orphans import plan_orphan
from heliostat.embedded.controllers.jobs.pod_names import PodNames, build_prefix
from heliostat.embedded.controllers.jobs.reconciler import FinishedJobReconciler, JobReconciler, OrphanedPodReconciler
from heliostat.embedded.controllers.jobs.ttl import plan_ttl
from heliostat.embedded.controllers.views.jobs import JOBS, Job
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.kube.objects import Key, Metadata
from heliostat.kube.plan import Delete, Patch
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.caches import Caches

NOW = 1_700_000_000.0
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "job-uid", "controller": True}


def pod_tree(name: str = "p", version: int = 5, **metadata: Any) -> dict[str, Any]:
    defaults = {"namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version), "labels": {"job": "work"}}
    return {"metadata": {"name": name, **defaults, **metadata}, "status": {"phase": "Running"}}


def build_pod(name: str = "p", version: int = 5, **metadata: Any) -> Pod:
    return convert(pod_tree(name, version, **metadata), Pod)


def build_job(version: int = 3, **parts: Any) -> Job:
    tree = job_tree()
    tree["metadata"]["resourceVersion"] = str(version)
    return convert({**tree, **parts}, Job)


def test_a_pod_without_a_controller_is_adopted_with_the_finalizer_once_the_job_is_confirmed() -> None:
    world = World(job_tree())
    stranger = {"apiVersion": "v1", "kind": "Pod", "spec": {}, **pod_tree("stranger")}
    world._keep("Pod", stranger)
    process = Process(world)
    plan = process.look()
    assert list(stages(plan)) == ["confirm", "claim"]
    assert stages(plan)["claim"].needs == ("confirm",)
    adopted = world.trees["Pod", "stranger"]["metadata"]
    assert adopted["ownerReferences"][0]["uid"] == "job-uid"
    assert adopted["finalizers"] == [TRACKING]
    settle(process)
    assert not world.names
    world.end(world.pods[0], "Succeeded")
    settle(process)
    assert world.status["succeeded"] == 1


def test_a_pod_that_is_not_selected_any_more_loses_owner_and_finalizer_and_is_replaced() -> None:
    world = World(job_tree())
    process = Process(world)
    settle(process)
    (pod,) = world.pods
    world.change_pod(pod, metadata={"labels": {"job": "other"}})
    settle(process)
    freed = world.trees["Pod", pod["metadata"]["name"]]["metadata"]
    assert not freed.get("ownerReferences")
    assert not freed.get("finalizers")
    assert len(world.pods) == 2
    assert world.status.get("failed", 0) == 0


@pytest.mark.parametrize(
    ("metadata", "owner", "is_gone", "released"),
    [
        ({"finalizers": [TRACKING]}, None, True, True),
        ({"finalizers": [TRACKING, "x/y"], "ownerReferences": [OWNER]}, None, True, True),
        ({"finalizers": [TRACKING], "ownerReferences": [OWNER]}, None, False, False),
        ({"finalizers": [TRACKING], "ownerReferences": [OWNER]}, build_job(), True, False),
        ({"finalizers": [TRACKING], "ownerReferences": [{**OWNER, "kind": "ReplicaSet"}]}, None, True, False),
        ({"finalizers": ["x/y"]}, None, True, False),
    ],
)
def test_which_pods_lose_the_finalizer_without_being_counted(
    metadata: dict[str, Any], owner: Job | None, is_gone: bool, released: bool
) -> None:
    pod = build_pod(**metadata)
    plan = plan_orphan(pod, owner, is_gone=is_gone)
    patches = [action for action in plan.actions() if isinstance(action, Patch)]
    kept = [name for name in pod.metadata.finalizers if name != TRACKING]
    assert [patch.changes["metadata"]["finalizers"] for patch in patches] == ([kept or None] if released else [])


class Orphanage:
    """The views of Jobs and Pods, and the reconciler of Pods whose Job is gone."""

    def __init__(self) -> None:
        caches = Caches()
        self.jobs, self.pods = CacheWriter(caches.of(JOBS)), CacheWriter(caches.of(PODS))
        self.reconciler = OrphanedPodReconciler(caches)

    def releases(self) -> bool:
        return not self.reconciler.plan(Key("ns", "p"), NOW).is_empty


def test_a_job_that_is_not_in_view_yet_is_not_gone() -> None:
    views = Orphanage()
    views.jobs.replace([], 4)
    views.pods.put(build_pod(version=5, ownerReferences=[OWNER], finalizers=[TRACKING]))
    assert not views.releases()
    views.jobs.progress(5)
    assert views.releases()


def test_a_job_that_was_seen_leaving_is_gone_however_new_the_pod_is() -> None:
    views = Orphanage()
    views.jobs.put(build_job(version=3))
    views.pods.put(build_pod(version=5, ownerReferences=[OWNER], finalizers=[TRACKING]))
    assert not views.releases()
    views.jobs.remove(build_job(version=6))
    views.pods.put(build_pod(version=9, ownerReferences=[OWNER], finalizers=[TRACKING]))
    assert views.releases()
    keys = [key for source in views.reconciler.sources() for key in source.keys_of(build_job(), None)]
    assert keys == [Key("ns", "p")]


def test_names_are_the_same_from_the_same_view_and_new_from_another() -> None:
    def names(version: int, departed: int = 0) -> list[str]:
        job = Metadata(name="work", uid="u", resource_version="7")
        given = PodNames(job, [build_pod(version=version)], departed)
        return [given.name("work-") for _ in range(3)]

    assert names(5) == names(5)
    assert len({*names(5), *names(6), *names(5, departed=9)}) == 9


def test_a_name_that_is_taken_is_passed_over() -> None:
    job = Metadata(name="work", uid="u", resource_version="7")
    first = PodNames(job, []).name("work-")
    assert PodNames(job, [], is_taken=lambda name: name == first).name("work-") != first


@pytest.mark.parametrize(
    ("name", "index", "prefix"),
    [
        ("work", None, "work-"),
        ("work", 12, "work-12-"),
        ("j" * 63, 12, "j" * 54 + "-12-"),
        ("j" * 55, 12, "j" * 54 + "-12-"),
        ("j" * 54, 12, "j" * 54 + "-12-"),
    ],
)
def test_prefixes_of_names(name: str, index: int | None, prefix: str) -> None:
    assert build_prefix(name, index) == prefix
    assert len(PodNames(Metadata(name=name, uid="u"), []).name(build_prefix(name, index))) <= 63


def finished(ttl: int | None, ago: float, type_: str = "Complete", **metadata: Any) -> Job:
    condition = {"type": type_, "status": "True", "lastTransitionTime": format_timestamp(NOW - ago)}
    tree = job_tree(**({"ttlSecondsAfterFinished": ttl} if ttl is not None else {}))
    tree["metadata"] |= {"resourceVersion": "9", **metadata}
    return convert({**tree, "status": {"conditions": [condition]}}, Job)


@pytest.mark.parametrize(
    ("job", "deleted", "wake_after"),
    [
        (finished(None, 99), False, None),
        (finished(10, 4), False, 6),
        (finished(10, 10), True, None),
        (finished(0, 0, "Failed"), True, None),
        (finished(0, 0, "FailureTarget"), False, None),
        (finished(0, 5, deletionTimestamp=format_timestamp(NOW)), False, None),
    ],
)
def test_a_job_goes_when_its_time_is_up(job: Job, deleted: bool, wake_after: float | None) -> None:
    plan = plan_ttl(job, NOW)
    assert plan.wake_after == wake_after
    deletes = [action for action in plan.actions() if isinstance(action, Delete)]
    facts = [(action.uid, action.resource_version, action.propagation) for action in deletes]
    assert facts == ([("job-uid", "9", "Foreground")] if deleted else [])


def test_the_wiring_wakes_whom_a_change_concerns() -> None:
    caches = Caches()
    jobs = CacheWriter(caches.of(JOBS))
    reconciler = JobReconciler(caches)
    jobs.put(build_job())

    def woken(before: Pod | None, after: Pod | None) -> set[Key]:
        _itself, *sources = reconciler.sources()
        return {key for source in sources for key in source.keys_of(before, after)}

    assert woken(None, build_pod(ownerReferences=[OWNER])) == {KEY}
    assert woken(None, build_pod()) == {KEY}
    assert woken(build_pod(), build_pod(version=6)) == set()
    assert woken(None, build_pod(labels={"job": "other"})) == set()
    subject = FinishedJobReconciler(caches).subject(KEY)
    assert subject is not None
    assert subject.uid == "job-uid"


def test_a_name_is_never_used_again_after_everything_is_gone() -> None:
    """The world refuses it; here a Pod comes and goes without a trace in the Job."""
    world = World(job_tree(backoffLimit=100))
    process = Process(world)
    for _ in range(4):
        settle(process)
        for pod in world.pods:
            world.change_pod(pod, metadata={"finalizers": None})
            world.delete_pod(world.trees["Pod", pod["metadata"]["name"]])
        world.bury()
        world.now += 700
    drive(process, lambda _pod: "Succeeded")
    assert len(world.names) == 5
