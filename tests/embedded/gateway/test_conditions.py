"""What objects are told about themselves, by what they ask for and what has come about."""

from typing import Any

import msgspec
import pytest

from embedded.gateway.shapes import HTTP, backend, gateway, path, route, rule, services
from heliostat.embedded.gateway.attaching import attach
from heliostat.embedded.gateway.conditions import NOWHERE, Front, class_status, gateway_status, route_status
from heliostat.embedded.gateway.definitions import build_gateway_class
from heliostat.embedded.gateway.objects import Gateway, GatewayClass, HttpRoute
from heliostat.embedded.gateway.routing import resolve
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
UP = Front(address="10.96.0.9", listening=frozenset((80,)))
TLS = {"name": "tls", "port": 443, "protocol": "HTTPS"}


def told(status: JsonObject, type_: str) -> tuple[str, str]:
    (found,) = [each for each in status["conditions"] if each["type"] == type_]
    return found["status"], found["reason"]


GATEWAYS = [
    (gateway(), UP, ("True", "Accepted"), ("True", "Programmed")),
    (gateway(), NOWHERE, ("True", "Accepted"), ("False", "AddressNotAssigned")),
    (gateway(), Front(address="10.96.0.9"), ("True", "Accepted"), ("False", "AddressNotUsable")),
    (gateway(HTTP, TLS), UP, ("True", "ListenersNotValid"), ("True", "Programmed")),
    (gateway(TLS), UP, ("False", "ListenersNotValid"), ("False", "Invalid")),
    (gateway(addresses=[{"value": "1.2.3.4"}]), UP, ("False", "UnsupportedAddress"), ("False", "Invalid")),
    (gateway(), msgspec.structs.replace(UP, host_problem="taken"), ("True", "Accepted"), ("True", "Programmed")),
]


@pytest.mark.parametrize(("made", "front", "accepted", "programmed"), GATEWAYS, ids=range(len(GATEWAYS)))
def test_a_gateway(made: Gateway, front: Front, accepted: tuple[str, str], programmed: tuple[str, str]) -> None:
    status = gateway_status(made, front, {}, NOW)
    assert (told(status, "Accepted"), told(status, "Programmed")) == (accepted, programmed)
    assert {each["observedGeneration"] for each in status["conditions"]} == {3}


def test_its_addresses_and_listeners() -> None:
    status = gateway_status(gateway(HTTP, TLS), msgspec.structs.replace(UP, host="127.0.0.1:8080"), {"http": 2}, NOW)
    assert status["addresses"] == [
        {"type": "IPAddress", "value": "10.96.0.9"},
        {"type": "heliostat.dev/host", "value": "127.0.0.1:8080"},
    ]
    http, tls = status["listeners"]
    assert (http["name"], http["attachedRoutes"], told(http, "Programmed")[0]) == ("http", 2, "True")
    assert (told(tls, "Accepted"), told(tls, "Programmed")[0]) == (("False", "UnsupportedProtocol"), "False")
    assert told(http, "ResolvedRefs") == ("True", "ResolvedRefs")


def test_a_kind_of_route_that_is_not_served_is_told_beside_one_that_is() -> None:
    kinds = [{"kind": "HTTPRoute"}, {"kind": "GRPCRoute"}]
    (listener,) = gateway_status(gateway({**HTTP, "allowedRoutes": {"kinds": kinds}}), UP, {}, NOW)["listeners"]
    assert [each["kind"] for each in listener["supportedKinds"]] == ["HTTPRoute"]
    assert told(listener, "ResolvedRefs") == ("False", "InvalidRouteKinds")


def test_a_time_changes_with_its_status_alone() -> None:
    first = gateway_status(gateway(), NOWHERE, {}, NOW)
    second = gateway_status(msgspec.structs.replace(gateway(), status=first), UP, {}, LATER)
    times = {each["type"]: each["lastTransitionTime"] for each in second["conditions"]}
    assert times == {"Accepted": NOW, "Programmed": LATER}
    assert gateway_status(msgspec.structs.replace(gateway(), status=second), UP, {}, "never") == second


def status_of(made: HttpRoute, of: Gateway | None = None, labels: dict[str, str] | None = None) -> JsonObject:
    attachments = list(attach(made, {Key("ns", "web"): of or gateway()}.get, lambda _: labels or {}))
    backends = [resolve(made, ref, services("one").find) for each in made.spec.rules for ref in each.backend_refs]
    return route_status(made, attachments, backends, NOW)


