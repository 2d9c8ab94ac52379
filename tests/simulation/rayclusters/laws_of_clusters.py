"""What must hold for RayClusters and what is around their Pods, whenever an operator has written."""

from collections.abc import Iterator
from itertools import chain

from heliostat.kube.jsontree import JsonObject
from heliostat.plan.raycluster.deletion import FINALIZER
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import (
    OPERATORS,
    SUSPENDED,
    SUSPENDING,
    controller_of,
    controller_uid,
    ever_cluster,
    find_cluster,
    has_condition,
    is_terminating,
    name_of,
    pods_of,
    uid_of,
)
from simulation.rayclusters.writes import changed, written

DEADLINE = "ray.io/gcs-ft-deletion-timeout"
CLEANUP_SECONDS = 300.0  # after which it is given up
TIMES = ("lastUpdateTime",)


def only_its_own(state: State) -> str | None:
    """C6"""
    if state.last is None or state.by not in OPERATORS or state.last[0] in ("events", "leases", "rayclusters"):
        return None
    plural, after, before = state.last
    owner = controller_of(before or after)
    what = f"{plural}/{name_of(after)}"
    if owner is None:
        return f"{what} was written and belongs to nobody"
    cluster = ever_cluster(state, owner["uid"])
    if cluster is None or name_of(cluster) != owner["name"] or owner["kind"] != "RayCluster":
        return f"{what} was written and belongs to {owner['kind']} {owner['name']}, which never was"
    return None


def only_the_leader_writes(state: State) -> str | None:
    """C12"""
    if state.last is None or state.by not in OPERATORS or state.last[0] in ("leases", "events"):
        return None
    lease = state.get("leases", "kube-system", "ray-operator-leader")
    holder = lease["spec"].get("holderIdentity") or "" if lease is not None else ""
    if holder.startswith(f"{state.by}-"):
        state.led.add(holder)
    elif holder in state.led:
        return f"{state.by} wrote {state.last[0]}/{name_of(state.last[1])} after {holder} had begun to lead"
    return None


def secrets_are_made_once(state: State) -> str | None:
    """C5"""
    found = written(state, "secrets")
    return f"Secret {name_of(found[0])} was overwritten" if found and found[1] is not None else None


def specs_belong_to_users(state: State) -> str | None:
    """C8"""
    found = written(state, "rayclusters")
    if found is None or found[1] is None or found[0]["spec"] == found[1]["spec"]:
        return None
    return f"the operator changed the spec of {name_of(found[0])}"


def what_others_say_stays(state: State) -> str | None:
    """C5"""
    found = changed(state, "rayclusters")
    if found is None:
        return None
    after, before = map(_said_by_others, found)
    is_gone = find_cluster(state, uid_of(found[0])) is None
    if after != before or (is_gone and before["finalizers"]):
        return f"{name_of(found[0])} said {before}, and now {'nothing' if is_gone else after}"
    return None


def _said_by_others(cluster: JsonObject) -> JsonObject:
    metadata = cluster["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
    return {"finalizers": finalizers} | {key: metadata.get(key) for key in ("labels", "annotations")}


def suspended_means_empty(state: State) -> str | None:
    """C9"""
    found = changed(state, "rayclusters")
    if found is None:
        return None
    after, before = found
    if not has_condition(after, SUSPENDED) or has_condition(before, SUSPENDED):
        return None
    left = [name_of(pod) for pod in pods_of(state, uid_of(after))]
    return f"{name_of(after)} says that it is suspended, and {left} are there" if left else None


def suspension_is_all_or_nothing(state: State) -> str | None:
    """C9"""
    found = changed(state, "rayclusters")
    if found is None:
        return None
    after, before = found
    is_over = has_condition(before, SUSPENDING) and not has_condition(after, SUSPENDING)
    return f"{name_of(after)} took its suspension back" if is_over and not has_condition(after, SUSPENDED) else None


def managed_elsewhere_is_left_alone(state: State) -> str | None:
    """C11"""
    if state.last is None or state.by not in OPERATORS:
        return None
    plural, after, _before = state.last
    cluster = after if plural == "rayclusters" else ever_cluster(state, controller_uid(after))
    if cluster is None or "managedBy" not in cluster["spec"] or plural == "events":
        return None
    return f"{plural}/{name_of(after)} was written, and {name_of(cluster)} is managed by another"


def statuses_make_sense(state: State) -> str | None:
    """C13"""
    found = changed(state, "rayclusters")
    if found is None:
        return None
    after, before = found
    new, old = after.get("status") or {}, before.get("status") or {}
    if new == old:
        return None
    return next(chain(_find_wrong_generation(after, old), _status_problems(new, old)), None)


def _find_wrong_generation(cluster: JsonObject, old: JsonObject) -> Iterator[str]:
    """A write names the version it was decided from, so what was worked out anew is of the spec that is there."""
    status, generation = cluster.get("status") or {}, cluster["metadata"]["generation"]
    is_new = status.get("lastUpdateTime") != old.get("lastUpdateTime")
    if is_new and status.get("observedGeneration") != generation:
        yield f"generation {status.get('observedGeneration')} is told of, and the spec's is {generation}"


def _status_problems(new: JsonObject, old: JsonObject) -> Iterator[str]:
    if new.get("observedGeneration", 0) < old.get("observedGeneration", 0):
        yield f"observedGeneration went back from {old['observedGeneration']} to {new.get('observedGeneration')}"
    if all(new.get(key) == old.get(key) for key in {*new, *old} - set(TIMES)):
        yield "a status was written that differs in times alone"
    for condition in new.get("conditions") or ():
        former = next((each for each in old.get("conditions") or () if each["type"] == condition["type"]), None)
        if former is not None and not _has_its_time(former, condition, new.get("lastUpdateTime", "")):
            yield f"{condition['type']} went from {former} to {condition} at {new.get('lastUpdateTime')}"


def _has_its_time(old: JsonObject, new: JsonObject, now: str) -> bool:
    """That of the write that changed it, exactly when it changed."""
    moment = old["lastTransitionTime"] if old["status"] == new["status"] else now
    return bool(new["lastTransitionTime"] == moment)


def redis_is_emptied_first(state: State) -> str | None:
    """C7"""
    found = changed(state, "rayclusters")
    if found is None:
        return None
    after, before = found
    is_held = find_cluster(state, uid_of(after)) is not None and _has_pledged(after)
    if is_held or not _has_pledged(before) or before["metadata"].get("annotations", {}).get(DEADLINE):
        return None
    if state.skew >= CLEANUP_SECONDS or _is_ending(state, after["metadata"]["namespace"]):
        return None  # by a clock that is so wrong its time was over; or there is no place for a Job any more
    jobs = [job for job in state.ever("jobs") if controller_uid(job) == uid_of(after)]
    if any(_is_job_over(job) for job in jobs):
        return None
    return f"the finalizer of {name_of(after)} went before its clean-up had ended ({len(jobs)} Jobs)"


def _is_ending(state: State, namespace: str) -> bool:
    found = state.get("namespaces", "", namespace)
    return found is not None and is_terminating(found)


def _has_pledged(cluster: JsonObject) -> bool:
    return FINALIZER in (cluster["metadata"].get("finalizers") or ())


def _is_job_over(job: JsonObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in ("Complete", "Failed", "FailureTarget") for each in conditions)
