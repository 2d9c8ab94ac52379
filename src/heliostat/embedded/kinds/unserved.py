"""What the embedded Kubernetes keeps and does not carry out: a sentence for whoever creates it. Pure.

Said only where its own controllers run, because a server alone carries nothing out. Each thing is said once for an
object, however often it is in there, in the words of ``docs/differences-kubernetes.md``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from heliostat.kube.jsontree import JsonObject

_TELL: TypeAlias = Callable[[JsonObject], Iterator[str]]

_KINDS = {
    "daemonsets.apps": "no controller here makes Pods for a DaemonSet; use a Deployment",
    "cronjobs.batch": "no controller here makes Jobs for a CronJob; create the Jobs yourself",
    "replicationcontrollers": "no controller here makes Pods for a ReplicationController; use a Deployment",
    "horizontalpodautoscalers.autoscaling": "no controller here scales for a HorizontalPodAutoscaler",
    "networkpolicies.networking.k8s.io": "Pods here reach each other whatever a NetworkPolicy says",
}
_HOST_PORT = "hostPort: the node opens no port of the machine; reach the Pod by its address or a Service"
_EPHEMERAL_VOLUME = (
    "volumes.ephemeral: no claim is made for a generic ephemeral volume, so the Pod will wait; use emptyDir or a claim"
)
_EPHEMERAL_CONTAINERS = "ephemeralContainers: the node starts none; use kubectl exec, the machine's programs are there"
_OUTSIDE = (
    "spec.type: a {type} Service is reached at its cluster IP alone; from outside use kubectl port-forward or the API"
    " server's proxy"
)
_AFFINITY = "spec.sessionAffinity: every connection goes to any of the Pods"
_PROTOCOL = "spec.ports.protocol: TCP alone is carried, {protocols} is not"
_PARTITION = (
    "spec.updateStrategy.rollingUpdate.partition: a Pod below it that is made anew gets the newest template, as older"
    " ones are not kept"
)
_RETENTION = "spec.persistentVolumeClaimRetentionPolicy: claims are never deleted with their Pod or StatefulSet"
_MAX_UNAVAILABLE = "spec.updateStrategy.rollingUpdate.maxUnavailable: Pods are replaced one at a time"


def unserved_cautions(tree: JsonObject, storage_name: str, subresource: str = "") -> list[str]:
    """Of a new object, or of one that is changed through a subresource."""
    if storage_name == "pods" and subresource == "ephemeralcontainers":
        return [_EPHEMERAL_CONTAINERS]
    if subresource:
        return []
    told = [_KINDS[storage_name]] if storage_name in _KINDS else []
    rule = _RULES.get(storage_name)
    return [*told, *(rule(tree) if rule is not None else ())]


def _pod(pod: JsonObject) -> Iterator[str]:
    spec = pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    has_network = spec.get("hostNetwork")  # whose ports are host ports by another name
    if not has_network and any(port.get("hostPort") for each in containers for port in each.get("ports") or ()):
        yield _HOST_PORT
    if any("ephemeral" in volume for volume in spec.get("volumes") or ()):
        yield _EPHEMERAL_VOLUME


def _template(tree: JsonObject) -> Iterator[str]:
    yield from _pod((tree.get("spec") or {}).get("template") or {})


def _stateful_set(tree: JsonObject) -> Iterator[str]:
    yield from _template(tree)
    spec = tree.get("spec") or {}
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling.get("partition"):
        yield _PARTITION
    if rolling.get("maxUnavailable") not in (None, 1):
        yield _MAX_UNAVAILABLE
    if "Delete" in (spec.get("persistentVolumeClaimRetentionPolicy") or {}).values():
        yield _RETENTION


def _service(tree: JsonObject) -> Iterator[str]:
    spec = tree.get("spec") or {}
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        yield _OUTSIDE.format(type=spec["type"])
    if spec.get("sessionAffinity") == "ClientIP":
        yield _AFFINITY
    protocols = sorted({port.get("protocol", "TCP") for port in spec.get("ports") or ()} - {"TCP"})
    if protocols and spec.get("clusterIP") != "None":
        yield _PROTOCOL.format(protocols=" and ".join(protocols))


_RULES: Mapping[str, _TELL] = {
    "pods": _pod,
    "jobs.batch": _template,
    "deployments.apps": _template,
    "replicasets.apps": _template,
    "statefulsets.apps": _stateful_set,
    "services": _service,
}
