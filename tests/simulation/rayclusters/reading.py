"""What the invariants read from the state: whose a Pod is, whether it lives, and how many a spec asks for."""

from collections.abc import Iterable

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import parse_timestamp
from heliostat.testing.simulation.state import State

OPERATORS = ("operator", "a", "b")  # programs: one alone, or two that wait for one lease
HEAD, WORKER = "head", "worker"
SUSPENDING, SUSPENDED = "RayClusterSuspending", "RayClusterSuspended"


def uid_of(tree: JsonObject) -> str:
    return str(tree["metadata"]["uid"])


def name_of(tree: JsonObject) -> str:
    return str(tree["metadata"]["name"])


def label(tree: JsonObject, key: str) -> str:
    return str((tree["metadata"].get("labels") or {}).get(f"ray.io/{key}", ""))


def controller_of(tree: JsonObject) -> JsonObject | None:
    owners = [owner for owner in tree["metadata"].get("ownerReferences") or () if owner.get("controller")]
    return owners[0] if owners else None


def controller_uid(tree: JsonObject) -> str:
    owner = controller_of(tree)
    return str(owner["uid"]) if owner else ""


def is_terminating(tree: JsonObject) -> bool:
    return bool(tree["metadata"].get("deletionTimestamp"))


def has_ended(pod: JsonObject) -> bool:
    """The Pod, or its first container where it will not be started again."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return True
    return pod["spec"].get("restartPolicy") == "Never" and has_ray_ended(pod)


def has_ray_ended(pod: JsonObject) -> bool:
    """Its first container has, for good or to be started again."""
    first = pod["spec"]["containers"][0]["name"]
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any((found.get("state") or {}).get("terminated") for found in statuses if found["name"] == first)


def is_stuck(pod: JsonObject, made: JsonObject, seconds: float) -> bool:
    """At the moment another Pod was made, its grace period had been over for so long."""
    until = pod["metadata"].get("deletionTimestamp")
    moment = parse_timestamp(made["metadata"]["creationTimestamp"])
    return until is not None and moment - parse_timestamp(until) >= seconds


def is_live(pod: JsonObject) -> bool:
    return not is_terminating(pod) and not has_ended(pod)


def is_running(pod: JsonObject) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")


def is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def does_answer(pod: JsonObject) -> bool:
    """Ray's container is up; one beside it may have ended."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    first = pod["spec"]["containers"][0]["name"]
    return is_ready(pod) or any(found["name"] == first and found["ready"] for found in statuses)


def restarts_of(pod: JsonObject) -> int:
    """Of the first container, Ray's."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    first = pod["spec"]["containers"][0]["name"]
    return next((int(found["restartCount"]) for found in statuses if found["name"] == first), 0)


def instance_of(pod: JsonObject) -> str:
    """Which Ray runs there: a container that was started again is another one, in the same Pod."""
    return f"{uid_of(pod)}-{restarts_of(pod)}"


def pods_of(state: State, cluster_uid: str, node_type: str = "") -> list[JsonObject]:
    pods = state.controlled_by("pods", cluster_uid)
    return [pod for pod in pods if node_type in ("", label(pod, "node-type"))]


def workers_in(pods: Iterable[JsonObject], group: str) -> list[JsonObject]:
    return [pod for pod in pods if label(pod, "node-type") == WORKER and label(pod, "group") == group]


def groups_of(spec: JsonObject) -> list[JsonObject]:
    return list(spec.get("workerGroupSpecs") or ())


def find_group(spec: JsonObject, name: str) -> JsonObject | None:
    return next((group for group in groups_of(spec) if group["groupName"] == name), None)


def hosts_of(group: JsonObject) -> int:
    return int(group.get("numOfHosts", 1))


def wanted_workers(spec: JsonObject, name: str) -> int:
    """Pods that this spec asks for in the group; none of one that it suspends or does not have."""
    group = find_group(spec, name)
    if group is None or group.get("suspend"):
        return 0
    replicas = min(max(group["replicas"], group["minReplicas"]), group["maxReplicas"])
    return int(replicas) * hosts_of(group)


def asked_away(spec: JsonObject) -> set[str]:
    return {
        name for group in groups_of(spec) for name in (group.get("scaleStrategy") or {}).get("workersToDelete") or ()
    }


def has_condition(cluster: JsonObject, type_: str) -> bool:
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return any(found["type"] == type_ and found["status"] == "True" for found in conditions)


def is_autoscaling(spec: JsonObject) -> bool:
    return spec.get("enableInTreeAutoscaling") is True


def find_cluster(state: State, uid: str) -> JsonObject | None:
    return next((tree for tree in state.all("rayclusters") if uid_of(tree) == uid), None)


def ever_cluster(state: State, uid: str) -> JsonObject | None:
    return next((tree for tree in state.ever("rayclusters") if uid_of(tree) == uid), None)
