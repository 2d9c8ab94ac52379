"""RayJobs as KubeRay left them: at every turn of a recorded life our operator takes over, and finds all that was there.

A recording tells each status that KubeRay wrote, so the RayJob can be put back as it was after any of them, with the
objects of the attempt that ran. Masks are filled in again. Ray knows the job whenever somebody had submitted it.
"""

from collections.abc import Iterator

from msgspec import Struct

from conformance.operator.flows import load_flow
from conformance.operator.left_objects import fill_status, fold_status, unmask, whole_object
from conformance.operator.playing import Tree
from conformance.operator.worlds import Operated, World
from conformance.operator.write_log import Write
from heliostat.desired.rayjob.names import HTTP_MODE, K8S_JOB_MODE
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.resource_types import ResourceTypes
from heliostat.kube.timestamps import format_timestamp
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_JOB, TYPES
from heliostat.testing.scripted_ray import ScriptedRay
from heliostat.testing.scripted_ray.state import ScriptedJob

_TYPES = ResourceTypes(TYPES)
_OVER = ("Complete", "Failed", "ValidationFailed")
_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class Turn(Struct, frozen=True, kw_only=True):
    """What there was after one write of the RayJob's status."""

    flow: str
    number: int
    job: Tree  # with its spec as it was then
    status: Tree
    objects: list[Tree]
    has_submitted: bool
    clusters: dict[str, Tree]  # names, and what the recording tells of their status

    def __str__(self) -> str:
        shown = [str(self.status.get(key) or "none") for key in ("jobDeploymentStatus", "jobStatus")]
        return f"{self.flow.removeprefix('rayjob-')}-{self.number}-{'-'.join(shown)}"

    @property
    def namespace(self) -> str:
        return f"t-{self.flow.removeprefix('rayjob-')}-{self.number}"

    @property
    def mode(self) -> str:
        return str(self.job["spec"].get("submissionMode") or K8S_JOB_MODE)

    @property
    def has_cluster(self) -> bool:
        return bool(self.status.get("rayClusterName")) and bool(self.objects)


def list_turns(names: list[str]) -> list[Turn]:
    """Those that differ in what a RayJob shows."""
    found: dict[tuple[str, ...], Turn] = {}
    for name in names:
        for turn in _turns_of(name):
            shown = (turn.status.get("jobDeploymentStatus"), turn.status.get("jobStatus"), turn.status.get("reason"))
            key = (turn.mode, *map(str, shown), str(turn.has_cluster), str(turn.status.get("failed")))
            found.setdefault(key, turn)
    return list(found.values())


def _turns_of(name: str) -> Iterator[Turn]:
    job: Tree = {}
    status: Tree = {}
    clusters: dict[str, Tree] = {}
    made: list[Tree] = []
    number = 0
    for step in load_flow(name)["steps"]:
        match step["do"]:
            case ["create", tree]:
                job = tree
            case ["patch", "rayjob", _, changes]:
                job = merge_patch(job, changes)
        for write in step["writes"]:
            made += [whole_object(write, made)] if write["verb"] == "create" else []
        for change in step["status_changes"]:
            if change["resource"] == RAY_CLUSTER.plural:
                clusters[change["name"]] = fold_status(clusters.get(change["name"], {}), change["changes"])
            elif change["resource"] == RAY_JOB.plural:
                status, number = fold_status(status, change["changes"]), number + 1
                yield _build_turn(name, number, job, status, made, clusters)


def _build_turn(name: str, number: int, job: Tree, status: Tree, made: list[Tree], clusters: dict[str, Tree]) -> Turn:
    cluster = str(status.get("rayClusterName") or "")
    is_made = cluster in clusters
    is_running = status.get("jobDeploymentStatus") not in ("Initializing", "Waiting", None, "")
    objects = [
        tree for tree in made
        if is_made and (_is_of(tree, cluster) or (is_running and status.get("dashboardURL") and _is_of_job(tree)))
    ]  # fmt: skip
    newest = {
        (tree["kind"], tree["metadata"].get("name"), tree["metadata"].get("generateName")): tree for tree in objects
    }
    mode = job["spec"].get("submissionMode") or K8S_JOB_MODE
    has_submitted = bool(status.get("jobStatus")) or (mode != HTTP_MODE and bool(status.get("dashboardURL")))
    return Turn(
        flow=name, number=number, job=job, status=status, objects=list(newest.values()), has_submitted=has_submitted,
        clusters=dict(clusters),
    )  # fmt: skip


def _is_of(tree: Tree, cluster: str) -> bool:
    metadata = tree["metadata"]
    owners = {owner["name"] for owner in metadata.get("ownerReferences") or ()}
    return bool(metadata.get("name") == cluster or cluster in owners)


def _is_of_job(tree: Tree) -> bool:
    return tree["kind"] != RAY_CLUSTER.kind and any(
        owner["kind"] == RAY_JOB.kind for owner in tree["metadata"].get("ownerReferences") or ()
    )


