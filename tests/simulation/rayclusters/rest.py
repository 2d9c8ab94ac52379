"""What a world at rest looks like: exactly what every spec asks for, and nobody writes any more.

L1: in bounded time after the last fault. C7: nothing is left of what is gone. C8: every name in workersToDelete is
answered. C10: replicas are whole. C13: the status tells the truth. C14: idle means silence.
"""

import asyncio
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Violation, World
from simulation.rayclusters.laws_of_pods import lost_track_of_the_spec
from simulation.rayclusters.programs import Staff
from simulation.rayclusters.reading import (
    HEAD,
    SUSPENDED,
    SUSPENDING,
    WORKER,
    asked_away,
    controller_uid,
    ever_cluster,
    find_cluster,
    find_group,
    groups_of,
    has_condition,
    hosts_of,
    is_autoscaling,
    is_live,
    is_ready,
    is_terminating,
    label,
    name_of,
    pods_of,
    uid_of,
    wanted_workers,
    workers_in,
)

REST_SECONDS = 600.0  # a stuck head is waited for five minutes, an undone clean-up as long
GONE_SECONDS = 300.0  # after which nothing is left of what was deleted
IDLE_SECONDS = 330.0  # more than the pause between two looks at a cluster where nothing happens
REFUSED = "refused"  # of these names nothing is expected
OWNED = ("pods", "services", "secrets", "serviceaccounts", "roles", "rolebindings", "jobs", "ingresses")


async def come_to_rest(
    world: World, staff: Staff, idle_seconds: float = IDLE_SECONDS, at_most: float = REST_SECONDS
) -> None:
    deadline = world.time() + at_most
    while unrest := next(find_unrest(world.state, staff), None):
        if world.time() > deadline:
            raise Violation(f"L1: {at_most:.0f} s after the last step: {unrest}")
        await asyncio.sleep(0.5)
    await world.until_quiet(idle_seconds, idle_seconds * 3)
    for unrest in find_unrest(world.state, staff):
        raise Violation(f"L1: it was at rest, and then: {unrest}")


def find_unrest(state: State, staff: Staff) -> Iterator[str]:
    for cluster in state.all("rayclusters"):
        if REFUSED in name_of(cluster) or "managedBy" in cluster["spec"]:
            yield from _find_objects(state, cluster)
        elif is_terminating(cluster):
            yield f"C7: {name_of(cluster)} is still being deleted"
        else:
            yield from _find_unrest_of(state, cluster, staff)
    yield from _find_orphans(state, staff.lost)


def _find_objects(state: State, cluster: JsonObject) -> Iterator[str]:
    for plural in OWNED:
        for tree in state.controlled_by(plural, uid_of(cluster)):
            yield f"C11: {plural}/{name_of(tree)} was made for {name_of(cluster)}"


def _find_orphans(state: State, lost: set[str]) -> Iterator[str]:
    for plural in OWNED:
        for tree in state.all(plural):
            owner = controller_uid(tree)
            if is_terminating(tree) and tree["spec"].get("nodeName") in lost:
                continue  # nobody but its node can tell that it is over
            if ever_cluster(state, owner) is not None and find_cluster(state, owner) is None:
                yield f"C7: {plural}/{name_of(tree)} is left of a RayCluster that is gone"


def _is_leftover(pod: JsonObject, spec: JsonObject) -> bool:
    """Of a group that the spec no longer has: an operator that never saw the group only reports its Pods."""
    return label(pod, "node-type") == WORKER and find_group(spec, label(pod, "group")) is None


def _find_unrest_of(state: State, cluster: JsonObject, staff: Staff) -> Iterator[str]:
    name, spec = name_of(cluster), cluster["spec"]
    pods = pods_of(state, uid_of(cluster))
    jobs = [pod for pod in pods if label(pod, "node-type") not in (HEAD, WORKER)]
    yield from (f"C7: {name_of(pod)} is neither head nor worker" for pod in jobs)
    ended = [pod for pod in pods if not is_terminating(pod) and not is_live(pod)]
    yield from (f"{name_of(pod)} has ended" for pod in ended if not _is_leftover(pod, spec))
    for answered in asked_away(spec):
        if any(name_of(pod) == answered and not is_terminating(pod) for pod in pods):
            yield f"C8: {answered} is asked to go and stays"
    if spec.get("suspend"):
        yield from (f"C9: {name_of(pod)} is there, and {name} is suspended" for pod in pods)
        if not has_condition(cluster, SUSPENDED):
            yield f"C9: {name} does not say that it is suspended"
        yield from _find_untrue_suspension(cluster)
        return
    live = [pod for pod in pods if is_live(pod)]
    heads = [pod for pod in live if label(pod, "node-type") == HEAD]
    if len(heads) != 1:
        yield f"{name} has {len(heads)} heads"
    yield from _find_wrong_counts(cluster, live)
    yield from _find_strays(cluster, live, staff)
    yield from (f"{name_of(pod)} is not ready" for pod in live if not is_ready(pod))
    yield from _find_outdated(state, cluster, live, staff)
    yield from _find_missing(state, cluster)
    yield from _find_untrue_status(cluster, live)
    # Whatever has ended is not running, and all must be, as with KubeRay: what is left of a removed group counts.
    if not ended and not has_condition(cluster, "RayClusterProvisioned"):
        yield f"C13: {name} does not say that it is provisioned, and it is"


