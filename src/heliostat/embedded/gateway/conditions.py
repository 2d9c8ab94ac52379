"""What GatewayClasses, Gateways and HTTPRoutes are told about themselves: conditions, addresses, counts. Pure.

Rules, the Gateway API's: every condition says of which generation it speaks; a Gateway is accepted while one of its
listeners can be carried out, and programmed once all of those listen at its address; a route is told by each parent
that is ours, and what other controllers wrote stays.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from heliostat.embedded.gateway.attaching import (
    ACCEPTED,
    Attachment,
    Verdict,
    judge_listener,
    takes_http_routes,
    takes_nothing_else,
)
from heliostat.embedded.gateway.definitions import CONTROLLER_NAME, GROUP, HTTP_ROUTE
from heliostat.embedded.gateway.objects import Gateway, GatewayClass, HttpRoute, Listener, ParentRef
from heliostat.embedded.gateway.routing import Backend
from heliostat.kube.conditions import FALSE, TRUE, build_condition, set_condition
from heliostat.kube.jsontree import JsonObject

PROGRAMMED, RESOLVED_REFS, CONFLICTED = "Programmed", "ResolvedRefs", "Conflicted"
HOST_ADDRESS = "heliostat.dev/host"  # the type of an address that is on the machine itself


class Front(Struct, frozen=True, kw_only=True):
    """Where a Gateway is reached, as far as it has come about."""

    address: str = ""  # in the cluster's network
    listening: frozenset[int] = frozenset()
    problems: Mapping[int, str] = {}  # why a port is not listened at
    host: str = ""  # address and port on the machine, if asked for
    host_problem: str = ""


NOWHERE = Front()


class Told(Struct, frozen=True):
    """One condition before it has a time."""

    type: str
    status: str
    reason: str
    message: str = ""


def class_status(item: GatewayClass, because: str, now: str) -> JsonObject:
    """``because`` says why none of its Gateways can be carried out on this node; empty: they can."""
    told = Told(ACCEPTED, FALSE, "Unsupported", because) if because else Told(ACCEPTED, TRUE, ACCEPTED)
    return {**item.status, "conditions": _tell(item.status, (told,), item.metadata.generation, now)}


def gateway_status(gateway: Gateway, front: Front, attached: Mapping[str, int], now: str) -> JsonObject:
    """``attached`` is how many routes each listener has."""
    generation, old = gateway.metadata.generation, gateway.status.get("listeners") or ()
    known = {each.get("name"): each for each in old}
    listeners = [
        {
            "name": listener.name,
            "supportedKinds": [{"group": GROUP, "kind": HTTP_ROUTE.kind}] if takes_http_routes(listener) else [],
            "attachedRoutes": attached.get(listener.name, 0),
            "conditions": _tell(known.get(listener.name, {}), _of_listener(listener, front), generation, now),
        }
        for listener in gateway.spec.listeners
    ]
    conditions = _tell(gateway.status, (_accepted(gateway), _programmed(gateway, front)), generation, now)
    return {**gateway.status, "addresses": _addresses(front), "conditions": conditions, "listeners": listeners}


def _addresses(front: Front) -> list[JsonObject]:
    found = [{"type": "IPAddress", "value": front.address}] if front.address else []
    return [*found, {"type": HOST_ADDRESS, "value": front.host}] if front.host else found


def _accepted(gateway: Gateway) -> Told:
    if gateway.spec.addresses:
        return Told(ACCEPTED, FALSE, "UnsupportedAddress", "spec.addresses: the local gateway chooses addresses itself")
    refused = [(each, judge_listener(each)) for each in gateway.spec.listeners if not judge_listener(each).is_fine]
    if not refused:
        return Told(ACCEPTED, TRUE, ACCEPTED)
    words = "; ".join(f"listener {each.name}: {verdict.message}" for each, verdict in refused)
    return Told(ACCEPTED, TRUE if len(refused) < len(gateway.spec.listeners) else FALSE, "ListenersNotValid", words)


def _programmed(gateway: Gateway, front: Front) -> Told:
    if _accepted(gateway).status != TRUE:
        return Told(PROGRAMMED, FALSE, "Invalid", "it is not accepted")
    if not front.address:
        return Told(PROGRAMMED, FALSE, "AddressNotAssigned", "it has no address in the cluster yet")
    waiting = sorted(wanted_ports(gateway) - front.listening)
    if waiting:
        words = "; ".join(front.problems.get(port, f"port {port} is not open yet") for port in waiting)
        return Told(PROGRAMMED, FALSE, "AddressNotUsable", words)
    return Told(PROGRAMMED, TRUE, PROGRAMMED, front.host_problem)  # whoever comes from the cluster is served


def wanted_ports(gateway: Gateway) -> set[int]:
    if gateway.spec.addresses:
        return set()
    return {each.port for each in gateway.spec.listeners if judge_listener(each).is_fine}


def _of_listener(listener: Listener, front: Front) -> Iterable[Told]:
    verdict = judge_listener(listener)
    is_open = listener.port in front.listening and verdict.is_fine
    yield Told(ACCEPTED, TRUE if verdict.is_fine else FALSE, verdict.reason, verdict.message)
    if is_open:
        yield Told(PROGRAMMED, TRUE, PROGRAMMED)
    else:
        yield Told(
            PROGRAMMED, FALSE, "Pending" if verdict.is_fine else "Invalid", front.problems.get(listener.port, "")
        )
    if takes_nothing_else(listener):
        yield Told(RESOLVED_REFS, TRUE, RESOLVED_REFS)
    else:
        yield Told(RESOLVED_REFS, FALSE, "InvalidRouteKinds", "only HTTPRoutes are carried out by the local gateway")
    yield Told(CONFLICTED, FALSE, "NoConflicts")


def route_status(
    route: HttpRoute, attachments: Sequence[Attachment], backends: Sequence[Backend], now: str
) -> JsonObject:
    parents = route.status.get("parents") or ()
    others = [each for each in parents if each.get("controllerName") != CONTROLLER_NAME]
    ours = [each for each in parents if each.get("controllerName") == CONTROLLER_NAME]
    told = [_of_parent(each, backends, ours, route.metadata.generation, now) for each in attachments]
    return {**route.status, "parents": [*others, *told]}


def _of_parent(
    attachment: Attachment, backends: Sequence[Backend], ours: Sequence[JsonObject], generation: int, now: str
) -> JsonObject:
    reference, verdict = _parent_ref(attachment.parent), attachment.verdict
    old = next((each for each in ours if each.get("parentRef") == reference), {})
    accepted = Told(ACCEPTED, TRUE if verdict.is_fine else FALSE, verdict.reason, verdict.message)
    resolved = _resolved(backends)
    conditions = _tell(old, (accepted, _told_of(resolved)), generation, now)
    return {"parentRef": reference, "controllerName": CONTROLLER_NAME, "conditions": conditions}


def _parent_ref(parent: ParentRef) -> JsonObject:
    optional = {"namespace": parent.namespace, "sectionName": parent.section_name, "port": parent.port}
    given = {key: value for key, value in optional.items() if value}
    return {"group": parent.group, "kind": parent.kind, "name": parent.name, **given}


def _resolved(backends: Sequence[Backend]) -> Verdict:
    for backend in backends:
        if backend.problem:
            return Verdict(backend.problem, backend.message)
    return Verdict(RESOLVED_REFS)


def _told_of(resolved: Verdict) -> Told:
    is_fine = resolved.reason == RESOLVED_REFS
    return Told(RESOLVED_REFS, TRUE if is_fine else FALSE, resolved.reason, resolved.message)


def _tell(old: JsonObject, told: Iterable[Told], generation: int, now: str) -> list[JsonObject]:
    conditions: Sequence[JsonObject] = old.get("conditions") or ()
    for each in told:
        new = build_condition(each.type, each.status, each.reason, each.message, generation)
        conditions = set_condition(conditions, new, now)
    return list(conditions)