async def leave(world: World, turn: Turn, now: float) -> None:
    """As KubeRay left it; Pods run when their nodes have taken them."""
    namespace, admin = turn.namespace, world.admin
    await world.make_namespace(namespace)
    is_refused = turn.status.get("jobDeploymentStatus") == "ValidationFailed"
    finalizers = {} if is_refused else {"finalizers": ["ray.io/rayjob-finalizer"]}
    placed = turn.job | {"metadata": turn.job["metadata"] | {"namespace": namespace} | finalizers}
    made = await admin.create(RAY_JOB, placed)
    uids = {(RAY_JOB.kind, made["metadata"]["name"]): made["metadata"]["uid"]}
    order = {RAY_CLUSTER.kind: 0, POD.kind: 2}
    for tree in sorted(turn.objects, key=lambda tree: order.get(tree["kind"], 1)):
        left = await admin.create(_TYPES.of(tree["apiVersion"], tree["kind"]), unmask(tree, namespace, uids))
        uids[tree["kind"], left["metadata"]["name"]] = left["metadata"]["uid"]
        if tree["kind"] == RAY_CLUSTER.kind:
            changes = {"status": fill_status(turn.clusters[tree["metadata"]["name"]], namespace, now)}
            await admin.merge(RAY_CLUSTER, namespace, tree["metadata"]["name"].lower(), changes, "status")
    name = made["metadata"]["name"]
    begun = {} if is_refused else {"startTime": format_timestamp(now)}  # the recording leaves times out
    await admin.merge(RAY_JOB, namespace, name, {"status": begun | fill_status(turn.status, namespace, now)}, "status")
    _remember(world.ray, turn, now)


def _remember(ray: ScriptedRay | None, turn: Turn, now: float) -> None:
    """What Ray knows of the job; how long it has run fits what the status says."""
    status = turn.status
    if ray is None or not turn.has_submitted or not status.get("dashboardURL"):
        return
    age = 60.0 if status.get("jobStatus") in _ENDED else 2.0
    cluster = ray.cluster(f"{turn.namespace}/{status['rayClusterName'].lower()}-head-svc")
    id_ = status["jobId"].lower()
    cluster.jobs[id_] = ScriptedJob(id_, turn.job["spec"]["entrypoint"], now - age, {}, {})


async def judge_taken_over(operated: Operated, turn: Turn) -> list[str]:
    """No second submission, no second cluster, the right end."""
    job = await operated.admin.get(RAY_JOB, turn.namespace, turn.job["metadata"]["name"])
    writes = operated.log.in_namespace(turn.namespace)
    return [*_judge_end(turn, job), *_judge_clusters(turn, job, writes), *_judge_submissions(operated, turn)]


def _judge_end(turn: Turn, job: Tree) -> Iterator[str]:
    shown = {key: job["status"].get(key) for key in ("jobDeploymentStatus", "jobStatus", "failed")}
    phase = turn.status.get("jobDeploymentStatus")
    is_failing = "fail" in turn.job["spec"]["entrypoint"]
    if phase in _OVER:
        wanted: Tree = {key: turn.status.get(key) for key in shown}
    elif turn.job["spec"].get("suspend"):
        wanted = {"jobDeploymentStatus": "Suspended", "jobStatus": None, "failed": 0}
    elif {"activeDeadlineSeconds", "preRunningDeadlineSeconds"} & turn.job["spec"].keys():
        wanted = shown | {"jobDeploymentStatus": "Failed", "failed": 1}
    elif is_failing:
        limit = turn.job["spec"].get("backoffLimit") or 0
        wanted = {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "failed": limit + 1}
    else:
        wanted = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "failed": 0}
    if shown != wanted:
        yield f"came to {shown}, not to {wanted}: {job['status']}"


def _judge_clusters(turn: Turn, job: Tree, writes: list[Write]) -> Iterator[str]:
    made = [
        write.tree["metadata"]["name"] for write in writes
        if write.use.verb == "create" and write.use.resource == RAY_CLUSTER.plural
    ]  # fmt: skip
    attempts = int(job["status"].get("failed") or 0) + 1 - int(turn.status.get("failed") or 0)
    phase = turn.status.get("jobDeploymentStatus") or ""
    is_over = phase in _OVER or job["status"]["jobDeploymentStatus"] == "Suspended"
    begins_anew = phase in ("", "Retrying", "Suspended") or not turn.has_cluster
    most = 0 if is_over else max(0, attempts - (0 if begins_anew else 1))
    if len(made) > most:
        yield f"made the clusters {made}, at most {most} were to be made"
    own = str(turn.status.get("rayClusterName") or "").lower()
    if turn.has_cluster and own in made:
        yield f"made {own} a second time"


def _judge_submissions(operated: Operated, turn: Turn) -> Iterator[str]:
    ray = operated.world.ray
    taken = [each for each in ray.accepted if each.cluster.startswith(f"{turn.namespace}/")] if ray is not None else []
    if turn.mode != HTTP_MODE and taken:
        yield f"submitted by the operator itself: {taken}"
    if turn.has_submitted and any(each.id == turn.status["jobId"].lower() for each in taken):
        yield f"submitted again: {turn.status['jobId']}"
    if len({(each.cluster, each.id) for each in taken}) != len(taken):
        yield f"submitted twice: {taken}"
