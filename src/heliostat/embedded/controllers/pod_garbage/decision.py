"""Which Pods go because nobody is left to end them, and how.

Rules: a Pod goes when its Node is gone, when it was deleted before it had a Node, and when it was deleted on a Node
that is out of service; of the Pods that are over, the oldest beyond a threshold go, evicted ones first. A Pod that is
not over is first shown as failed, since no kubelet will; then it goes without a grace. Whether a Node is gone is
decided in ``lost_nodes``.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.controllers.pod_conditions import condition_trees, set_conditions
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import POD, Pod, PodCondition
from heliostat.kube.plan import Delete, JsonObject, Patch, Plan, Ref, Stage
from heliostat.kube.timestamps import format_timestamp

MOST_FINISHED = 12_500
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_NODE_GONE = PodCondition("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists")


class Removal(Struct, frozen=True):
    because: str
    condition: PodCondition | None = None


def decide_removal(pod: Pod, node: Node | None, *, is_node_gone: bool) -> Removal | None:
    """``node`` as the view has it; ``is_node_gone`` when the server was asked for it as well."""
    if pod.spec.node_name and node is None:
        return Removal("its Node is gone", _NODE_GONE) if is_node_gone else None
    if not pod.metadata.is_terminating:
        return None
    if node is None:
        return Removal("it was deleted before it had a Node")
    return Removal("its Node is out of service") if is_out_of_service(node) else None


def is_out_of_service(node: Node) -> bool:
    """Somebody vouches that nothing runs there any more, and the Node does not object."""
    ready = node.condition("Ready")
    is_ready = ready is not None and ready.status == "True"
    return not is_ready and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def plan_removal(pod: Pod, removal: Removal, now: float) -> Plan:
    marks = () if pod.is_over else (_mark_failed(pod, removal, now),)
    deletes = () if _is_on_its_way(pod) else (_delete(pod, removal.because),)
    stages = (Stage("mark", marks), Stage("delete", deletes, needs=("mark",)))
    return Plan(tuple(stage for stage in stages if stage.actions))


def plan_surplus(pods: Iterable[Pod], most: int = MOST_FINISHED) -> Plan:
    finished = sorted((pod for pod in pods if pod.is_over), key=_age)
    surplus = finished[: max(0, len(finished) - most)]
    because = f"more than {most} Pods are over"
    deletes = tuple(_delete(pod, because) for pod in surplus if not _is_on_its_way(pod))
    return Plan((Stage("delete", deletes),) if deletes else ())


def _age(pod: Pod) -> tuple[bool, str, str]:
    """Evicted ones first, then the oldest."""
    is_evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    return not is_evicted, pod.metadata.creation_timestamp or "", pod.metadata.name


def _is_on_its_way(pod: Pod) -> bool:
    """Deleted without a grace already: only finalizers hold it."""
    return pod.metadata.is_terminating and pod.metadata.deletion_grace_period_seconds == 0


def _mark_failed(pod: Pod, removal: Removal, now: float) -> Patch:
    status: JsonObject = {"phase": "Failed", "observedGeneration": pod.metadata.generation or None}
    if removal.condition is not None:
        conditions = set_conditions(pod, (removal.condition,), format_timestamp(now))
        status["conditions"] = condition_trees(conditions)
    metadata = pod.metadata
    changes = {"status": status}
    return Patch(_ref(pod), metadata.uid, metadata.resource_version, changes, removal.because, subresource="status")


def _delete(pod: Pod, because: str) -> Delete:
    return Delete(_ref(pod), pod.metadata.uid, because, grace_seconds=0)


def _ref(pod: Pod) -> Ref:
    return Ref(POD.api_version, POD.kind, pod.metadata.namespace, pod.metadata.name)
