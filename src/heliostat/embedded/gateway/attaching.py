"""Which routes are attached to which listeners, and why others are not. Pure.

Rules, the Gateway API's: a listener takes routes of the namespaces that it allows and whose hostnames meet its own; a
route that asks for something that is not carried out here (filters, regular expressions, timeouts) is not accepted as a
whole, because half of it would be another route. Only listeners that speak plain HTTP are carried out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.gateway.definitions import GATEWAY, GROUP, HTTP_ROUTE
from heliostat.embedded.gateway.objects import Gateway, HttpRoute, Listener, ParentRef, RouteKind
from heliostat.kube.objects import Key
from heliostat.kube.selectors import SelectorError, selector_of

LabelsOf: TypeAlias = Callable[[str], Mapping[str, str]]  # of a namespace

ACCEPTED = "Accepted"
UNSUPPORTED_VALUE = "UnsupportedValue"


class Verdict(Struct, frozen=True):
    """Why, as a condition says it."""

    reason: str
    message: str = ""

    @property
    def is_fine(self) -> bool:
        return self.reason == ACCEPTED


class Attachment(Struct, frozen=True, kw_only=True):
    """What became of one parent that a route names, among the Gateways that are ours."""

    parent: ParentRef
    gateway: Key
    verdict: Verdict
    listeners: tuple[Listener, ...] = ()


def judge_listener(listener: Listener) -> Verdict:
    if listener.protocol != "HTTP":
        words = f"protocol {listener.protocol} is not carried out by the local gateway; use HTTP"
        return Verdict("UnsupportedProtocol", words)
    return Verdict(ACCEPTED)


def takes_http_routes(listener: Listener) -> bool:
    return not listener.allowed_routes.kinds or any(map(_is_http_route, listener.allowed_routes.kinds))


def takes_nothing_else(listener: Listener) -> bool:
    return all(map(_is_http_route, listener.allowed_routes.kinds))


def _is_http_route(kind: RouteKind) -> bool:
    return (kind.group, kind.kind) == (GROUP, HTTP_ROUTE.kind)


def parent_key(route: HttpRoute, parent: ParentRef) -> Key | None:
    """None for parents that are no Gateways."""
    if (parent.group, parent.kind) != (GROUP, GATEWAY.kind):
        return None
    return Key(parent.namespace or route.metadata.namespace, parent.name)


def attach(route: HttpRoute, find: Callable[[Key], Gateway | None], labels_of: LabelsOf) -> Iterator[Attachment]:
    """``find`` knows the Gateways that are ours, and no others."""
    for parent in route.spec.parent_refs:
        key = parent_key(route, parent)
        gateway = find(key) if key is not None else None
        if key is not None and gateway is not None:
            yield _attach_to(route, parent, key, gateway, labels_of)


def _attach_to(route: HttpRoute, parent: ParentRef, key: Key, gateway: Gateway, labels_of: LabelsOf) -> Attachment:
    verdict = judge_route(route)
    found: tuple[Listener, ...] = ()
    if verdict.is_fine:
        verdict, found = _find_listeners(route, parent, gateway, labels_of)
    return Attachment(parent=parent, gateway=key, verdict=verdict, listeners=found)


def _find_listeners(
    route: HttpRoute, parent: ParentRef, gateway: Gateway, labels_of: LabelsOf
) -> tuple[Verdict, tuple[Listener, ...]]:
    """The reason is that of the step at which nobody was left."""
    meant = [each for each in gateway.spec.listeners if _is_meant(each, parent)]
    if not meant:
        return Verdict("NoMatchingParent", f"Gateway {gateway.metadata.name} has no such listener"), ()
    allowing = [each for each in meant if _allows(each, route, gateway, labels_of)]
    if not allowing:
        words = f"no listener of Gateway {gateway.metadata.name} allows HTTPRoutes of namespace"
        return Verdict("NotAllowedByListeners", f"{words} {route.metadata.namespace}"), ()
    found = tuple(each for each in allowing if meet_hostnames(each, route))
    if not found:
        words = f"no listener of Gateway {gateway.metadata.name} has one of these hostnames"
        return Verdict("NoMatchingListenerHostname", words), ()
    return Verdict(ACCEPTED), found


def _is_meant(listener: Listener, parent: ParentRef) -> bool:
    is_named = not parent.section_name or listener.name == parent.section_name
    return is_named and (not parent.port or listener.port == parent.port)


def _allows(listener: Listener, route: HttpRoute, gateway: Gateway, labels_of: LabelsOf) -> bool:
    if not judge_listener(listener).is_fine or not takes_http_routes(listener):
        return False
    allowed, namespace = listener.allowed_routes.namespaces, route.metadata.namespace
    match allowed.from_:
        case "All":
            return True
        case "Selector":
            return _selects(allowed.selector, labels_of(namespace))
        case "None":
            return False
        case _:
            return namespace == gateway.metadata.namespace


def _selects(selector: dict[str, object] | None, labels: Mapping[str, str]) -> bool:
    try:
        return selector is not None and selector_of(selector).matches(labels)
    except SelectorError:
        return False


def meet_hostnames(listener: Listener, route: HttpRoute) -> tuple[str, ...]:
    """The hostnames that both have; the empty one is any."""
    ours = listener.hostname.lower()
    if not route.spec.hostnames:
        return (ours,)
    met = (_meet(ours, theirs.lower()) for theirs in route.spec.hostnames)
    return tuple(dict.fromkeys(name for name in met if name is not None))


def _meet(one: str, other: str) -> str | None:
    """The narrower of the two."""
    if not one or one == other or host_matches(one, other):
        return other
    return one if host_matches(other, one) else None


def host_matches(pattern: str, host: str) -> bool:
    """``*.a.b`` is any name below ``a.b``, and the empty one is every name."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    return not pattern or pattern == host


def judge_route(route: HttpRoute) -> Verdict:
    for problem in _unsupported(route):
        return Verdict(UNSUPPORTED_VALUE, f"{problem} is not carried out by the local gateway")
    return Verdict(ACCEPTED)


def _unsupported(route: HttpRoute) -> Iterator[str]:
    for number, rule in enumerate(route.spec.rules):
        where = f"spec.rules[{number}]"
        for index, match in enumerate(rule.matches):
            if match.path.type not in ("PathPrefix", "Exact"):
                yield f"{where}.matches[{index}].path.type {match.path.type}"
            for field, values in (("headers", match.headers), ("queryParams", match.query_params)):
                for each, value in enumerate(values):
                    if value.type != "Exact":
                        yield f"{where}.matches[{index}].{field}[{each}].type {value.type}"
        for index, filter_ in enumerate(rule.filters):
            yield f"{where}.filters[{index}] ({filter_.get('type', '')})"
        for index, backend in enumerate(rule.backend_refs):
            if backend.filters:
                yield f"{where}.backendRefs[{index}].filters"
        if rule.timeouts:
            yield f"{where}.timeouts"
