"""What must hold for RayJobs at every revision, as functions over the whole state. Each names itself by its id.

They look at the write that was just carried out, and compare it with what Ray really did: the truth is the script's.
"""

from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import parse_timestamp
from heliostat.ray.answers import ENDED, FAILED, STOPPED, SUCCEEDED
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import controller_uid, is_terminating, name_of, uid_of
from simulation.rayclusters.writes import changed, created
from simulation.rayjobs.dashboards import Taken, dashboards_of

# The test's own table: from which phase an operator may lead to which.
NEXT: dict[str, tuple[str, ...]] = {
    "": ("Initializing", "ValidationFailed"),
    "Initializing": ("Running", "Waiting", "Suspending", "Failed", "Retrying", "ValidationFailed"),
    "Waiting": ("Running", "Suspending", "Failed", "Retrying", "ValidationFailed"),
    "Running": ("Complete", "Failed", "Retrying", "Suspending", "ValidationFailed"),
    "Suspending": ("Suspended",),
    "Suspended": ("", "ValidationFailed"),
    "Retrying": ("",),
    "ValidationFailed": ("", "Initializing", "Waiting", "Running", "Retrying"),
}
OVER = ("Complete", "Failed")
SILENCE_SECONDS = 300  # the status check time-out: for so long "unknown" is no failure
SLACK = 1.5  # seconds: times are told in whole ones


def status_of(job: JsonObject) -> JsonObject:
    status: JsonObject = job.get("status") or {}
    return status


def phase_of(job: JsonObject) -> str:
    return str(status_of(job).get("jobDeploymentStatus") or "")


def find_job(state: State, uid: str) -> JsonObject | None:
    return next((job for job in state.all("rayjobs") if uid_of(job) == uid), None)


def told(state: State) -> tuple[JsonObject, JsonObject] | None:
    """After and before, if the last write was of a RayJob's status."""
    found = changed(state, "rayjobs")
    return None if found is None or status_of(found[0]) == status_of(found[1]) else found


def names_come_first(state: State) -> str | None:
    """J2"""
    cluster = created(state, "rayclusters")
    owner = find_job(state, controller_uid(cluster)) if cluster is not None else None
    if cluster is not None and owner is not None and status_of(owner).get("rayClusterName") != name_of(cluster):
        return f"RayCluster {name_of(cluster)} is made, and {name_of(owner)} has not written its name down"
    return None


def one_cluster(state: State) -> str | None:
    """J2"""
    cluster = created(state, "rayclusters")
    if cluster is None or not controller_uid(cluster):
        return None
    mates = state.controlled_by("rayclusters", controller_uid(cluster))
    return f"{sorted(map(name_of, mates))} are there at once" if len(mates) > 1 else None


def only_steps_of_the_table(state: State) -> str | None:
    """J3"""
    found = told(state)
    if found is None:
        return None
    after, before = phase_of(found[0]), phase_of(found[1])
    if after == before or after in NEXT.get(before, ()):
        return None
    return f"{name_of(found[0])} goes from {before!r} to {after!r}"


def an_end_is_final(state: State) -> str | None:
    """J3"""
    found = told(state)
    if found is None or phase_of(found[1]) not in OVER:
        return None
    return f"{name_of(found[0])} was {status_of(found[1])} and is {status_of(found[0])}"


def ray_said_so(state: State) -> str | None:
    """J4"""
    found = told(state)
    if found is None:
        return None
    status, before = status_of(found[0]), status_of(found[1])
    said = str(status.get("jobStatus") or "")
    if not said or said == before.get("jobStatus") or _is_declared(status):
        return None
    takes = dashboards_of(state).takes_of(status.get("jobId") or before.get("jobId") or "")
    if any(_is_true(state, said, taken) for taken in takes):
        return None
    return f"{name_of(found[0])} says {said}, which no Ray has ever said of {status.get('jobId')}"


def _is_declared(status: JsonObject) -> bool:
    """KubeRay: a job whose submitter succeeded, and that does not end, is FAILED after 30 seconds."""
    grace = status.get("reason") == "JobDeploymentStatusTransitionGracePeriodExceeded"
    return bool(grace and status.get("jobStatus") == FAILED)


def _is_true(state: State, said: str, taken: Taken) -> bool:
    truth = dashboards_of(state).status_of(taken)
    return truth == said or said not in ENDED


def ends_are_true(state: State) -> str | None:
    """J4"""
    found = told(state)
    if found is None or phase_of(found[0]) == phase_of(found[1]):
        return None
    return next(_find_untrue_end(state, *found), None)


def _find_untrue_end(state: State, after: JsonObject, before: JsonObject) -> Iterator[str]:
    ray, status, name = dashboards_of(state), status_of(after), name_of(after)
    id_, phase, reason = status_of(before).get("jobId") or "", phase_of(after), status.get("reason") or ""
    truths = [ray.status_of(taken) for taken in ray.takes_of(id_)]
    if phase == "Complete" and not {SUCCEEDED, STOPPED} & {*truths}:
        yield f"{name} is Complete, and Ray says {truths}"
    if phase not in ("Failed", "Retrying"):
        return
    if reason == "AppFailed" and _is_well(state, id_):
        yield f"{name} has failed ({status.get('message')}), and Ray, which is there, says {truths}"
    silent = status_of(before).get("jobStatusCheckFailureStartTime")
    if reason == "SubmissionFailed" and _is_well(state, id_) and silent:
        # Nobody could know better: silence has its time-out, and it ends like this only if Ray never told of the job.
        if status.get("jobStatus"):
            yield f"{name} was never submitted, it says, and it says {status['jobStatus']}"
        yield from _find_early(state, after, SILENCE_SECONDS, silent, f"{reason}, with a Ray that is silent")
    elif reason == "SubmissionFailed" and _is_well(state, id_):
        yield f"{name} was never submitted, it says, and Ray says {truths}"
    for field, start in (("activeDeadlineSeconds", "startTime"), ("preRunningDeadlineSeconds", "startTime")):
        if reason.lower().startswith(field.lower().removesuffix("seconds").removeprefix("active")):
            yield from _find_early(state, after, after["spec"].get(field), status.get(start), reason)
    if reason == "JobStatusCheckTimeoutExceeded":
        yield from _find_early(state, after, SILENCE_SECONDS, silent, reason)


