"""Rules as definitions of gateways and routes have them: unions, unique items, patterns, prefixes, limits."""

from typing import Any

import pytest

from embedded.cel.objects import INTEGER, STRING, an_object, broken, rule, with_rules
from heliostat.kube.schema import JsonSchema

NAME: JsonSchema = {"type": "string", "maxLength": 63}

FILTER = an_object(
    rule("!has(self.redirect) || self.type == 'Redirect'", message="redirect needs the type Redirect"),
    rule("self.type != 'Redirect' || has(self.redirect)", message="the type Redirect needs redirect"),
    type=NAME,
    redirect=an_object(path=NAME),
)
PATH = an_object(
    rule("self.type in ['Exact', 'Prefix'] ? self.value.startsWith('/') : true", message="must begin with a slash"),
    rule("self.type in ['Exact', 'Prefix'] ? !self.value.contains('//') : true", message="no empty segments"),
    rule(
        r'''self.type == 'Exact' ? self.value.matches(r"""^(?:[-A-Za-z0-9/._~]|[%][0-9a-fA-F]{2})+$""") : true''',
        message="only characters of a path",
    ),
    type=NAME,
    value={"type": "string", "maxLength": 1024},
)
ROUTE = an_object(
    rule(
        "has(self.filters) && self.filters.exists_one(f, has(f.redirect)) ? size(self.paths) == 1 : true",
        message="a redirect goes with one path",
    ),
    hosts=with_rules(
        {"type": "array", "maxItems": 16, "items": {"type": "string", "maxLength": 253}},
        rule("self.all(h, !isIP(h))", message="hosts are names, not addresses"),
        rule(
            r"self.all(h, h.contains('*') ? h.startsWith('*.') && h.substring(2).matches('^[a-z0-9.-]+$') : true)",
            message="a wildcard stands alone at the beginning",
        ),
    ),
    listeners=with_rules(
        {
            "type": "array",
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                **an_object(name=NAME, port=INTEGER, protocol=NAME, hostname=NAME),
                "required": ["name"],
            },
        },
        rule(
            "self.all(a, self.exists_one(b, a.port == b.port && a.protocol == b.protocol && "
            "(has(a.hostname) && has(b.hostname) ? a.hostname == b.hostname : !has(a.hostname) && !has(b.hostname))))",
            message="port, protocol and hostname must be unique",
        ),
        rule("self.all(l, l.protocol in ['TCP', 'UDP'] ? !has(l.hostname) : true)", message="no hostname here"),
    ),
    filters=with_rules(
        {"type": "array", "maxItems": 16, "items": FILTER},
        rule("self.filter(f, f.type == 'Redirect').size() <= 1", message="Redirect cannot be repeated"),
    ),
    paths={"type": "array", "maxItems": 8, "items": PATH},
    parents=with_rules(
        {"type": "array", "maxItems": 8, "items": an_object(name=NAME, namespace=NAME)},
        rule(
            "self.all(p, self.exists_one(q, p.name == q.name && "
            "(has(p.__namespace__) ? p.__namespace__ : '') == (has(q.namespace) ? q.namespace : '')))",
            message="parents must be distinct",
        ),
    ),
    labels=with_rules(
        {"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string", "maxLength": 63}},
        rule("self.all(key, !format.qualifiedName().validate(key).hasValue())", message="keys are qualified names"),
    ),
    timeout=with_rules(
        STRING, rule("duration(self) >= duration('1s') && duration(self) <= duration('1h')", message="1s to 1h")
    ),
    weight=an_object(
        rule("self.numerator <= self.denominator", message="at most the whole"), numerator=INTEGER, denominator=INTEGER
    ),
)

LISTENER = {"name": "a", "port": 80, "protocol": "HTTP"}


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ({}, None),
        ({"hosts": ["example.com", "*.example.com"]}, None),
        ({"hosts": ["10.0.0.1"]}, "hosts are names, not addresses"),
        ({"hosts": ["a.*.com"]}, "a wildcard stands alone at the beginning"),
        ({"listeners": [LISTENER, {**LISTENER, "name": "b", "port": 81}]}, None),
        ({"listeners": [LISTENER, {**LISTENER, "name": "b", "hostname": "x"}]}, None),
        ({"listeners": [LISTENER, {**LISTENER, "name": "b"}]}, "port, protocol and hostname must be unique"),
        ({"listeners": [{**LISTENER, "protocol": "TCP", "hostname": "x"}]}, "no hostname here"),
        ({"filters": [{"type": "Redirect", "redirect": {}}], "paths": [{"type": "Exact", "value": "/"}]}, None),
        ({"filters": [{"type": "Redirect", "redirect": {}}], "paths": []}, "a redirect goes with one path"),
        ({"filters": [{"type": "Redirect"}]}, "the type Redirect needs redirect"),
        (
            {"filters": [{"type": "Mirror", "redirect": {}}], "paths": [{"type": "Exact", "value": "/"}]},
            "redirect needs the type Redirect",
        ),
        ({"filters": [{"type": "Redirect", "redirect": {}}] * 2}, "Redirect cannot be repeated"),
        ({"paths": [{"type": "Prefix", "value": "x"}]}, "must begin with a slash"),
        ({"paths": [{"type": "Prefix", "value": "/a//b"}]}, "no empty segments"),
        ({"paths": [{"type": "Exact", "value": "/a%2g"}]}, "only characters of a path"),
        ({"paths": [{"type": "Exact", "value": "/a%2F"}, {"type": "Regex", "value": "("}]}, None),
        ({"parents": [{"name": "a"}, {"name": "a", "namespace": "b"}]}, None),
        ({"parents": [{"name": "a"}, {"name": "a"}]}, "parents must be distinct"),
        ({"labels": {"example.com/a": "1"}}, None),
        ({"labels": {"a/b/c": "1"}}, "keys are qualified names"),
        ({"timeout": "30s"}, None),
        ({"timeout": "2h"}, "1s to 1h"),
        ({"weight": {"numerator": 2, "denominator": 1}}, "at most the whole"),
    ],
)
def test_a_route_keeps_its_rules_or_hears_which_one_it_breaks(route: Any, message: str | None) -> None:
    found = broken(ROUTE, route)
    assert [line.rsplit(": ", 1)[1] for line in found] == ([] if message is None else [message])


def test_a_missing_field_in_a_rule_is_reported_as_the_error_it_is() -> None:
    assert broken(ROUTE, {"weight": {"numerator": 2}}) == [
        'spec.weight: Invalid value: "object": no such key: denominator evaluating rule: at most the whole'
    ]
