"""A world of one RayJob for planner tests: plans are made from it and carried out on it, in memory.

``Ray`` is the other side: what it has been asked to run and what it answers. ``settle`` does what other controllers
would: clusters become ready, what was asked to go is gone. Nothing here decides anything.
"""

from typing import Any

from msgspec import Struct, structs

from heliostat.api.documents import Accepted, accept
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import K8S_JOB_MODE
from heliostat.kube.facts import Fact, Unknown
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.kube.persisted import find_premature_use
from heliostat.kube.plan import Create, Delete, Effect, Patch, Plan, WriteStatus
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.rayjob.answers import ABSENT, Answer, JobInfo
from heliostat.plan.rayjob.kind import RAY_JOB
from heliostat.plan.rayjob.observed import ObservedJob, Remembered, observe_job
from heliostat.plan.rayjob.submission import STOP, SUBMIT
from plan.worlds import NAMESPACE, NOW, UID, Tree, group, plan_by_row, pod_template

NAME = "job"
FINALIZER = "ray.io/rayjob-finalizer"


def cluster_spec(**fields: Any) -> Tree:
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": pod_template("ray-head")},
        "workerGroupSpecs": [group()],
        **fields,
    }


def job_tree(*, metadata: Tree | None = None, status: Tree | None = None, **spec: Any) -> Tree:
    """A sound RayJob as an API server would hold it."""
    placed = {
        "name": NAME,
        "namespace": NAMESPACE,
        "uid": UID,
        "generation": 1,
        "resourceVersion": "100",
        "creationTimestamp": format_timestamp(NOW),
        **(metadata or {}),
    }
    sound = {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec(), **spec}
    wanted = {key: value for key, value in sound.items() if value is not None}
    answer = accept({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": placed, "spec": wanted})
    assert isinstance(answer, Accepted), answer
    return answer.tree | ({"status": status} if status is not None else {})


class Ray(Struct, frozen=True):
    """``accepted`` counts by id how often a job was taken."""

    jobs: dict[str, JobInfo] = {}
    accepted: dict[str, int] = {}
    stopped: tuple[str, ...] = ()
    is_silent: bool = False
    refuses: str = ""

    def answer(self, job_id: str) -> Answer:
        if self.is_silent:
            return Unknown("no answer within 2 s")
        return Fact(self.jobs.get(job_id, ABSENT))

    def tell(self, status: str, now: float = NOW) -> "Ray":
        """All its jobs have come to this."""
        ended = now if status in ("SUCCEEDED", "FAILED", "STOPPED") else None
        told = {key: JobInfo(status, "told", started=now, ended=ended) for key in self.jobs}
        return structs.replace(self, jobs=told)


class JobWorld(Struct, frozen=True):
    job: Tree | None
    objects: tuple[Tree, ...] = ()
    ray: Ray = Ray()
    version: int = 1000
    now: float = NOW
    settings: Settings = Settings()
    remembered: Remembered = Remembered(is_asked=True)
    told: tuple[str, ...] = ()  # reasons of events

    @property
    def status(self) -> Tree:
        return (self.job or {}).get("status") or {}

    @property
    def phase(self) -> str:
        return str(self.status.get("jobDeploymentStatus") or "")

    def of_kind(self, kind: str) -> list[Tree]:
        return [tree for tree in self.objects if tree["kind"] == kind]

    def after(self, seconds: float) -> "JobWorld":
        return structs.replace(self, now=self.now + seconds)

    def edit(self, **spec: Any) -> "JobWorld":
        """What a user does: another spec is another generation."""
        assert self.job is not None
        metadata = self.job["metadata"]
        bumped = {"generation": metadata["generation"] + 1, "resourceVersion": str(self.version + 1)}
        job = self.job | {"metadata": metadata | bumped, "spec": merge_patch(self.job["spec"], spec)}
        return structs.replace(self, job=job, version=self.version + 1)

    def with_ray(self, ray: Ray) -> "JobWorld":
        return structs.replace(self, ray=ray)

    def change(self, kind: str, patch: Tree) -> "JobWorld":
        changed = tuple(merge_patch(tree, patch) if tree["kind"] == kind else tree for tree in self.objects)
        return structs.replace(self, objects=changed)

    def without(self, *kinds: str) -> "JobWorld":
        return structs.replace(self, objects=tuple(tree for tree in self.objects if tree["kind"] not in kinds))


def observe(world: JobWorld) -> ObservedJob:
    assert world.job is not None
    return observe_job(world.job, world.objects, world.ray.answer(str(world.status.get("jobId"))))


def plan_world(world: JobWorld) -> Plan:
    observed = observe(world)
    return plan_by_row(RAY_JOB, observed, observed.job, world.remembered, world.settings, world.now)


def begin(settings: Settings | None = None, *, metadata: Tree | None = None, **spec: Any) -> JobWorld:
    return JobWorld(job_tree(metadata=metadata, **spec), settings=settings or Settings())


def act(world: JobWorld) -> JobWorld:
    """One reconcile."""
    if world.job is None:
        return world
    plan = plan_world(world)
    assert find_premature_use(plan) is None
    for action in plan.actions():
        world = _carry_out(world, action)
    return structs.replace(world, told=(*world.told, *(event.reason for event in plan.events)))


def run(world: JobWorld, passes: int = 12) -> JobWorld:
    """Reconciles, with other controllers at work between them, until nothing changes any more."""
    for _ in range(passes):
        then, world = world, settle(act(world))
        if structs.replace(then, told=(), version=0) == structs.replace(world, told=(), version=0):
            return world
    raise AssertionError(f"it never rests: {world.status}")


def _carry_out(world: JobWorld, action: Any) -> JobWorld:
    match action:
        case Create():
            report = action.report.success
            world = _store(world, action.object)
            return structs.replace(world, told=(*world.told, report.reason)) if report is not None else world
        case Delete():
            return _delete(world, action)
        case Patch():
            return _patch(world, action)
        case WriteStatus():
            assert world.job is not None
            assert action.resource_version == world.job["metadata"]["resourceVersion"]
            return _bump(world, {**world.job, "status": action.status})
        case Effect():
            return structs.replace(world, ray=_affect(world.ray, action), remembered=_remember(world, action))
    raise AssertionError(action)


def _affect(ray: Ray, effect: Effect) -> Ray:
    job_id = effect.payload["jobId"]
    if effect.kind == STOP:
        return structs.replace(ray, stopped=(*ray.stopped, job_id))
    assert effect.kind == SUBMIT
    if ray.refuses or ray.is_silent:
        return ray
    accepted = {**ray.accepted, job_id: ray.accepted.get(job_id, 0) + 1}
    info = JobInfo("PENDING", "running", entrypoint=effect.payload["body"]["entrypoint"])
    return structs.replace(ray, jobs={**ray.jobs, job_id: info}, accepted=accepted)


def _remember(world: JobWorld, effect: Effect) -> Remembered:
    return structs.replace(world.remembered, submit_failure=world.ray.refuses if effect.kind == SUBMIT else "")


def _bump(world: JobWorld, job: Tree | None) -> JobWorld:
    if job is not None:
        job = {**job, "metadata": {**job["metadata"], "resourceVersion": str(world.version + 1)}}
    return structs.replace(world, job=job, version=world.version + 1)


def _store(world: JobWorld, tree: Tree) -> JobWorld:
    key = (tree["kind"], tree["metadata"]["name"])
    assert key not in {(each["kind"], each["metadata"]["name"]) for each in world.objects}, key
    tree = copy_tree(tree)
    number = world.version + 1
    tree["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": str(number), "namespace": NAMESPACE}
    return structs.replace(world, objects=(*world.objects, tree), version=number)


def _delete(world: JobWorld, action: Delete) -> JobWorld:
    if action.ref.kind == "RayJob":
        assert world.job is not None
        leaving = {"metadata": {"deletionTimestamp": format_timestamp(world.now)}}
        return _bump(world, merge_patch(world.job, leaving) if world.job["metadata"].get("finalizers") else None)
    (target,) = [tree for tree in world.objects if tree["metadata"]["uid"] == action.uid]
    assert any(owner["uid"] == UID for owner in target["metadata"].get("ownerReferences", ())), "it is not ours"
    leaving = merge_patch(target, {"metadata": {"deletionTimestamp": format_timestamp(world.now)}})
    return structs.replace(world, objects=tuple(leaving if tree is target else tree for tree in world.objects))


def _patch(world: JobWorld, action: Patch) -> JobWorld:
    if action.ref.kind == "RayJob":
        assert world.job is not None
        job = merge_patch(world.job, action.changes)
        is_gone = job["metadata"].get("deletionTimestamp") and not job["metadata"].get("finalizers")
        return _bump(world, None if is_gone else job)
    changed = tuple(
        merge_patch(tree, action.changes) if tree["metadata"]["uid"] == action.uid else tree for tree in world.objects
    )
    return structs.replace(world, objects=changed)


def settle(world: JobWorld) -> JobWorld:
    """Clusters become ready with their head, what was asked to go is gone, and a submitter Job submits."""
    gone = {tree["metadata"]["name"] for tree in world.of_kind("RayCluster") if _is_leaving(tree)}
    kept = [tree for tree in world.objects if not _is_leaving(tree) and _cluster_of(tree) not in gone]
    world = structs.replace(world, objects=tuple(kept))
    for cluster in world.of_kind("RayCluster"):
        if (cluster.get("status") or {}).get("state") != "ready":
            world = _make_ready(world, cluster)
    return _let_submitters_submit(world)


def _is_leaving(tree: Tree) -> bool:
    return bool(tree["metadata"].get("deletionTimestamp"))


def _cluster_of(tree: Tree) -> str:
    is_part = tree["kind"] == "Pod" or (tree["metadata"]["name"].endswith("-head-svc") and "cluster" in tree)
    return str(tree["metadata"].get("labels", {}).get("ray.io/cluster", "")) if is_part else ""


def _make_ready(world: JobWorld, cluster: Tree) -> JobWorld:
    name = cluster["metadata"]["name"]
    ready = merge_patch(cluster, {"status": {"state": "ready", "desiredCPU": "1"}})
    kept = (tree for tree in world.objects if _cluster_of(tree) != name)  # what a lost one of its name had left is gone
    world = structs.replace(world, objects=tuple(ready if tree is cluster else tree for tree in kept))
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "cluster": name,
        "metadata": {"name": f"{name}-head-svc", "labels": {"ray.io/cluster": name}},
        "spec": {"ports": [{"name": "dashboard", "port": 8265}]},
    }
    containers = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    head = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-head", "labels": {"ray.io/cluster": name, "ray.io/node-type": "head"}},
        "spec": {"containers": containers},
        "status": {"containerStatuses": [{"name": each["name"], "state": {"running": {}}} for each in containers]},
    }
    return _store(_store(world, service), head)


def _let_submitters_submit(world: JobWorld) -> JobWorld:
    mode = ((world.job or {}).get("spec") or {}).get("submissionMode") or K8S_JOB_MODE
    job_id = str(world.status.get("jobId") or "")
    is_there = bool(world.of_kind("Job")) if mode == K8S_JOB_MODE else mode == "SidecarMode" and world.of_kind("Pod")
    if not is_there or not job_id or job_id in world.ray.jobs or world.ray.is_silent:
        return world
    jobs = {**world.ray.jobs, job_id: JobInfo("PENDING", "running")}
    accepted = {**world.ray.accepted, job_id: world.ray.accepted.get(job_id, 0) + 1}
    return structs.replace(world, ray=structs.replace(world.ray, jobs=jobs, accepted=accepted))


def end_submitter(world: JobWorld, type_: str = "Complete") -> JobWorld:
    """The submitter Job has come to its end."""
    time = format_timestamp(world.now)
    condition = {"type": type_, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": time}
    return world.change("Job", {"status": {"conditions": [condition]}})


def typed(tree: Tree) -> RayJob:
    answer = accept(tree)
    assert isinstance(answer, Accepted)
    assert isinstance(answer.object, RayJob)
    return answer.object
