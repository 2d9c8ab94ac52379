"""The wiring of endpoints: two controllers that look at the same Services and Pods and write the two forms."""

from collections.abc import Callable, Iterable, Sequence

from heliostat.embedded.controllers.child_names import Departures
from heliostat.embedded.controllers.endpoints.building import CONTROLLER, MANAGED_BY, SERVICE_NAME
from heliostat.embedded.controllers.endpoints.endpoints import EndpointsView, is_ours, plan_endpoints, plan_leftover
from heliostat.embedded.controllers.endpoints.selections import Selections
from heliostat.embedded.controllers.endpoints.slices import SliceView, plan_slices
from heliostat.embedded.controllers.views.endpoint_slices import ENDPOINT_SLICES, EndpointSlice
from heliostat.embedded.controllers.views.endpoints import ENDPOINTS, ENDPOINTS_TYPE
from heliostat.embedded.controllers.views.nodes import NODES, Node
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.embedded.controllers.views.services import SERVICE, SERVICES, Service
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, itself, subject_of


class EndpointSliceReconciler:
    name = "endpoint-slice-controller"

    def __init__(self, caches: Caches) -> None:
        self._services = caches.of(SERVICES)
        self._pods = caches.of(PODS)
        self._nodes = caches.of(NODES)
        self._slices = caches.of(ENDPOINT_SLICES)
        self._selections = Selections(self._services, self._pods)
        self._by_service = self._slices.add_index(_service_of)
        self._departures = Departures(self._slices)
        self._services.subscribe(self._forget)

    def sources(self) -> Sequence[Source]:
        return (
            Source(self._services, itself),
            Source(self._pods, services_of_pods(self._selections)),
            Source(self._slices, _named_service),
            Source(self._nodes, self._services_on),
        )

    def subject(self, key: Key) -> Subject | None:
        found = self._services.get(key)
        return subject_of(found, SERVICE.api_version, SERVICE.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        service = self._services.get(key)
        if service is None:
            return Plan()
        slices = tuple(item for item in self._by_service.at(str(key)) if not item.metadata.is_terminating)
        departed = self._departures.of(service.metadata.uid)
        pods = self._selections.pods_of(service)
        return plan_slices(SliceView(service, pods, slices, lambda name: self._nodes.get(Key("", name)), departed))

    def _services_on(self, before: Node | None, after: Node | None) -> Iterable[Key]:
        """A node that came, went or moved concerns the Services of its Pods."""
        if before is not None and after is not None and before.metadata.labels == after.metadata.labels:
            return ()
        node = after or before
        name = node.metadata.name if node is not None else ""
        pods = (pod for pod in self._pods if pod.spec.node_name == name)
        return dict.fromkeys(key for pod in pods for key in self._selections.services_of(pod))

    def _forget(self, before: Service | None, after: Service | None) -> None:
        if before is not None and after is None:
            self._departures.forget(before.metadata.uid)


class EndpointsReconciler:
    name = "endpoint-controller"

    def __init__(self, caches: Caches) -> None:
        self._services = caches.of(SERVICES)
        self._pods = caches.of(PODS)
        self._endpoints = caches.of(ENDPOINTS)
        self._selections = Selections(self._services, self._pods)

    def sources(self) -> Sequence[Source]:
        return (
            Source(self._services, itself),
            Source(self._pods, services_of_pods(self._selections)),
            Source(self._endpoints, itself),
        )

    def subject(self, key: Key) -> Subject | None:
        service, known = self._services.get(key), self._endpoints.get(key)
        if service is not None:
            return subject_of(service, SERVICE.api_version, SERVICE.kind)
        if known is not None and is_ours(known):
            return subject_of(known, ENDPOINTS_TYPE.api_version, ENDPOINTS_TYPE.kind)
        return None

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        service, known = self._services.get(key), self._endpoints.get(key)
        if service is not None:
            return plan_endpoints(EndpointsView(service, self._selections.pods_of(service), known))
        return plan_leftover(known) if known is not None and is_ours(known) else Plan()


def services_of_pods(selections: Selections) -> Callable[[Pod | None, Pod | None], Iterable[Key]]:
    """The Services that select a Pod whose endpoint may read differently now."""

    def keys_of(before: Pod | None, after: Pod | None) -> Iterable[Key]:
        if before is not None and after is not None and _facts_of(before) == _facts_of(after):
            return ()
        pods = (pod for pod in (before, after) if pod is not None)
        return dict.fromkeys(key for pod in pods for key in selections.services_of(pod))

    return keys_of


def _facts_of(pod: Pod) -> tuple[object, ...]:
    """What endpoints are made of."""
    spec, status, metadata = pod.spec, pod.status, pod.metadata
    placed = (metadata.uid, metadata.is_terminating, spec.node_name, spec.hostname, spec.subdomain)
    return (*placed, metadata.labels, status.pod_ip, status.pod_ips, pod.is_ready, pod.is_over)


def _service_of(item: EndpointSlice) -> tuple[str, ...]:
    """By the key of the Service that a slice of ours names."""
    labels = item.metadata.labels
    is_ours_and_named = labels.get(MANAGED_BY) == CONTROLLER and labels.get(SERVICE_NAME)
    return (str(Key(item.metadata.namespace, labels[SERVICE_NAME])),) if is_ours_and_named else ()


def _named_service(before: EndpointSlice | None, after: EndpointSlice | None) -> Iterable[Key]:
    for item in (before, after):
        if item is not None:
            for text in _service_of(item):
                yield Key(*text.split("/", 1))
