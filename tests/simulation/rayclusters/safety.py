"""What must hold at every revision, as functions over the whole state. Each names itself by its id of the test plan.

They look at the write that was just carried out: what an operator wrote, and whether that may be in the world as it is.
"""

from collections.abc import Callable, Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.plan.because import Because
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Invariant
from simulation.rayclusters.reading import (
    HEAD,
    OPERATORS,
    SUSPENDED,
    SUSPENDING,
    WORKER,
    asked_away,
    controller_of,
    controller_uid,
    ever_cluster,
    find_cluster,
    find_group,
    has_condition,
    has_ended,
    hosts_of,
    is_live,
    is_stuck,
    is_terminating,
    label,
    name_of,
    pods_of,
    uid_of,
    wanted_workers,
    workers_in,
)

MAY_END_A_HEAD = (Because.SUSPENDED, Because.SPEC_CHANGED, Because.CLUSTER_DELETED)
HEAD_WAIT, WORKER_WAIT = 300.0, 60.0  # seconds after which one that does not finish terminating no longer counts
DEADLINE = "ray.io/gcs-ft-deletion-timeout"
TIMES = ("lastUpdateTime", "observedGeneration")


def _written(state: State, plural: str) -> tuple[JsonObject, JsonObject | None] | None:
    """After and before, if the last write was an operator's to this resource."""
    if state.by not in OPERATORS or state.last is None or state.last[0] != plural:
        return None
    return state.last[1], state.last[2]


def _changed(state: State, plural: str) -> tuple[JsonObject, JsonObject] | None:
    written = _written(state, plural)
    return None if written is None or written[1] is None else (written[0], written[1])


def _created(state: State, plural: str) -> JsonObject | None:
    written = _written(state, plural)
    return written[0] if written is not None and written[1] is None else None


def _asked_to_go(state: State) -> JsonObject | None:
    """The Pod that an operator has just deleted, as it was before."""
    written = _written(state, "pods")
    if written is None or written[1] is None or is_terminating(written[1]):
        return None
    after, before = written
    is_gone = state.get("pods", after["metadata"]["namespace"], name_of(after)) is None
    return before if is_terminating(after) or is_gone else None


def one_head(state: State) -> str | None:
    """C1"""
    pod = _created(state, "pods")
    if pod is None or label(pod, "node-type") != HEAD:
        return None
    heads = [name_of(each) for each in pods_of(state, controller_uid(pod), HEAD) if not is_stuck(each, pod, HEAD_WAIT)]
    return f"a head was made beside another: {heads}" if len(heads) > 1 else None


def never_too_many_workers(state: State) -> str | None:
    """C2"""
    pod = _created(state, "pods")
    if pod is None or label(pod, "node-type") != WORKER:
        return None
    cluster = find_cluster(state, controller_uid(pod))
    if cluster is None:
        return None  # it went meanwhile; what comes too late is collected
    group = label(pod, "group")
    specs = state.admissible_specs(cluster)
    asked = {name for spec in specs for name in asked_away(spec)}
    workers = workers_in(pods_of(state, uid_of(cluster)), group)
    ever = [each for each in state.ever("pods") if controller_uid(each) == uid_of(cluster)]
    parting = {_place(each) for each in ever if has_ended(each) or name_of(each) in asked}
    here = [each for each in workers if _place(each) not in parting and not is_stuck(each, pod, WORKER_WAIT)]
    most = max(wanted_workers(spec, group) for spec in specs)
    return f"{len(here)} workers of {group} are there, at most {most} were wanted" if len(here) > most else None


def _place(worker: JsonObject) -> str:
    """What it takes part in: its multi-host replica, or a place of its own."""
    return label(worker, "worker-group-replica-name") or uid_of(worker)


def healthy_heads_stay(state: State) -> str | None:
    """C4"""
    pod = _asked_to_go(state)
    if pod is None or label(pod, "node-type") != HEAD or not is_live(pod):
        return None
    because = state.reasons.get(uid_of(pod), "nothing")
    return None if because in MAY_END_A_HEAD else f"the healthy head {name_of(pod)} was deleted because of {because}"


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


def secrets_are_made_once(state: State) -> str | None:
    """C5"""
    written = _written(state, "secrets")
    return f"Secret {name_of(written[0])} was overwritten" if written and written[1] is not None else None


def specs_belong_to_users(state: State) -> str | None:
    """C8"""
    written = _written(state, "rayclusters")
    if written is None or written[1] is None or written[0]["spec"] == written[1]["spec"]:
        return None
    return f"the operator changed the spec of {name_of(written[0])}"


