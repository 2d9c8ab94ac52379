"""What to do about the Endpoints of one Service, which have its name; those of a Service that is gone go too."""

from msgspec import Struct

from heliostat.embedded.controllers.endpoints.members import HEADLESS, TRIGGER_TIME, ready_since
from heliostat.embedded.controllers.endpoints.subsets import build_subsets, cut_subsets
from heliostat.embedded.controllers.views.endpoints import ENDPOINTS_TYPE, Endpoints
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.services import Service
from heliostat.kube.jsontree import JsonObject, diff_merge_patch
from heliostat.kube.plan import Create, Delete, Event, Patch, Plan, Ref, Report, Stage

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
CONTROLLER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


class EndpointsView(Struct, frozen=True):
    service: Service
    pods: tuple[Pod, ...]  # those that it selects
    known: Endpoints | None


def plan_endpoints(view: EndpointsView) -> Plan:
    if not view.service.selects_pods:
        return Plan()
    subsets, is_cut = cut_subsets(build_subsets(view.service, view.pods))
    labels = _build_labels(view.service)
    if view.known is not None and _is_same(view.known, subsets, labels, is_cut=is_cut):
        return Plan()
    trigger = _trigger_time(view, subsets)
    annotations = {**({TRIGGER_TIME: trigger} if trigger else {}), **({OVER_CAPACITY: "truncated"} if is_cut else {})}
    if view.known is None:
        action: Create | Patch = _create(view.service, labels, annotations, subsets)
    else:
        action = _patch(view.known, labels, annotations, subsets)
    return Plan((Stage("endpoints", (action,)),))


def plan_leftover(known: Endpoints) -> Plan:
    delete = Delete(_ref_of(known), known.metadata.uid, "its Service is gone")
    return Plan((Stage("endpoints", (delete,)),))


def is_ours(known: Endpoints) -> bool:
    return known.metadata.labels.get(MANAGED_BY) == CONTROLLER


def _build_labels(service: Service) -> dict[str, str]:
    labels = {key: value for key, value in service.metadata.labels.items() if key != HEADLESS}
    return {**labels, **({} if service.has_address else {HEADLESS: ""}), MANAGED_BY: CONTROLLER}


def _is_same(known: Endpoints, subsets: list[JsonObject], labels: dict[str, str], *, is_cut: bool) -> bool:
    has_capacity_note = OVER_CAPACITY in known.metadata.annotations
    return list(known.subsets or ()) == subsets and known.metadata.labels == labels and has_capacity_note == is_cut


def _trigger_time(view: EndpointsView, subsets: list[JsonObject]) -> str | None:
    """The earliest of what set off the change: Pods whose place is news, or at first the Service itself."""
    if view.known is None:
        return view.service.metadata.creation_timestamp
    news = _places(subsets) - _places(list(view.known.subsets or ()))
    uids = {uid for uid, _place in news}
    times = (ready_since(pod) for pod in view.pods if pod.metadata.uid in uids)
    return min((time for time in times if time is not None), default=None)


def _places(subsets: list[JsonObject]) -> set[tuple[str, str]]:
    return {
        ((address.get("targetRef") or {}).get("uid", ""), key)
        for subset in subsets
        for key in ("addresses", "notReadyAddresses")
        for address in subset.get(key) or ()
    }


def _create(service: Service, labels: dict[str, str], annotations: dict[str, str], subsets: list[JsonObject]) -> Create:
    namespace, name = service.metadata.namespace, service.metadata.name
    tree: JsonObject = {
        "apiVersion": ENDPOINTS_TYPE.api_version,
        "kind": ENDPOINTS_TYPE.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations},
    }
    if subsets:
        tree["subsets"] = subsets
    note = f"Failed to create endpoint for service {namespace}/{name}"
    report = Report(failure=Event("Warning", "FailedToCreateEndpoint", "Create", note), separator=": ")
    return Create(tree, "the Service has none", report)


def _patch(known: Endpoints, labels: dict[str, str], annotations: dict[str, str], subsets: list[JsonObject]) -> Patch:
    metadata = known.metadata
    ours = {key: value for key, value in metadata.annotations.items() if key in (TRIGGER_TIME, OVER_CAPACITY)}
    changes: JsonObject = {
        "metadata": {
            "labels": diff_merge_patch(dict(metadata.labels), dict(labels)),
            "annotations": diff_merge_patch(ours, dict(annotations)),
        },
        "subsets": subsets or None,
    }
    note = f"Failed to update endpoint {metadata.namespace}/{metadata.name}"
    report = Report(failure=Event("Warning", "FailedToUpdateEndpoint", "Update", note), separator=": ")
    return Patch(_ref_of(known), metadata.uid, metadata.resource_version, changes, "its Pods changed", report)


def _ref_of(known: Endpoints) -> Ref:
    return Ref(ENDPOINTS_TYPE.api_version, ENDPOINTS_TYPE.kind, known.metadata.namespace, known.metadata.name)