def _find_wrong_counts(cluster: JsonObject, live: list[JsonObject]) -> Iterator[str]:
    for group in groups_of(cluster["spec"]):
        name = group["groupName"]
        workers, wanted = workers_in(live, name), wanted_workers(cluster["spec"], name)
        if len(workers) != wanted:
            yield f"group {name} of {name_of(cluster)} has {len(workers)} workers, {wanted} are wanted"
        if hosts_of(group) > 1:
            replicas = [label(pod, "worker-group-replica-name") for pod in workers]
            broken = {replica for replica in replicas if replicas.count(replica) != hosts_of(group)}
            yield from (f"C10: replica {replica} is not whole" for replica in sorted(broken))


def _find_strays(cluster: JsonObject, live: list[JsonObject], staff: Staff) -> Iterator[str]:
    """Pods of removed groups go, if this life of the operator saw the group; else they are only told of."""
    named = {group["groupName"] for group in groups_of(cluster["spec"])}
    seen = staff.overseer.groups_seen.get(uid_of(cluster), set()) if staff.overseer is not None else set()
    for pod in live:
        group = label(pod, "group")
        if label(pod, "node-type") == WORKER and group not in named and group in seen:
            yield f"C7: {name_of(pod)} is left of group {group}, which was removed"


def _find_outdated(state: State, cluster: JsonObject, live: list[JsonObject], staff: Staff) -> Iterator[str]:
    """Recreate means that no Pod of a former spec stays, as long as somebody can know: another version cannot."""
    spec = cluster["spec"]
    if len(staff.versions) > 1:
        return
    if (spec.get("upgradeStrategy") or {}).get("type") != "Recreate" or lost_track_of_the_spec(state, cluster):
        return
    image = spec["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
    for pod in live:
        if pod["spec"]["containers"][0]["image"] != image:
            yield f"{name_of(pod)} is of a former spec"


def _find_missing(state: State, cluster: JsonObject) -> Iterator[str]:
    wanted = {
        "services": 1,
        "secrets": 0,
        "serviceaccounts": 0,
        "roles": 0,
        "rolebindings": 0,
        "jobs": 0,
        "ingresses": 0,
    }
    spec = cluster["spec"]
    if any(hosts_of(group) > 1 for group in groups_of(spec)):
        wanted["services"] += 1
    if (spec.get("authOptions") or {}).get("mode") == "token":
        wanted["secrets"] = 1
    if spec["headGroupSpec"].get("enableIngress"):
        wanted["ingresses"] = 1
    if is_autoscaling(spec):
        wanted |= {"serviceaccounts": 1, "roles": 1, "rolebindings": 1}
    for plural, count in wanted.items():
        found = len(state.controlled_by(plural, uid_of(cluster)))
        if found != count:
            yield f"{name_of(cluster)} has {found} {plural}, {count} are wanted"


def _find_untrue_status(cluster: JsonObject, live: list[JsonObject]) -> Iterator[str]:
    status, name = cluster.get("status") or {}, name_of(cluster)
    yield from _find_untrue_counts(cluster, live)
    heads = [name_of(pod) for pod in live if label(pod, "node-type") == HEAD]
    if [status.get("head", {}).get("podName")] != heads:
        yield f"C13: {name} tells of head {status.get('head', {}).get('podName')}, and {heads} are there"
    if not has_condition(cluster, "HeadPodReady"):
        yield f"C13: {name} does not say that its head is ready, and it is"
    failure = has_condition(cluster, "ReplicaFailure")
    if failure or (status.get("state") != "ready" and not _has_leftovers(cluster, live)):
        yield f"C13: {name} is in state {status.get('state')!r}, with a failure: {failure}"


def _find_untrue_counts(cluster: JsonObject, live: list[JsonObject]) -> Iterator[str]:
    """KubeRay: available are the workers that run, ready or not; of those that stay at rest all do."""
    spec, status = cluster["spec"], cluster.get("status") or {}
    workers = sum(label(pod, "node-type") == WORKER for pod in live)
    true = {
        "readyWorkerReplicas": workers,
        "availableWorkerReplicas": workers,
        "desiredWorkerReplicas": sum(wanted_workers(spec, group["groupName"]) for group in groups_of(spec)),
    }
    for field, value in true.items():
        if (told := status.get(field, 0)) != value:
            yield f"C13: {name_of(cluster)} tells {field} {told}, and it is {value}"


def _find_untrue_suspension(cluster: JsonObject) -> Iterator[str]:
    name, status = name_of(cluster), cluster.get("status") or {}
    yield from _find_untrue_counts(cluster, [])
    if (state := status.get("state")) != "suspended":
        yield f"C13: {name} is in state {state!r}, and it is suspended"
    if head := (status.get("head") or {}).get("podName"):
        yield f"C13: {name} is suspended and tells of head {head}"
    told = [type_ for type_ in ("HeadPodReady", "RayClusterProvisioned", SUSPENDING) if has_condition(cluster, type_)]
    yield from (f"C13: {name} is suspended and says {type_}" for type_ in told)


def _has_leftovers(cluster: JsonObject, live: list[JsonObject]) -> bool:
    named = {group["groupName"] for group in groups_of(cluster["spec"])}
    return any(label(pod, "node-type") == WORKER and label(pod, "group") not in named for pod in live)
