"""What must hold for Pods whenever an operator has written: which may come, and which may go."""

from heliostat.desired.labels import OPERATOR_VERSION
from heliostat.kube.jsontree import JsonObject
from heliostat.plan.because import Because
from heliostat.plan.raycluster.deletion import FINALIZER
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import (
    HEAD,
    SUSPENDED,
    SUSPENDING,
    WORKER,
    asked_away,
    controller_uid,
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
from simulation.rayclusters.writes import asked_to_go, created

MAY_END_A_HEAD = (Because.SUSPENDED, Because.SPEC_CHANGED, Because.CLUSTER_DELETED)
HEAD_WAIT, WORKER_WAIT = 300.0, 60.0  # seconds after which one that does not finish terminating no longer counts


def one_head(state: State) -> str | None:
    """C1"""
    pod = created(state, "pods")
    if pod is None or label(pod, "node-type") != HEAD:
        return None
    heads = [
        name_of(each)
        for each in pods_of(state, controller_uid(pod), HEAD)
        if not is_stuck(each, pod, HEAD_WAIT - state.skew)
    ]
    return f"a head was made beside another: {heads}" if len(heads) > 1 else None


def never_too_many_workers(state: State) -> str | None:
    """C2"""
    pod = created(state, "pods")
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
    here = [
        each for each in workers if _place(each) not in parting and not is_stuck(each, pod, WORKER_WAIT - state.skew)
    ]
    most = max(wanted_workers(spec, group) for spec in specs)
    return f"{len(here)} workers of {group} are there, at most {most} were wanted" if len(here) > most else None


def _place(worker: JsonObject) -> str:
    """What it takes part in: its multi-host replica, or a place of its own."""
    return label(worker, "worker-group-replica-name") or uid_of(worker)


def healthy_heads_stay(state: State) -> str | None:
    """C4"""
    pod = asked_to_go(state)
    if pod is None or label(pod, "node-type") != HEAD or not is_live(pod):
        return None
    because = state.reasons.get(uid_of(pod), "nothing")
    return None if because in MAY_END_A_HEAD else f"the healthy head {name_of(pod)} was deleted because of {because}"


def recreation_is_complete(state: State) -> str | None:
    """C4"""
    head = created(state, "pods")
    cluster = find_cluster(state, controller_uid(head)) if head is not None else None
    if head is None or cluster is None or label(head, "node-type") != HEAD or not _is_recreated(cluster):
        return None
    if lost_track_of_the_spec(state, cluster, head):
        return None
    images = {_image(spec["headGroupSpec"]["template"]) for spec in state.admissible_specs(cluster)}
    old = [
        name_of(pod) for pod in pods_of(state, uid_of(cluster), WORKER) if is_live(pod) and _image(pod) not in images
    ]
    return f"a new head was made, and of a former spec {old} stay" if old else None


def lost_track_of_the_spec(state: State, cluster: JsonObject, now: JsonObject | None = None) -> bool:
    """Only the head knows which spec its workers are of: one that was lost took that along."""
    heads = [pod for pod in state.ever("pods") if _is_head_of(cluster, pod)]
    versions = {(pod["metadata"].get("annotations") or {}).get(OPERATOR_VERSION) for pod in heads}
    gone = [pod for pod in heads if pod is not now and not is_live(pod)]
    return len(versions) > 1 or any(state.reasons.get(uid_of(pod)) != Because.SPEC_CHANGED for pod in gone)


def _is_head_of(cluster: JsonObject, pod: JsonObject) -> bool:
    return controller_uid(pod) == uid_of(cluster) and label(pod, "node-type") == HEAD


def _is_recreated(cluster: JsonObject) -> bool:
    return bool((cluster["spec"].get("upgradeStrategy") or {}).get("type") == "Recreate")


def _image(pod: JsonObject) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def nothing_starts_while_suspended(state: State) -> str | None:
    """C9"""
    pod = created(state, "pods")
    cluster = find_cluster(state, controller_uid(pod)) if pod is not None else None
    if pod is None or cluster is None:
        return None
    held = [type_ for type_ in (SUSPENDING, SUSPENDED) if has_condition(cluster, type_)]
    return f"{name_of(pod)} was made while {name_of(cluster)} is {held[0]}" if held else None


def replicas_are_whole(state: State) -> str | None:
    """C10"""
    pod = created(state, "pods")
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


def pods_come_after_the_pledge(state: State) -> str | None:
    """C7"""
    pod = created(state, "pods")
    cluster = find_cluster(state, controller_uid(pod)) if pod is not None else None
    if pod is None or cluster is None or is_terminating(cluster) or not _keeps_in_redis(cluster):
        return None
    is_pledged = FINALIZER in (cluster["metadata"].get("finalizers") or ())
    return None if is_pledged else f"{name_of(pod)} was made before {name_of(cluster)} pledged its clean-up"


def _keeps_in_redis(cluster: JsonObject) -> bool:
    return "redisAddress" in (cluster["spec"].get("gcsFaultToleranceOptions") or {})
