"""What a rule sees of an object: names, types and values as the schema gives them."""

from typing import Any

import pytest

from embedded.cel.evaluation import CLUSTER, HEAD, compile_for, evaluate, evaluate_head
from heliostat.embedded.cel.errors import CompileError, EvaluationError
from heliostat.embedded.cel.field_names import escape_field
from heliostat.embedded.cel.schema_types import build_type
from heliostat.embedded.cel.values import Duration, Timestamp
from heliostat.kube.schema import JsonSchema

# (expression about the cluster, value)
ABOUT_THE_HEAD: list[tuple[str, Any]] = [
    ("self.name", "ray-head"),
    ("self.x__dash__dash__dot__y", "dashed"),
    ("self.a__slash__b__underscores__c", "slashed"),
    ("self.__namespace__ + self.namespace + self.__in__", "nsnsinside"),
    ("has(self.name) && has(self.spec) && !has(self.missing) && !has(self.spec.size)", True),
    ("self.ratio + 1.0", 1.5),
    ("self.shares[0] + self.shares.sum()", 4.5),
    ("self.ttl", Duration(90_000_000_000)),
    ("self.ttl == duration('1m30s') && self.ttl.getSeconds() == 90", True),
    ("self.delays.map(d, d)", [Duration(1_000_000_000), Duration(120_000_000_000)]),
    ("self.delays.sum() == duration('121s') && self.delays[1] > self.delays[0]", True),
    ("self.delays == [duration('1s'), duration('2m')] && [duration('1s'), duration('2m')] == self.delays", True),
    ("duration('2m') in self.delays && self.delays.indexOf(duration('2m')) == 1", True),
    ("self.since < timestamp('2025-01-01T00:00:00Z') && self.since.getFullYear() == 2024", True),
    ("self.day", Timestamp(1_714_521_600_000_000_000)),
    ("self.blob == b'hi' && self.blob.size() == 2", True),
    ("self.target == '50%' && type(self.target) == string", True),
    ("type(self.target) == int ? self.target < 5 : self.target.endsWith('%')", True),
    ("self.tags == ['a', 'b'] && self.tags != ['a', 'c'] && self.tags != ['a']", True),
    ("['a', 'b'] == self.tags", False),
    ("self.tags + ['a', 'c']", ["b", "a", "c"]),
    ("self.ports == [self.ports[1], self.ports[0]]", True),
    ("(self.ports + [self.ports[0]]).size()", 2),
    ("self.ports.map(p, p.port).sum()", 523),
    ("self.ports.filter(p, has(p.name)).map(p, p.name)", ["http"]),
    ("self.labels.all(k, self.labels[k].size() > 0) && 'app' in self.labels", True),
    ("self.labels.app + self.labels['x/y']", "ray1"),
    ("self.?labels[?'nope'].orValue('none') + self.?missing.orValue('-')", "none-"),
    ("self.?spec.?size.orValue(7)", 7),
    ("self.aliases.map(a, a == 'a')", [True, False]),
    ("self.spec == oldSelf.spec && self == oldSelf", True),
    ("dyn(self).name + string(dyn(self.ttl))", "ray-head90s"),
    ("dyn(self.delays)[1] == duration('2m')", True),
    ("self.paused ? self.target : self.name", "50%"),
    ("type(self.spec) == map && type(self.ports) == list && type(self.since) == google.protobuf.Timestamp", True),
]


@pytest.mark.parametrize(("text", "expected"), ABOUT_THE_HEAD, ids=str)
def test_fields_have_the_names_types_and_values_of_the_schema(text: str, expected: Any) -> None:
    assert evaluate_head(text) == expected


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("plain", "plain"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("", None),
        ("1a", None),
        ("ä", None),
        ("a b", None),
    ],
)
def test_a_key_becomes_a_name_or_stays_unseen(key: str, name: str | None) -> None:
    assert escape_field(key) == name


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "string"}, "ab", "self.size() == 2"),
        ({"type": "integer"}, 5, "self + 1 == 6"),
        ({"type": "number"}, 5, "self / 2.0 == 2.5"),
        ({"type": "boolean"}, True, "self"),
        ({"type": "array", "items": {"type": "string"}}, ["a"], "self[0] == 'a'"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, "self.all(k, self[k] == 1)"),
        ({"x-kubernetes-int-or-string": True}, 5, "type(self) == int && self < 10"),
        ({"x-kubernetes-int-or-string": True}, "5", "type(self) == string"),
        ({"type": "string", "format": "duration"}, "1 week", "self == duration('168h')"),
        ({"type": "string", "format": "date-time"}, "2024-01-01T00:00:00", "self.getFullYear() == 2024"),
    ],
)
def test_self_may_be_any_kind_of_value(schema: JsonSchema, value: Any, text: str) -> None:
    assert evaluate(text, value, schema) is True


def test_the_root_of_a_resource_shows_its_name_and_nothing_else_of_its_metadata() -> None:
    kind = build_type({"type": "object", "properties": {"metadata": {"type": "object"}}}, is_resource=True)
    assert kind is not None
    assert kind.data is not None
    metadata = kind.data.field("metadata")
    assert metadata is not None
    assert metadata.kind.data is not None
    assert set(metadata.kind.data.names) == {"name", "generateName"}
    assert {"apiVersion", "kind"} <= set(kind.data.names)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array"},
        {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    ],
)
def test_a_part_without_a_type_is_not_visible(schema: JsonSchema) -> None:
    assert build_type(schema) is None
    with pytest.raises(CompileError, match="undefined field 'part'"):
        compile_for("has(self.part)", {"type": "object", "properties": {"part": schema}})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", 5, "invalid data, expected string, got int64"),
        ("replicas", "5", "invalid data, expected int, got string"),
        ("replicas", 1.0, "invalid data, expected int, got float64"),
        ("replicas", True, "invalid data, expected int, got bool"),
        ("paused", 1, "invalid data, expected bool, got int64"),
        ("ports", {}, "invalid data, expected an array for the provided schema with type=array"),
        ("spec", [], "invalid data, expected a map for the provided schema with type=object"),
        ("target", 1.5, "invalid data, expected XIntOrString value to be either a string or integer"),
        ("ttl", "soon", "Invalid duration soon: unable to parse soon as duration"),
        ("ttl", 5, "invalid data, expected string, got int64"),
        ("since", "today", "Invalid date-time formatted string today"),
        ("blob", "?", "Invalid byte formatted string ?"),
    ],
)
def test_data_that_is_not_what_the_schema_says_is_an_evaluation_error(field: str, value: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(f"self.{field} == self.{field}", {**HEAD, field: value}, CLUSTER)
    assert str(caught.value) == message


def test_null_is_absent_in_an_object_and_a_value_in_a_nullable_list() -> None:
    assert evaluate("has(self.name)", {"name": None}, CLUSTER) is False
    assert evaluate("self.aliases[1] == self.aliases[1]", HEAD, CLUSTER) is True
    with pytest.raises(EvaluationError, match="got null for schema with nullable=false"):
        evaluate("self.numbers[0] == 1", {"numbers": [None]}, CLUSTER)


def test_unknown_fields_count_in_equality_only() -> None:
    schema: JsonSchema = {"type": "object", "properties": {"open": CLUSTER["properties"]["open"]}}
    assert evaluate("self.open == oldSelf.open", {"open": {"x": 1}}, schema, {"open": {"x": 1}}) is True
    assert evaluate("self.open == oldSelf.open", {"open": {"x": 1}}, schema, {"open": {"x": True}}) is False
