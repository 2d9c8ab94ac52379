"""What only the server gives to a new object: its first status, and labels made from its uid."""

from heliostat.embedded.kinds.pods.pod_resources import quality_of_service
from heliostat.embedded.kinds.workloads.job_labels import label_new_job
from heliostat.kube.counts import read_count
from heliostat.kube.jsontree import JsonObject

_GATED: JsonObject = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_OWN_FINALIZER = "kubernetes"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def start_pod(pod: JsonObject) -> None:
    status: JsonObject = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [{**_GATED, "lastTransitionTime": pod["metadata"]["creationTimestamp"]}]
    pod["status"] = status


def start_service(service: JsonObject) -> None:
    service["status"] = {"loadBalancer": {}}


def start_job(job: JsonObject) -> None:
    label_new_job(job)
    job["status"] = {}


def start_replicas(tree: JsonObject) -> None:
    status: JsonObject = {"replicas": 0}
    if tree["kind"] == "StatefulSet":
        status["availableReplicas"] = 0
    tree["status"] = status


def start_daemon_set(tree: JsonObject) -> None:
    tree["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = "1"


def count_template(new: JsonObject, old: JsonObject) -> None:
    """A DaemonSet still counts the changes of its template in an annotation."""
    before = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    is_changed = new["spec"].get("template") != old["spec"].get("template")
    annotations = new["metadata"].setdefault("annotations", {})
    number = read_count(before)
    annotations[_TEMPLATE_GENERATION] = before if number is None else str(number + is_changed)


def start_namespace(namespace: JsonObject) -> None:
    finalizers = namespace.setdefault("spec", {}).setdefault("finalizers", [])
    if _OWN_FINALIZER not in finalizers:
        finalizers.append(_OWN_FINALIZER)
    namespace["status"] = {"phase": "Active"}


def keep_namespace(new: JsonObject, old: JsonObject) -> None:
    new["spec"] = old.get("spec") or {}


def start_volume(tree: JsonObject) -> None:
    tree["status"] = {"phase": "Pending", "lastPhaseTransitionTime": tree["metadata"]["creationTimestamp"]}


def start_budget(tree: JsonObject) -> None:
    tree["status"] = dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)
