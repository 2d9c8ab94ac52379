"""Elements of paths and sets of fields: spelling, order, algebra, wire form."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.server.patches.apply.elements import (
    ElementError,
    ElementPath,
    element_order,
    field_path,
    key_element,
    read_element,
    show_path,
    value_element,
)
from heliostat.embedded.server.patches.apply.field_set import (
    NO_FIELDS,
    FieldSet,
    build_field_set,
    read_field_set,
    write_field_set,
)
from heliostat.kube.jsontree import JsonObject


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("f:spec", "f:spec"),
        ("f:a.b/c:d", "f:a.b/c:d"),
        ("f:", "f:"),
        ('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}'),
        ('k:{"a":1.0}', 'k:{"a":1}'),
        ('v: "x"', 'v:"x"'),
        ("v:true", "v:true"),
        ('v:"<"', 'v:"\\u003c"'),
        ("i:007", "i:7"),
        ("z:future", None),
    ],
)
def test_reading_an_element(text: str, canonical: str | None) -> None:
    assert read_element(text) == canonical


@pytest.mark.parametrize("text", ["", "f", "spec", "k:[1]", "k:{", "v:", "v:nope", "i:x", "i:"])
def test_text_that_is_no_element(text: str) -> None:
    with pytest.raises(ElementError):
        read_element(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", '"x"'), ("a<b", '"a\\u003cb"'), (1, "1"), (1.0, "1"), (1.5, "1.5"), (True, "true"), ("é", '"é"')],
)
def test_values_are_spelled_canonically(value: Any, text: str) -> None:
    assert value_element(value) == f"v:{text}"
    assert key_element({"k": value}) == f'k:{{"k":{text}}}'


def test_order_of_elements() -> None:
    ordered = [
        "f:a",
        "f:b",
        'k:{"a":2}',
        'k:{"a":10}',
        'k:{"a":"x"}',
        'k:{"a":"x","b":1}',
        'k:{"b":1}',
        "v:2",
        "v:10",
        'v:"a"',
        "v:false",
        "v:true",
        "i:2",
        "i:10",
    ]
    assert sorted(set(ordered), key=element_order) == ordered


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (field_path("spec", "replicas"), ".spec.replicas"),
        (field_path("metadata", "labels", "app.kubernetes.io/name"), ".metadata.labels.app.kubernetes.io/name"),
        (("f:c", 'k:{"containerPort":80,"protocol":"TCP"}'), '.c[containerPort=80,protocol="TCP"]'),
        (("f:s", 'v:"a\\"b"'), '.s[="a\\"b"]'),
        (("f:s", "v:1.5"), ".s[=1.5]"),
        (("f:l", "i:3"), ".l[3]"),
    ],
)
def test_showing_a_path(path: ElementPath, text: str) -> None:
    assert show_path(path) == text


WIRE = {
    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
    "f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}}}, "f:replicas": {}},
}


def test_wire_form() -> None:
    fields = read_field_set(WIRE)
    assert write_field_set(fields) == WIRE
    assert [show_path(path) for path in fields.paths()] == [
        ".metadata.labels",
        ".metadata.labels.app",
        ".spec.replicas",
        '.spec.containers[name="a"]',
        '.spec.containers[name="a"].image',
    ]


@pytest.mark.parametrize(
    ("wire", "result"),
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"z:x": {}}}, {"f:a": {}}),
        ({"z:x": {}, "f:a": {}}, {"f:a": {}}),
        ({}, {}),
    ],
)
def test_wire_forms_that_mean_the_same(wire: JsonObject, result: JsonObject) -> None:
    assert write_field_set(read_field_set(wire)) == result


@pytest.mark.parametrize("wire", [{"f:a": []}, {"f:a": 1}, {"spec": {}}])
def test_wire_form_that_is_none(wire: JsonObject) -> None:
    with pytest.raises(ElementError):
        read_field_set(wire)


def test_a_field_and_the_fields_inside_it_are_apart() -> None:
    parent, child = build_field_set([field_path("a")]), build_field_set([field_path("a", "b")])
    both = parent | child
    assert both - parent == child
    assert both - child == parent
    assert child - parent == child
    assert both.without(parent) == NO_FIELDS
    assert both.without(child) == parent
    assert parent & child == NO_FIELDS


def test_the_whole_object_is_no_field() -> None:
    assert build_field_set([()]) == NO_FIELDS


_elements = st.sampled_from(["f:a", "f:b", 'k:{"n":1}', 'v:"x"'])
_paths = st.lists(_elements, min_size=1, max_size=3).map(tuple)
_sets = st.lists(_paths, max_size=6).map(build_field_set)


def members(fields: FieldSet) -> set[ElementPath]:
    return set(fields.paths())


@given(_sets, _sets)
def test_sets_of_fields_are_sets(left: FieldSet, right: FieldSet) -> None:
    assert members(left | right) == members(left) | members(right)
    assert members(left & right) == members(left) & members(right)
    assert members(left - right) == members(left) - members(right)
    assert bool(left) == bool(members(left))
    assert all(left.has(path) for path in members(left))


@given(_sets, _sets)
def test_removing_with_everything_inside(left: FieldSet, right: FieldSet) -> None:
    prefixes = members(right)
    kept = {path for path in members(left) if not any(path[: len(prefix)] == prefix for prefix in prefixes)}
    assert members(left.without(right)) == kept


@given(_sets)
def test_the_wire_form_is_lossless(fields: FieldSet) -> None:
    assert read_field_set(write_field_set(fields)) == fields
