"""GatewayClasses, Gateways and HTTPRoutes as they are decided on. What the schema fills in has that default here too.

Statuses stay trees: others may write into them, and what we do not know of them is kept.
"""

import msgspec
from msgspec import Struct

from heliostat.embedded.gateway.definitions import GATEWAY, GATEWAY_CLASS, GROUP, HTTP_ROUTE
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Object
from heliostat.runtime.cache import CachedKind


class GatewayClassSpec(Struct, frozen=True, rename="camel"):
    controller_name: str = ""
    parameters_ref: JsonObject | None = None


class GatewayClass(Object, frozen=True, rename="camel"):
    spec: GatewayClassSpec = GatewayClassSpec()
    status: JsonObject = msgspec.field(default_factory=dict)


class RouteNamespaces(Struct, frozen=True):
    from_: str = msgspec.field(default="Same", name="from")
    selector: JsonObject | None = None


class RouteKind(Struct, frozen=True):
    kind: str
    group: str = GROUP


class AllowedRoutes(Struct, frozen=True):
    namespaces: RouteNamespaces = RouteNamespaces()
    kinds: tuple[RouteKind, ...] = ()


class Listener(Struct, frozen=True, rename="camel"):
    name: str
    port: int
    protocol: str = "HTTP"
    hostname: str = ""
    allowed_routes: AllowedRoutes = AllowedRoutes()


class GatewaySpec(Struct, frozen=True, rename="camel"):
    gateway_class_name: str = ""
    listeners: tuple[Listener, ...] = ()
    addresses: tuple[JsonObject, ...] = ()


class Gateway(Object, frozen=True, rename="camel"):
    spec: GatewaySpec = GatewaySpec()
    status: JsonObject = msgspec.field(default_factory=dict)


class ParentRef(Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    group: str = GROUP
    kind: str = "Gateway"
    namespace: str = ""
    section_name: str = ""
    port: int = 0


class PathMatch(Struct, frozen=True):
    type: str = "PathPrefix"
    value: str = "/"


class ValueMatch(Struct, frozen=True):
    """Of a header or a query parameter."""

    name: str
    value: str
    type: str = "Exact"


class RouteMatch(Struct, frozen=True, rename="camel"):
    path: PathMatch = PathMatch()
    headers: tuple[ValueMatch, ...] = ()
    query_params: tuple[ValueMatch, ...] = ()
    method: str = ""


class BackendRef(Struct, frozen=True):
    name: str
    group: str = ""
    kind: str = "Service"
    namespace: str = ""
    port: int = 0
    weight: int = 1
    filters: tuple[JsonObject, ...] = ()


class RouteRule(Struct, frozen=True, rename="camel"):
    matches: tuple[RouteMatch, ...] = (RouteMatch(),)
    backend_refs: tuple[BackendRef, ...] = ()
    filters: tuple[JsonObject, ...] = ()
    timeouts: JsonObject | None = None


class HttpRouteSpec(Struct, frozen=True, rename="camel"):
    parent_refs: tuple[ParentRef, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[RouteRule, ...] = ()


class HttpRoute(Object, frozen=True, rename="camel"):
    spec: HttpRouteSpec = HttpRouteSpec()
    status: JsonObject = msgspec.field(default_factory=dict)


GATEWAY_CLASSES: CachedKind[GatewayClass] = CachedKind(GATEWAY_CLASS, GatewayClass)
GATEWAYS: CachedKind[Gateway] = CachedKind(GATEWAY, Gateway)
HTTP_ROUTES: CachedKind[HttpRoute] = CachedKind(HTTP_ROUTE, HttpRoute)
