"""Rules about a change: when they run, which old value they see, and what an update may leave broken."""

from typing import Any

import pytest

from embedded.cel.objects import INTEGER, STRING, an_object, broken, rule, with_rules
from heliostat.kube.schema import JsonSchema

IMMUTABLE = rule("self == oldSelf", message="is immutable")
ITEM: JsonSchema = {
    **an_object(
        name=STRING, protocol=STRING, size=with_rules(INTEGER, rule("self >= oldSelf", message="must not shrink"))
    ),
    "required": ["name"],
}
DISKS: JsonSchema = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": ITEM,
}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({"a": "x"}, None, []),
        ({"a": "x"}, {"a": "x"}, []),
        ({"a": "x"}, {}, []),
        ({"a": "x"}, {"a": None}, []),
        ({}, {"a": "x"}, []),
        ({"a": None}, {"a": "x"}, []),
        ({"a": "y"}, {"a": "x"}, ['spec.a: Invalid value: "string": is immutable']),
    ],
)
def test_a_transition_rule_runs_when_there_is_a_value_before_and_after(new: Any, old: Any, expected: list[str]) -> None:
    assert broken(an_object(a=with_rules(STRING, IMMUTABLE)), new, old) == expected


def test_a_rule_above_sees_fields_come_and_go() -> None:
    once_set = rule("!has(oldSelf.a) || has(self.a)", message="a cannot be unset")
    assert broken(an_object(once_set, a=STRING), {}, {"a": "x"}) == ['spec: Invalid value: "object": a cannot be unset']
    assert broken(an_object(once_set, a=STRING), {"a": "x"}, {}) == []


def test_items_of_a_map_list_are_found_again_by_their_keys() -> None:
    old = {"disks": [{"name": "a", "size": 5}, {"name": "b", "size": 7}]}
    moved = {"disks": [{"name": "c", "size": 1}, {"name": "b", "size": 6}, {"name": "a", "size": 5}]}
    assert broken(an_object(disks=DISKS), moved, old) == [
        'spec.disks[1].size: Invalid value: "integer": must not shrink'
    ]


def test_several_keys_identify_an_item_together() -> None:
    disks = {**DISKS, "x-kubernetes-list-map-keys": ["name", "protocol"]}
    old = {"disks": [{"name": "a", "protocol": "x", "size": 5}]}
    assert broken(an_object(disks=disks), {"disks": [{"name": "a", "protocol": "y", "size": 1}]}, old) == []
    assert len(broken(an_object(disks=disks), {"disks": [{"name": "a", "protocol": "x", "size": 1}]}, old)) == 1


def test_an_item_without_its_key_has_no_past() -> None:
    assert broken(an_object(disks=DISKS), {"disks": [{"size": 1}]}, {"disks": [{"size": 5}]}) == []


def test_values_of_a_map_are_found_again_by_their_key() -> None:
    sizes: JsonSchema = {"type": "object", "additionalProperties": ITEM["properties"]["size"]}
    found = broken(an_object(sizes=sizes), {"sizes": {"a": 1, "b": 9, "c": 0}}, {"sizes": {"a": 5, "b": 7}})
    assert found == ['spec.sizes[a]: Invalid value: "integer": must not shrink']


def test_a_set_is_unchanged_in_any_order() -> None:
    tags: JsonSchema = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}
    spec = an_object(tags=with_rules(tags, IMMUTABLE))
    assert broken(spec, {"tags": ["b", "a"]}, {"tags": ["a", "b"]}) == []
    assert broken(spec, {"tags": ["a"]}, {"tags": ["a", "b"]}) == ['spec.tags: Invalid value: "array": is immutable']


OPTIONAL = rule("oldSelf.hasValue() ? self >= oldSelf.value() : self == 0", optionalOldSelf=True, message="from 0 up")


@pytest.mark.parametrize(
    ("new", "old", "is_fine"),
    [(0, None, True), (1, None, False), (0, {}, True), (5, {"a": 4}, True), (3, {"a": 4}, False)],
)
def test_with_an_optional_old_value_a_rule_always_runs(new: int, old: Any, is_fine: bool) -> None:
    found = broken(an_object(a=with_rules(INTEGER, OPTIONAL)), {"a": new}, old)
    assert found == ([] if is_fine else ['spec.a: Invalid value: "integer": from 0 up'])


SHORT = rule("self.size() < 4", message="too long")


def test_what_was_broken_before_and_has_not_changed_is_only_warned_about() -> None:
    spec = an_object(a=with_rules(STRING, SHORT), b=STRING)
    line = 'spec.a: Invalid value: "string": too long'
    assert broken(spec, {"a": "abcdef"}) == [line]
    assert broken(spec, {"a": "abcdef", "b": "new"}, {"a": "abcdef"}) == [f"warning: {line}"]
    assert broken(spec, {"a": "abcdef"}, {"a": "abcdeg"}) == [line]


def test_a_transition_rule_is_never_only_a_warning() -> None:
    spec = an_object(a=with_rules(STRING, rule("self != oldSelf", message="must change")))
    assert broken(spec, {"a": "x"}, {"a": "x"}) == ['spec.a: Invalid value: "string": must change']


def test_an_item_that_cannot_be_found_again_is_judged_with_its_whole_list() -> None:
    spec = an_object(names={"type": "array", "items": with_rules(STRING, SHORT)})
    line = 'spec.names[0]: Invalid value: "string": too long'
    assert broken(spec, {"names": ["abcdef"]}, {"names": ["abcdef"]}) == [f"warning: {line}"]
    assert broken(spec, {"names": ["abcdef", "b"]}, {"names": ["abcdef"]}) == [line]


def test_a_field_the_schema_does_not_know_counts_as_changed() -> None:
    spec: JsonSchema = {**an_object(rule("self.a == 'x'"), a=STRING), "x-kubernetes-preserve-unknown-fields": True}
    same = {"a": "y", "unknown": 1}
    assert broken(spec, same, same) == ["spec: Invalid value: \"object\": failed rule: self.a == 'x'"]
    assert broken(spec, {"a": "y"}, {"a": "y"})[0].startswith("warning: ")
