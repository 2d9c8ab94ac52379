"""The objects that scenarios are made of, as short as the API allows, and the statuses that Pods are moved through.

Their Pods name a scheduler that nobody is, so they stay where they are and go at once when they are deleted; only the
scenarios of the scheduler itself do without that.
"""

from conformance.controllers.model import Change, Json, Pick

LONG_AGO, LATER, LAST = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"
HOLD = "conformance.heliostat/hold"  # a finalizer that only the scenario takes away
NOBODY = "by-hand"
SHARED_NODE = "conformance-node"  # Pods on it go only when somebody says that they are gone


def config_map(name: str, **metadata: Json) -> Json:
    return {"kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def owner(kind: str, name: str, *, blocks: bool = False, uid: str = "", api_version: str = "v1") -> Json:
    """``{uid Kind/name}`` is filled in when the step is carried out."""
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid or f"{{uid {kind}/{name}}}"}
    return {**reference, "blockOwnerDeletion": True} if blocks else reference


def pod_spec(**spec: Json) -> Json:
    return {"schedulerName": NOBODY, "containers": [{"name": "main", "image": "example.com/app:1"}], **spec}


def template(labels: Json, **spec: Json) -> Json:
    return {"metadata": {"labels": labels}, "spec": pod_spec(**spec)}


def pod(name: str, *, labels: Json = None, status: Json = None, metadata: Json = None, **spec: Json) -> Json:
    tree = {
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, **(metadata or {})},
        "spec": pod_spec(**spec),
    }
    return {**tree, "status": status} if status else tree


def job(name: str, *, pod: Json = None, metadata: Json = None, **spec: Json) -> Json:
    made = {"metadata": {}, "spec": {"restartPolicy": "Never", **pod_spec(**(pod or {}))}}
    return {"kind": "Job", "metadata": {"name": name, **(metadata or {})}, "spec": {"template": made, **spec}}


def deployment(name: str, *, replicas: int | None = 1, pod: Json = None, metadata: Json = None, **spec: Json) -> Json:
    labels = {"app": name}
    shape: Json = {"selector": {"matchLabels": labels}, "template": template(labels, **(pod or {})), **spec}
    if replicas is not None:
        shape["replicas"] = replicas
    return {"kind": "Deployment", "metadata": {"name": name, **(metadata or {})}, "spec": shape}


def rolling(surge: int | str, unavailable: int | str) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def replica_set(name: str, *, replicas: int = 1, labels: Json = None, pod: Json = None, **spec: Json) -> Json:
    used = labels or {"app": name}
    shape = {"replicas": replicas, "selector": {"matchLabels": used}, "template": template(used, **(pod or {})), **spec}
    return {"kind": "ReplicaSet", "metadata": {"name": name, "labels": used}, "spec": shape}


def service(name: str, *, selector: Json = None, ports: Json = None, finalizers: Json = None, **spec: Json) -> Json:
    shape: Json = {"ports": ports or [{"port": 80}], **spec}
    if selector is not None:
        shape["selector"] = selector
    return {"kind": "Service", "metadata": {"name": name, "finalizers": finalizers or []}, "spec": shape}


def image(name: str) -> Json:
    """The change of a template to another image."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": f"example.com/app:{name}"}]}}}}


def quota(name: str, **hard: str) -> Json:
    return {"kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}


def _terminated(code: int, reason: str) -> Json:
    state = {"exitCode": code, "reason": reason, "startedAt": LONG_AGO, "finishedAt": LONG_AGO}
    return _container({"terminated": state}, is_ready=False)


def _container(state: Json, *, is_ready: bool) -> Json:
    return [
        {
            "name": "main",
            "image": "example.com/app:1",
            "imageID": "",
            "ready": is_ready,
            "restartCount": 0,
            "state": state,
        }
    ]


def _condition(kind: str, status: str, reason: str = "", since: str = LONG_AGO) -> Json:
    condition = {"type": kind, "status": status, "lastTransitionTime": since}
    return {**condition, "reason": reason} if reason else condition


def running(address: str = "", *, is_ready: bool = True, since: str = LONG_AGO) -> Json:
    status: Json = {
        "phase": "Running",
        "startTime": LONG_AGO,
        "conditions": [_condition("Ready", "True" if is_ready else "False", since=since)],
        "containerStatuses": _container({"running": {"startedAt": LONG_AGO}}, is_ready=is_ready),
    }
    return {**status, "podIP": address, "podIPs": [{"ip": address}]} if address else status


SUCCEEDED: Json = {
    "phase": "Succeeded",
    "startTime": LONG_AGO,
    "conditions": [_condition("Ready", "False", "PodCompleted")],
    "containerStatuses": _terminated(0, "Completed"),
}


def failed(code: int = 1, *conditions: str) -> Json:
    return {
        "phase": "Failed",
        "startTime": LONG_AGO,
        "conditions": [
            _condition("Ready", "False", "PodFailed"),
            *(_condition(kind, "True", "Told") for kind in conditions),
        ],
        "containerStatuses": _terminated(code, "Error"),
    }


def becomes(status: Json, *, at_most: int = 0, phase: str = "Pending", labels: Json = None) -> Change:
    """Pods that are still in ``phase`` get this status."""
    pick = Pick(labels=labels or {}, where={"status.phase": phase}, at_most=at_most)
    return Change(pick, {"status": status}, "status")


def job_is(name: str, condition: str) -> Pick:
    return Pick(kind="Job", name=name, where={f"status.conditions.{condition}.status": "True"})


def pending(count: int = 0) -> Pick:
    return Pick(where={"status.phase": "Pending"}, at_most=count)


def node(
    name: str, *, labels: Json = None, cpu: str = "4", pods: str = "110", taints: Json = None, extended: Json = None
) -> Json:
    """A Node that is ready and has room; ``extended`` are resources beyond the usual ones."""
    room = {"cpu": cpu, "memory": "8Gi", "pods": pods, "ephemeral-storage": "10Gi", **(extended or {})}
    tree: Json = {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
    }
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": LONG_AGO}
    tree["status"] = {
        "capacity": room,
        "allocatable": room,
        "conditions": [{**ready, "lastTransitionTime": LONG_AGO}],
    }
    return {**tree, "spec": {"taints": taints}} if taints else tree