def nothing_starts_while_suspended(state: State) -> str | None:
    """C9"""
    pod = _created(state, "pods")
    cluster = find_cluster(state, controller_uid(pod)) if pod is not None else None
    if pod is None or cluster is None:
        return None
    held = [type_ for type_ in (SUSPENDING, SUSPENDED) if has_condition(cluster, type_)]
    return f"{name_of(pod)} was made while {name_of(cluster)} is {held[0]}" if held else None


def suspended_means_empty(state: State) -> str | None:
    """C9"""
    changed = _changed(state, "rayclusters")
    if changed is None:
        return None
    after, before = changed
    if not has_condition(after, SUSPENDED) or has_condition(before, SUSPENDED):
        return None
    left = [name_of(pod) for pod in pods_of(state, uid_of(after))]
    return f"{name_of(after)} says that it is suspended, and {left} are there" if left else None


def replicas_are_whole(state: State) -> str | None:
    """C10"""
    pod = _created(state, "pods")
    replica = label(pod, "worker-group-replica-name") if pod is not None else ""
    cluster = find_cluster(state, controller_uid(pod)) if pod is not None else None
    if pod is None or cluster is None or not replica:
        return None
    mates = [each for each in state.ever("pods") if _is_mate(each, pod, replica)]
    groups = [find_group(spec, label(pod, "group")) for spec in state.admissible_specs(cluster)]
    most = max((hosts_of(group) for group in groups if group is not None), default=0)
    if len(mates) > most:
        return f"replica {replica} has had {len(mates)} Pods of {most}"
    going = [name_of(mate) for mate in mates if uid_of(mate) in state.reasons and mate is not pod]
    return f"{name_of(pod)} joins replica {replica}, of which {going} were deleted" if going else None


def _is_mate(each: JsonObject, pod: JsonObject, replica: str) -> bool:
    same_owner = controller_uid(each) == controller_uid(pod)
    return same_owner and label(each, "worker-group-replica-name") == replica


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
    changed = _changed(state, "rayclusters")
    if changed is None:
        return None
    after, before = changed
    new, old = after.get("status") or {}, before.get("status") or {}
    return None if new == old else next(_status_problems(new, old), None)


def _status_problems(new: JsonObject, old: JsonObject) -> Iterator[str]:
    if new.get("observedGeneration", 0) < old.get("observedGeneration", 0):
        yield f"observedGeneration went back from {old['observedGeneration']} to {new.get('observedGeneration')}"
    if all(new.get(key) == old.get(key) for key in {*new, *old} - set(TIMES)):
        yield "a status was written that differs in times alone"
    for condition in new.get("conditions") or ():
        former = next((each for each in old.get("conditions") or () if each["type"] == condition["type"]), None)
        if former is not None and not _is_a_step(former, condition):
            yield f"{condition['type']} went from {former} to {condition}"


def _is_a_step(old: JsonObject, new: JsonObject) -> bool:
    """A time is in whole seconds, so two transitions may have the same."""
    then, now = old["lastTransitionTime"], new["lastTransitionTime"]
    return bool(then == now if old["status"] == new["status"] else then <= now)


def redis_is_emptied_first(state: State) -> str | None:
    """C7"""
    changed = _changed(state, "rayclusters")
    if changed is None:
        return None
    after, before = changed
    is_held = find_cluster(state, uid_of(after)) is not None and after["metadata"].get("finalizers")
    if (
        is_held
        or not before["metadata"].get("finalizers")
        or before["metadata"].get("annotations", {}).get("ray.io/gcs-ft-deletion-timeout")
    ):
        return None
    jobs = [job for job in state.ever("jobs") if controller_uid(job) == uid_of(after)]
    if any(_is_job_over(job) for job in jobs):
        return None
    return f"the finalizer of {name_of(after)} went before its clean-up had ended ({len(jobs)} Jobs)"


def _is_job_over(job: JsonObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(found["type"] in ("Complete", "Failed", "FailureTarget") for found in conditions)


def _named(law: Callable[[State], str | None]) -> Invariant:
    """The id in front of the name, as a finding tells it."""

    def invariant(state: State) -> str | None:
        return law(state)

    invariant.__name__ = f"{law.__doc__} {law.__name__}"
    return invariant


SAFETY: tuple[Invariant, ...] = tuple(
    _named(law)
    for law in (
        one_head,
        never_too_many_workers,
        healthy_heads_stay,
        only_its_own,
        secrets_are_made_once,
        specs_belong_to_users,
        nothing_starts_while_suspended,
        suspended_means_empty,
        replicas_are_whole,
        managed_elsewhere_is_left_alone,
        statuses_make_sense,
        redis_is_emptied_first,
    )
)