FROM_ALL = {**HTTP, "allowedRoutes": {"namespaces": {"from": "All"}}}
SELECTED = {**HTTP, "allowedRoutes": {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"a": "b"}}}}}
GRPC = {**HTTP, "allowedRoutes": {"kinds": [{"kind": "GRPCRoute"}]}}
FAR: dict[str, Any] = {"parentRefs": [{"name": "web", "namespace": "ns"}], "namespace": "far"}
ROUTES = [
    (route(), gateway(), ("True", "Accepted"), ("True", "ResolvedRefs")),
    (route(rule(to=[backend("none")])), gateway(), ("True", "Accepted"), ("False", "BackendNotFound")),
    (route(parentRefs=[{"name": "web", "sectionName": "no"}]), gateway(), ("False", "NoMatchingParent"), None),
    (route(parentRefs=[{"name": "web", "port": 81}]), gateway(), ("False", "NoMatchingParent"), None),
    (route(hostnames=["b.c"]), gateway({**HTTP, "hostname": "a.c"}), ("False", "NoMatchingListenerHostname"), None),
    (route(hostnames=["b.c"]), gateway({**HTTP, "hostname": "*.c"}), ("True", "Accepted"), None),
    (route(**FAR), gateway(), ("False", "NotAllowedByListeners"), None),
    (route(**FAR), gateway(FROM_ALL), ("True", "Accepted"), None),
    (route(**FAR), gateway(SELECTED), ("True", "Accepted"), None),
    (route(), gateway(GRPC), ("False", "NotAllowedByListeners"), None),
    (route(), gateway(TLS), ("False", "NotAllowedByListeners"), None),
    (route(rule(path("/.*", "RegularExpression"))), gateway(), ("False", "UnsupportedValue"), None),
    (route(rule(filters=[{"type": "RequestMirror"}])), gateway(), ("False", "UnsupportedValue"), None),
    (route(rule(timeouts={"request": "1s"})), gateway(), ("False", "UnsupportedValue"), None),
]


@pytest.mark.parametrize(("made", "of", "accepted", "resolved"), ROUTES, ids=range(len(ROUTES)))
def test_a_route(made: HttpRoute, of: Gateway, accepted: tuple[str, str], resolved: tuple[str, str] | None) -> None:
    (parent,) = status_of(made, of, {"a": "b"})["parents"]
    assert told(parent, "Accepted") == accepted
    assert resolved is None or told(parent, "ResolvedRefs") == resolved
    assert {each["observedGeneration"] for each in parent["conditions"]} == {5}
    assert parent["controllerName"] == "heliostat.dev/gateway"


def test_a_namespace_without_the_labels_is_not_selected() -> None:
    (parent,) = status_of(route(**FAR), gateway(SELECTED), {"a": "other"})["parents"]
    assert told(parent, "Accepted") == ("False", "NotAllowedByListeners")


def test_the_parent_is_named_as_the_route_names_it_and_other_controllers_words_stay() -> None:
    other: dict[str, Any] = {"parentRef": {"name": "theirs"}, "controllerName": "x.y/z", "conditions": []}
    stale: dict[str, Any] = {"parentRef": {"name": "gone"}, "controllerName": "heliostat.dev/gateway", "conditions": []}
    made = msgspec.structs.replace(
        route(parentRefs=[{"name": "web", "namespace": "ns"}, {"name": "theirs"}]), status={"parents": [other, stale]}
    )
    parents = status_of(made)["parents"]
    assert parents[0] == other
    assert [each["parentRef"] for each in parents[1:]] == [
        {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web", "namespace": "ns"}
    ]


def test_what_is_not_carried_out_is_named_with_its_place() -> None:
    (parent,) = status_of(route(rule(), rule(filters=[{"type": "RequestMirror"}])))["parents"]
    assert "spec.rules[1].filters[0] (RequestMirror)" in parent["conditions"][0]["message"]


def test_a_class() -> None:
    made = msgspec.convert({**build_gateway_class(), "status": {}}, GatewayClass)
    assert told(class_status(made, "", NOW), "Accepted") == ("True", "Accepted")
    assert told(class_status(made, "Pods share the host's network", NOW), "Accepted") == ("False", "Unsupported")
