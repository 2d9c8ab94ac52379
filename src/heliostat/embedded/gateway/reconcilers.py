"""The wiring of conditions: three controllers that tell GatewayClasses, Gateways and HTTPRoutes what became of them.

There are few of these objects on one machine, so a change of one has all that it may concern looked at again.
"""

from collections.abc import Callable, Iterable, Sequence

from heliostat.embedded.gateway.conditions import Front, class_status, gateway_status, route_status
from heliostat.embedded.gateway.definitions import CONTROLLER_NAME, GATEWAY, GATEWAY_CLASS, HTTP_ROUTE
from heliostat.embedded.gateway.feed import NodeService
from heliostat.embedded.gateway.fronts import plan_service
from heliostat.embedded.gateway.knowledge import Knowledge
from heliostat.embedded.gateway.objects import GatewayClass, HttpRoute
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan, Ref, Stage, WriteStatus
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.cache import Cache
from heliostat.runtime.reconciler import Signal, Source, Subject, itself, signalled, subject_of


class GatewayClassReconciler:
    """``because`` says why this node cannot carry out any Gateway; empty: it can."""

    name = "gateway-class-controller"

    def __init__(self, classes: Cache[GatewayClass], because: str = "") -> None:
        self._classes = classes
        self._because = because

    def sources(self) -> Sequence[Source]:
        return (Source(self._classes, itself),)

    def subject(self, key: Key) -> Subject | None:
        found = self._classes.get(key)
        return subject_of(found, GATEWAY_CLASS.api_version, GATEWAY_CLASS.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        item = self._classes.get(key)
        if item is None or item.spec.controller_name != CONTROLLER_NAME:
            return Plan()
        return _plan_status(GATEWAY_CLASS, item, item.status, class_status(item, self._because, format_timestamp(now)))


class GatewayReconciler:
    """``front_of`` tells where a Gateway is reached by now."""

    name = "gateway-controller"

    def __init__(self, known: Knowledge, front_of: Callable[[Key], Front], fronts: Signal) -> None:
        self._known = known
        self._front_of = front_of
        self._fronts = fronts

    def sources(self) -> Sequence[Source]:
        known = self._known
        return (
            Source(known.gateways, itself),
            Source(known.classes, self._all),
            Source(known.routes, self._all),
            Source(known.namespaces, self._all),
            Source(known.services, self._of_service),
            Source(self._fronts, signalled),
        )

    def subject(self, key: Key) -> Subject | None:
        found = self._known.find(key)
        return subject_of(found, GATEWAY.api_version, GATEWAY.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        gateway = self._known.find(key)
        if gateway is None:
            return Plan()
        known = self._known
        actions = tuple(plan_service(gateway, known.service_of(gateway), known.former_services(gateway)))
        told = gateway_status(gateway, self._front_of(key), self._known.count_routes(key), format_timestamp(now))
        status = _plan_status(GATEWAY, gateway, gateway.status, told).status
        return Plan(stages=(Stage("address", actions),) if actions else (), status=status)

    def _all(self, _before: Object | None, _after: Object | None) -> Iterable[Key]:
        return [key for key, _ in self._known.all()]

    def _of_service(self, before: NodeService | None, after: NodeService | None) -> Iterable[Key]:
        owners = (item.metadata.controller for item in (before, after) if item is not None)
        item = after or before
        namespace = item.metadata.namespace if item is not None else ""
        return {Key(namespace, owner.name) for owner in owners if owner is not None and owner.kind == GATEWAY.kind}


class HttpRouteReconciler:
    name = "httproute-controller"

    def __init__(self, known: Knowledge) -> None:
        self._known = known

    def sources(self) -> Sequence[Source]:
        known = self._known
        everything = (known.gateways, known.classes, known.namespaces)
        return (
            Source(known.routes, itself),
            Source(known.services, self._naming),
            *(Source(cache, self._all) for cache in everything),
        )

    def subject(self, key: Key) -> Subject | None:
        found = self._known.routes.get(key)
        return subject_of(found, HTTP_ROUTE.api_version, HTTP_ROUTE.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        route = self._known.routes.get(key)
        if route is None or route.metadata.is_terminating:
            return Plan()
        attachments = self._known.attachments(route)
        if not attachments and not _has_told(route):
            return Plan()
        told = route_status(route, attachments, self._known.backends(route), format_timestamp(now))
        return _plan_status(HTTP_ROUTE, route, route.status, told)

    def _all(self, _before: Object | None, _after: Object | None) -> Iterable[Key]:
        return self._known.routes.known_keys()

    def _naming(self, before: NodeService | None, after: NodeService | None) -> Iterable[Key]:
        """Routes with this Service as a back end."""
        item = after or before
        for route in self._known.routes if item is not None else ():
            refs = (ref for rule in route.spec.rules for ref in rule.backend_refs)
            if item is not None and any(ref.name == item.metadata.name for ref in refs):
                yield route.metadata.key


def _has_told(route: HttpRoute) -> bool:
    return any(each.get("controllerName") == CONTROLLER_NAME for each in route.status.get("parents") or ())


def _plan_status(kind: ResourceType, item: Object, old: JsonObject, new: JsonObject) -> Plan:
    if old == new:
        return Plan()
    metadata = item.metadata
    ref = Ref(kind.api_version, kind.kind, metadata.namespace, metadata.name)
    return Plan(status=WriteStatus(ref, metadata.uid, metadata.resource_version, new, "it says what became of it"))