def _is_well(state: State, id_: str) -> bool:
    """A Ray that can be asked has the job, and it did not fail."""
    ray = dashboards_of(state)
    return any(ray.is_kept(taken) and ray.status_of(taken) != FAILED for taken in ray.takes_of(id_))


def _find_early(state: State, job: JsonObject, seconds: int | None, since: str | None, why: str) -> Iterator[str]:
    if seconds is None or since is None:
        yield f"{name_of(job)} ends by {why}, and nothing of the kind was asked for"
    elif dashboards_of(state).now() < parse_timestamp(since) + seconds - SLACK - 2 * state.skew:
        yield f"{name_of(job)} ends by {why} before its time: {seconds} s since {since}"


def chosen_clusters_stay_as_they_are(state: State) -> str | None:
    """J5"""
    found = changed(state, "rayclusters")
    if found is None or controller_uid(found[0]):
        return None
    after, before = found
    is_gone = state.get("rayclusters", after["metadata"]["namespace"], name_of(after)) is None
    if is_terminating(before):
        return None
    if is_gone or is_terminating(after):
        return f"{name_of(after)}, which belongs to no RayJob, is deleted"
    return f"{name_of(after)} is changed" if after["spec"] != before["spec"] else None


def nothing_goes_early(state: State) -> str | None:
    """J6"""
    found = changed(state, "rayclusters")
    if found is None or is_terminating(found[1]):
        return None
    after, before = found
    is_gone = state.get("rayclusters", after["metadata"]["namespace"], name_of(after)) is None
    job = find_job(state, controller_uid(after))
    if job is None or is_terminating(job) or not (is_gone or is_terminating(after) or after["spec"] != before["spec"]):
        return None
    phase = phase_of(job)
    if phase in ("Suspending", "Retrying", "ValidationFailed"):
        return None
    if phase not in OVER:
        return f"{name_of(after)} goes while {name_of(job)} is {phase}"
    since, now = parse_timestamp(status_of(job)["endTime"]), dashboards_of(state).now()
    if now < since + soonest_of(job) - SLACK - 2 * state.skew:
        return f"{name_of(after)} goes {now - since:.1f} s after the end, {soonest_of(job)} s were asked for"
    return None


def soonest_of(job: JsonObject) -> float:
    """Seconds after the end when anything of the cluster may go."""
    spec = job["spec"]
    rules = (spec.get("deletionStrategy") or {}).get("deletionRules")
    if rules:
        return float(min(rule["condition"].get("ttlSeconds", 0) for rule in rules))
    return float(spec.get("ttlSecondsAfterFinished") or 0) if spec.get("shutdownAfterJobFinishes") else float("inf")


def attempts_are_counted(state: State) -> str | None:
    """J7"""
    found = told(state)
    if found is None:
        return None
    failed, allowed = int(status_of(found[0]).get("failed") or 0), int(found[0]["spec"].get("backoffLimit") or 0) + 1
    return f"{name_of(found[0])} has failed {failed} times, {allowed} are allowed" if failed > allowed else None


def a_job_is_stopped_before_it_goes(state: State) -> str | None:
    """J8"""
    found = changed(state, "rayjobs")
    if found is None or state.get("rayjobs", "default", name_of(found[0])) is not None:
        return None
    ray, id_ = dashboards_of(state), status_of(found[1]).get("jobId") or ""
    # An attempt to ask is enough, also one that is lost on its way: it goes even if Ray is gone.
    if id_ in ray.asked_to_stop or any(f"/{id_}/stop" in line for line in ray.world.trace):
        return None
    running = [taken for taken in ray.takes_of(id_) if ray.is_kept(taken) and ray.status_of(taken) not in ENDED]
    was_told = status_of(found[1]).get("jobStatus") in ENDED
    return f"{name_of(found[0])} is gone, and nobody asked Ray to stop {id_}" if running and not was_told else None


def suspended_means_empty(state: State) -> str | None:
    """J6"""
    found = told(state)
    if found is None or phase_of(found[0]) != "Suspended" or phase_of(found[1]) == "Suspended":
        return None
    cluster = status_of(found[1]).get("rayClusterName") or ""
    left = [name_of(pod) for pod in state.all("pods") if _is_of(pod, cluster) or _is_of_job(state, pod, found[0])]
    return f"{name_of(found[0])} is Suspended, and {left} are there" if left else None


def _is_of(pod: JsonObject, cluster: str) -> bool:
    return bool(cluster) and (pod["metadata"].get("labels") or {}).get("ray.io/cluster") == cluster


def _is_of_job(state: State, pod: JsonObject, job: JsonObject) -> bool:
    return any(uid_of(each) == controller_uid(pod) for each in state.controlled_by("jobs", uid_of(job)))


LAWS = (
    names_come_first, one_cluster, only_steps_of_the_table, an_end_is_final, ray_said_so, ends_are_true,
    chosen_clusters_stay_as_they_are, nothing_goes_early, attempts_are_counted, a_job_is_stopped_before_it_goes,
    suspended_means_empty,
)  # fmt: skip
