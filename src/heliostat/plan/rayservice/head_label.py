"""Whether the serve Service may send requests to a head: its label follows its Serve proxy's health (rayservice.md §7).

Workers carry the label from the start and are kept out by their readiness. What is not known leaves the label as it is.
"""

from heliostat.api.cluster_features import ray_container
from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.ports import SERVE_PORT, container_port
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Patch, Ref
from heliostat.kube.pods import PodView, is_terminal
from heliostat.plan.draft import NOTHING, Part
from heliostat.plan.rayservice.answers import AskProxy
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.reasons import Because
from heliostat.plan.rayservice.reports import report_head_label

TRUE, FALSE = "true", "false"


def find_proxy_question(observed: ObservedService, cluster: JsonObject) -> AskProxy | None:
    """Whom to ask; None when the label does not depend on it, or nobody could answer."""
    head = observed.find_head(cluster["metadata"]["name"])
    if head is None or not head.pod_ip or is_terminal(head) or observed.service.spec.exclude_head_pod_from_serve_svc:
        return None
    container = ray_container(cluster["spec"]["headGroupSpec"]["template"])
    return AskProxy(head.name, head.uid, head.pod_ip, container_port(container, "serve", SERVE_PORT))


def plan_head_label(observed: ObservedService, cluster: JsonObject) -> Part:
    head = observed.find_head(cluster["metadata"]["name"])
    value = _decide_label(observed, head) if head is not None else None
    if head is None or value is None or head.labels.get(labels.SERVE) == value:
        return NOTHING
    ref = Ref("v1", "Pod", head.namespace or observed.service.metadata.namespace, head.name)
    changes = {"metadata": {"labels": {labels.SERVE: value}}}
    report = report_head_label(f"{ref.namespace}/{head.name}", value)
    return Part(actions=(Patch(ref, head.uid, head.resource_version, changes, Because.PROXY_CHANGED, report),))


def _decide_label(observed: ObservedService, head: PodView) -> str | None:
    if observed.service.spec.exclude_head_pod_from_serve_svc:
        return FALSE
    answer = observed.proxies.get(head.uid, Unknown())
    if isinstance(answer, Unknown):
        return None
    return TRUE if answer.value else FALSE
