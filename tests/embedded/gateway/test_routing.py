"""Which rule a request meets, in the words of the Gateway API; the order in which objects are known means nothing."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.gateway.shapes import HTTP, backend, gateway, path, route, rule, services
from heliostat.embedded.gateway.attaching import attach
from heliostat.embedded.gateway.objects import Gateway, HttpRoute
from heliostat.embedded.gateway.routing import Asked, PortTable, build_tables
from heliostat.kube.objects import Key

WEB = Key("ns", "web")
NO_LABELS: dict[str, str] = {}


def table(*routes: HttpRoute, of: Gateway | None = None, port: int = 80) -> PortTable:
    made = of or gateway()
    attached = [(each, found) for each in routes for found in attach(each, {WEB: made}.get, lambda _: NO_LABELS)]
    ports = {WEB: [(each.port, each.hostname) for each in made.spec.listeners]}
    return build_tables(attached, ports, services("one", "two").find)[WEB][port]


def ask(target: str = "/", host: str = "a.example", method: str = "GET", **headers: str) -> Asked:
    place, _, query = target.partition("?")
    return Asked(method, host, place, query, tuple(headers.items()))


def found(tables: PortTable, asked: Asked) -> str:
    rule_ = tables.find(asked)
    return f"{rule_.route.name}/{rule_.number}" if rule_ is not None else ""


PATHS = [
    (path("/foo"), "/foo", True),
    (path("/foo"), "/foo/", True),
    (path("/foo"), "/foo/bar", True),
    (path("/foo"), "/foobar", False),
    (path("/foo/"), "/foo", True),
    (path("/foo/"), "/foo/bar", True),
    (path("/foo/"), "/foobar", False),
    (path("/"), "/any/thing", True),
    (path("/foo", "Exact"), "/foo", True),
    (path("/foo", "Exact"), "/foo/", False),
    (path("/", method="POST"), "/", False),
    (path("/", headers=[{"name": "X-A", "value": "1"}]), "/", True),
    (path("/", headers=[{"name": "x-a", "value": "2"}]), "/", False),
    (path("/", headers=[{"name": "x-a", "value": "1"}, {"name": "X-B", "value": "1"}]), "/", False),
    (path("/", queryParams=[{"name": "q", "value": "a b"}]), "/?p=1&q=a+b", True),
    (path("/", queryParams=[{"name": "q", "value": "1"}]), "/?q=2&q=1", False),
    (path("/", queryParams=[{"name": "q", "value": ""}]), "/?q=", True),
    (path("/", queryParams=[{"name": "q", "value": ""}]), "/", False),
]


@pytest.mark.parametrize(("match", "target", "meets"), PATHS)
def test_what_a_match_means(match: dict[str, Any], target: str, meets: bool) -> None:
    assert bool(found(table(route(rule(match))), ask(target, **{"x-A": "1"}))) is meets


def test_a_rule_with_an_empty_list_of_matches_takes_every_request() -> None:
    assert found(table(route({**rule(), "matches": []})), ask("/any/thing")) == "route/0"


def test_the_more_specific_match_wins() -> None:
    rules = (
        rule(path("/")),
        rule(path("/a")),
        rule(path("/a/b")),
        rule(path("/a", "Exact")),
        rule(path("/a/b", method="GET")),
        rule(path("/a/b", headers=[{"name": "x", "value": "1"}])),
        rule(path("/a/b", queryParams=[{"name": "q", "value": "1"}])),
    )
    tables = table(route(*rules))
    assert found(tables, ask("/z")) == "route/0"
    assert found(tables, ask("/a/z")) == "route/1"
    assert found(tables, ask("/a")) == "route/3"
    assert found(tables, ask("/a/b", method="PUT")) == "route/2"
    assert found(tables, ask("/a/b", x="1")) == "route/4"  # a method before headers
    assert found(tables, ask("/a/b", method="PUT", x="1")) == "route/5"
    assert found(tables, ask("/a/b?q=1", method="PUT", x="1")) == "route/5"  # headers before the query
    assert found(tables, ask("/a/b?q=1", method="PUT")) == "route/6"


def test_among_equals_the_older_route_wins_then_the_first_by_name_then_the_first_rule() -> None:
    assert found(table(route(name="b", age=1), route(name="a", age=2)), ask()) == "b/0"
    assert found(table(route(name="b"), route(name="a")), ask()) == "a/0"
    assert found(table(route(rule(), rule(to=[backend("two")]))), ask()) == "route/0"


HOSTS = [
    ("a.example", "exact/0"),
    ("b.example", "wild/0"),
    ("x.b.example", "wild/0"),
    ("example", "any/0"),
    ("other", "any/0"),
]


@pytest.mark.parametrize(("host", "which"), HOSTS)
def test_the_more_specific_hostname_wins_whatever_the_paths(host: str, which: str) -> None:
    tables = table(
        route(rule(path("/a/long/prefix"), path("/")), name="any"),
        route(name="wild", hostnames=["*.example"]),
        route(name="exact", hostnames=["A.example"]),
    )
    assert found(tables, ask("/", host=host)) == which


def test_a_rule_that_does_not_match_leaves_the_request_to_a_wider_hostname() -> None:
    tables = table(route(name="any"), route(rule(path("/only")), name="exact", hostnames=["a.example"]))
    assert found(tables, ask("/else")) == "any/0"


def test_a_request_belongs_to_the_most_specific_listener_alone() -> None:
    narrow = {**HTTP, "name": "narrow", "hostname": "a.example"}
    only = route(rule(path("/only")), name="only", parentRefs=[{"name": "web", "sectionName": "narrow"}])
    wide = route(name="wide", parentRefs=[{"name": "web", "sectionName": "http"}])
    tables = table(only, wide, of=gateway(HTTP, narrow))
    assert found(tables, ask("/only")) == "only/0"
    assert found(tables, ask("/else")) == ""
    assert found(tables, ask("/only", host="b.example")) == "wide/0"


BACKENDS = [
    (backend("one"), ""),
    (backend("none"), "BackendNotFound"),
    (backend("one", port=81), "BackendNotFound"),
    (backend("one", namespace="other"), "RefNotPermitted"),
    (backend("one", namespace="ns"), ""),
    (backend("one", kind="Bucket", group="x.y"), "InvalidKind"),
]


@pytest.mark.parametrize(("ref", "problem"), BACKENDS)
def test_a_back_end_that_cannot_be_resolved_keeps_its_share(ref: dict[str, Any], problem: str) -> None:
    found_rule = table(route(rule(to=[{**ref, "weight": 7}]))).find(ask())
    assert found_rule is not None
    (only,) = found_rule.backends
    assert (only.weight, only.problem, only.port is None) == (7, problem, bool(problem))


WORDS = st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/b"])
MATCHES = st.builds(
    path,
    WORDS,
    st.sampled_from(["PathPrefix", "Exact"]),
    method=st.sampled_from(["", "GET", "PUT"]),
    headers=st.lists(st.fixed_dictionaries({"name": st.just("x"), "value": st.sampled_from("12")}), max_size=1),
)


@given(st.lists(st.lists(MATCHES, min_size=1, max_size=2), min_size=1, max_size=5), st.randoms(), WORDS)
def test_the_order_in_which_routes_are_known_means_nothing(
    matches: list[list[dict[str, Any]]], chance: random.Random, target: str
) -> None:
    routes = [route(rule(*each), name=f"r{number}") for number, each in enumerate(matches)]
    shuffled = chance.sample(routes, len(routes))
    asked = ask(target, method="GET", X="1")
    assert found(table(*routes), asked) == found(table(*shuffled), asked)
