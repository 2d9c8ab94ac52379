"""Jobs in trouble: Pods that fail, a suspension, a Pod deleted by hand, and a controller that dies all the while."""

import asyncio
from collections.abc import Mapping
from functools import partial

from heliostat.embedded.controllers.jobs.reconciler import (
    FinishedJobReconciler,
    JobReconciler,
    OrphanedPodReconciler,
)
from heliostat.embedded.controllers.views.jobs import JOB
from heliostat.embedded.controllers.views.pods import POD
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.host import Host
from heliostat.testing.simulation.exploration import Case
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Violation, World
from simulation.kubelet import MERGE, run_pods
from simulation.programs import host_program

CONTROLLER = "controllers"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
TRACKING = "batch.kubernetes.io/job-tracking"


def job_crew(host: Host, client: Client) -> None:
    host.types.add(JOB)
    host.types.add(POD)
    for reconciler in (JobReconciler, OrphanedPodReconciler, FinishedJobReconciler):
        host.add(reconciler(host.caches))


def job(name: str, **spec: object) -> JsonObject:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


async def jobs_through_trouble(world: World) -> None:
    """One Job with failing Pods, one that is suspended for a while, one that is deleted in the middle."""
    world.start(CONTROLLER, host_program(world, CONTROLLER, job_crew))
    world.spawn(run_pods(world, fails=lambda number: number % 5 == 3))
    await world.request("POST", JOBS, job("steady", completions=4, parallelism=2, backoffLimit=6))
    await world.request("POST", JOBS, job("paused", completions=3, parallelism=3, backoffLimit=6))
    await world.request("POST", JOBS, job("doomed", completions=5, parallelism=1, backoffLimit=6))
    await asyncio.sleep(1 + world.chance("user")() * 4)
    await world.request("PATCH", f"{JOBS}/paused", {"spec": {"suspend": True}}, MERGE)
    await asyncio.sleep(world.chance("user-too")() * 10)
    await _delete_some_pod(world)
    await world.request("PATCH", f"{JOBS}/paused", {"spec": {"suspend": False}}, MERGE)
    await world.request("DELETE", f"{JOBS}/doomed", {"propagationPolicy": "Orphan"})
    for name in ("steady", "paused"):
        await world.until(f"{name} is complete", partial(is_complete, world, name), 3600)
    # Of the suspended one, a Pod may end well at the very moment in which it is told to stop; that is not counted.
    alone, deleted = (succeeded(world.state, "steady", deleted=deleted) for deleted in (False, True))
    if not alone <= 4 <= alone + deleted:
        raise Violation(f"{alone} Pods of steady succeeded and {deleted} that were deleted, 4 were wanted")
    await world.until("no Pod is tracked any more", lambda: not tracked(world.state))
    await world.until_quiet()


async def _delete_some_pod(world: World) -> None:
    pods = [pod["metadata"]["name"] for pod in world.state.all("pods") if pod["metadata"]["name"].startswith("steady")]
    if pods:
        try:
            await world.request("DELETE", f"{PODS}/{pods[0]}")
        except NotFoundError:
            return


def succeeded(state: State, name: str, *, deleted: bool) -> int:
    """Pods that ended well: work is done once. Whether one counts that was deleted by hand depends on the moment."""
    uid = (state.get("jobs", "default", name) or {})["metadata"]["uid"]
    mine = [pod for pod in state.ever("pods") if _owner(pod) == uid]
    return sum(
        pod.get("status", {}).get("phase") == "Succeeded" and ("deletionTimestamp" in pod["metadata"]) is deleted
        for pod in mine
    )


def is_complete(world: World, name: str) -> bool:
    return has_ended(world.state.get("jobs", "default", name) or {}, "Complete")


def has_ended(tree: JsonObject, condition: str) -> bool:
    conditions = tree.get("status", {}).get("conditions", [])
    return any(found["type"] == condition and found["status"] == "True" for found in conditions)


def tracked(state: State) -> list[str]:
    return [pod["metadata"]["name"] for pod in state.all("pods") if TRACKING in pod["metadata"].get("finalizers", [])]


def never_more_than_parallel(state: State) -> str | None:
    for owner in state.all("jobs"):
        active = [pod for pod in state.controlled_by("pods", owner["metadata"]["uid"]) if _is_active(pod)]
        allowed = owner["spec"].get("parallelism", 1)
        if len(active) > allowed:
            return f"{len(active)} Pods of {owner['metadata']['name']} are active, {allowed} are allowed"
    return None


def _is_active(pod: JsonObject) -> bool:
    is_over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not is_over and "deletionTimestamp" not in pod["metadata"]


def counts_are_true(state: State) -> str | None:
    """A Pod is counted at most once: never more successes than Pods that succeeded, ever."""
    if state.last is None or state.last[0] != "jobs":
        return None
    tree = state.last[1]
    succeeded = sum(
        1
        for pod in state.ever("pods")
        if pod.get("status", {}).get("phase") == "Succeeded" and _owner(pod) == tree["metadata"]["uid"]
    )
    told = tree.get("status", {}).get("succeeded", 0)
    return f"{told} successes are told, {succeeded} Pods succeeded" if told > succeeded else None


def _owner(pod: JsonObject) -> str:
    return next((o["uid"] for o in pod["metadata"].get("ownerReferences", []) if o.get("controller")), "")


def an_end_is_final(state: State) -> str | None:
    if state.last is None or state.last[0] != "jobs" or state.last[2] is None:
        return None
    _plural, after, before = state.last
    assert before is not None
    for condition in ("Complete", "Failed"):
        if has_ended(before, condition) and not has_ended(after, condition):
            return f"{after['metadata']['name']} was {condition} and is not any more"
    return None


def summary(objects: Mapping[str, JsonObject]) -> object:
    """How far the doomed one came is chance; the others have an end that no fault may change."""
    jobs = [objects[f"jobs/default/{name}"] for name in ("steady", "paused")]
    return [(tree["status"].get("succeeded"), has_ended(tree, "Complete")) for tree in jobs]


JOB_CASE = Case(
    name="jobs",
    scenario=jobs_through_trouble,
    invariants=(never_more_than_parallel, counts_are_true, an_end_is_final),
    program=CONTROLLER,
    summary=summary,
)
