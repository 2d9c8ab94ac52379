"""How far a RayCluster is, in a few lines for a person: the cluster, each Pod's state, and why it waits. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from heliostat.kube.conditions import get_condition
from heliostat.kube.image_versions import find_version_differences
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import is_ready, view_pod, why_waiting

_MARKS = {True: "✓", False: "…"}


class ClusterView(Struct, frozen=True):
    is_ready: bool
    lines: tuple[str, ...]


def is_said_ready(cluster: JsonObject) -> bool:
    """What the operator last wrote, whichever spec it was about."""
    return bool((cluster.get("status") or {}).get("state") == "ready")


def is_current(cluster: JsonObject) -> bool:
    """Whether the status is about the spec as it is now."""
    status = cluster.get("status") or {}
    return bool(status.get("observedGeneration") == cluster["metadata"].get("generation"))


def is_cluster_ready(cluster: JsonObject) -> bool:
    """What the operator says of the spec as it is now."""
    return is_said_ready(cluster) and is_current(cluster)


def view_cluster(cluster: JsonObject, pods: Sequence[JsonObject], others: Sequence[JsonObject] = ()) -> ClusterView:
    """``others`` are Pods that the same file has made."""
    name, status = cluster["metadata"]["name"], cluster.get("status") or {}
    is_up = is_cluster_ready(cluster)
    wanted = 1 + (status.get("desiredWorkerReplicas") or 0)
    ready = sum(is_ready(view_pod(pod)) for pod in pods)
    state = status.get("state") or "starting"
    lines = [f"{_MARKS[is_up]} RayCluster {name}: {state}, {ready} of {wanted} Ray nodes ready"]
    lines += [_pod_line(pod) for pod in (*pods, *others)]
    lines += [f"  ! {text}" for text in find_version_differences(map(view_pod, pods))]
    failure = find_failure(cluster)
    lines += [f"    {failure}"] if failure else []
    return ClusterView(is_up, tuple(lines))


def _pod_line(tree: JsonObject) -> str:
    pod = view_pod(tree)
    waiting = why_waiting(pod)
    if waiting is None:
        mark = "✗" if pod.phase == "Failed" else "✓"
        return f"  {mark} {pod.name}: {'ready' if is_ready(pod) else pod.phase.lower()}"
    reason, sentence = waiting
    return f"  … {pod.name}: {reason}: {sentence}"


def find_failure(cluster: JsonObject) -> str:
    """Why the operator could not make or delete one of its Pods; empty: it could."""
    failure = get_condition((cluster.get("status") or {}).get("conditions"), "ReplicaFailure")
    if failure is None or failure.get("status") != "True":
        return ""
    return str(failure.get("message") or failure.get("reason")).replace("\n", ": ")
