"""Conflicts, force, and what an apply refuses."""

from typing import Any

import pytest

from embedded.patches.applying import (
    DEPLOYMENT,
    NOW,
    applied,
    bare,
    config_map,
    core_endpoint,
    owned_spec,
    owners,
    thing,
    thing_endpoint,
    updated,
    with_spec,
)
from heliostat.embedded.refusals import Cause, RefusedError
from heliostat.embedded.server.patches.apply.last_applied import ANNOTATION
from heliostat.embedded.server.patches.errors import ApplyConflictError
from heliostat.kube.go_text import go_json
from heliostat.kube.jsontree import JsonObject

NOT_AN_OBJECT = "json: cannot unmarshal array into Go value of type map[string]interface {}"


def conflict(live: JsonObject, body: JsonObject, manager: str = "b") -> ApplyConflictError:
    with pytest.raises(ApplyConflictError) as refused:
        applied(live, body, manager)
    return refused.value


def test_one_conflict() -> None:
    refused = conflict(applied(None, config_map(k="1")), config_map(k="2"))
    assert (refused.code, refused.reason) == (409, "Conflict")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "a": .data.k'
    assert refused.causes == (Cause("FieldManagerConflict", 'conflict with "a"', ".data.k"),)


def test_several_conflicts() -> None:
    tree = applied(None, thing(text="1", table=[{"k": "x", "v": "1"}]))
    tree = updated(tree, with_spec(tree, number=1))
    refused = conflict(tree, thing(text="2", number=2, table=[{"k": "x", "v": "2"}]))
    assert refused.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n'
        "- .spec.text\n"
        '- .spec.table[k="x",p=1].v\n'
        'conflicts with "u" using example.com/v1:\n'
        "- .spec.number"
    )
    assert [cause.field for cause in refused.causes] == [".spec.text", '.spec.table[k="x",p=1].v', ".spec.number"]


def test_conflict_with_a_subresource() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 1}}
    tree = applied(None, live, endpoint=DEPLOYMENT)
    scale = core_endpoint("apps/v1", "Deployment", "apps.v1.Deployment", "scale")
    tree = updated(tree, with_spec(tree, replicas=3), "hpa", scale)
    with pytest.raises(ApplyConflictError) as refused:
        applied(tree, live, endpoint=DEPLOYMENT)
    assert refused.value.message == (
        'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using apps/v1: .spec.replicas'
    )


def test_conflict_with_what_was_there_before() -> None:
    refused = conflict(config_map(k="1"), config_map(k="2"))
    assert refused.message == ('Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k')


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        ({"atoms": ["x"]}, {"atoms": ["x", "y"]}, ".spec.atoms"),
        ({"atom": {"a": "1"}}, {"atom": {"b": "1"}}, ".spec.atom"),
        ({"map": {"a": "1"}}, {"map": {"a": "2"}}, ".spec.map.a"),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, ".spec.free.a"),
        ({"flag": True}, {"flag": False}, ".spec.flag"),
        ({"either": 1}, {"either": "1"}, ".spec.either"),
    ],
)
def test_where_values_conflict(first: JsonObject, second: JsonObject, field: str) -> None:
    refused = conflict(applied(None, thing(**first)), thing(**second))
    assert [cause.field for cause in refused.causes] == [field]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"text": "1"}, {"text": "1"}),
        ({"atoms": ["x"]}, {"atoms": ["x"]}),
        ({"map": {"a": "1"}}, {"map": {"b": "1"}}),
        ({"set": ["x"]}, {"set": ["y", "x"]}),
        ({"table": [{"k": "x", "v": "1"}]}, {"table": [{"k": "x", "w": "1"}, {"k": "x", "p": 2, "v": "2"}]}),
    ],
)
def test_where_values_do_not_conflict(first: JsonObject, second: JsonObject) -> None:
    tree = applied(applied(None, thing(**first)), thing(**second), "b")
    assert owned_spec(tree) == owned_spec(applied(None, thing(**first)))
    assert owned_spec(tree, "Apply b") == owned_spec(applied(None, thing(**second)))


def test_force_takes_the_field_over() -> None:
    tree = applied(None, thing(text="1", number=1))
    tree = applied(tree, thing(text="2"), "b", force=True)
    assert tree["spec"] == {"text": "2", "number": 1}
    assert (owned_spec(tree), owned_spec(tree, "Apply b")) == ({"f:number": {}}, {"f:text": {}})


def test_force_drops_an_owner_that_has_nothing_left() -> None:
    tree = applied(applied(None, thing(text="1")), thing(text="2"), "b", force=True)
    assert list(owners(tree)) == ["Apply b"]


def test_giving_a_field_up_without_changing_it() -> None:
    """The way to hand a field over: both own it, then one stops applying it."""
    tree = applied(None, thing(text="1", number=1))
    tree = applied(tree, thing(text="1"), "b")
    tree = applied(tree, thing(number=1))
    assert tree["spec"] == {"text": "1", "number": 1}
    assert (owned_spec(tree), owned_spec(tree, "Apply b")) == ({"f:number": {}}, {"f:text": {}})


def test_an_update_never_conflicts_and_takes_the_field() -> None:
    tree = applied(None, thing(text="1", number=1))
    tree = updated(tree, with_spec(tree, text="2"))
    assert (owned_spec(tree), owned_spec(tree, "Update u")) == ({"f:number": {}}, {"f:text": {}})
    assert conflict(tree, thing(text="1", number=1), "a").causes[0].field == ".spec.text"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (None, 400, "invalid object type: /, Kind="),
        ({"kind": "Thing"}, 400, "invalid object type: /, Kind=Thing"),
        ({"apiVersion": "v1", "kind": "Other"}, 400, "invalid object type: /v1, Kind=Other"),
        ({"apiVersion": "example.com/v2", "kind": "Thing"}, 400, "invalid object type: example.com/v2, Kind=Thing"),
        ({"apiVersion": "a/b/c", "kind": "Thing"}, 400, "invalid object type: /, Kind="),
        ({"apiVersion": 1, "kind": ["Thing"]}, 400, "invalid object type: /, Kind="),
        (
            [],
            400,
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {NOT_AN_OBJECT}",
        ),
        ({**thing(), "metadata": {"managedFields": []}}, 400, "metadata.managedFields must be nil"),
    ],
)
def test_body_that_is_not_for_this_endpoint(body: Any, code: int, message: str) -> None:
    with pytest.raises(RefusedError) as refused:
        applied(None, body, endpoint=thing_endpoint())
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"text": 1}, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
        ({"text": ["a"]}, '.spec.text: expected string, got &value.valueUnstructured{Value:[]interface {}{"a"}}'),
        ({"number": "1"}, ".spec.number: expected numeric (int or float), got string"),
        ({"number": True}, ".spec.number: expected numeric (int or float), got bool"),
        ({"flag": "true"}, ".spec.flag: expected boolean, got &{true}"),
        ({"atoms": {"a": 1}}, ".spec.atoms: expected list, got &{map[a:1]}"),
        ({"atoms": ["x", 1]}, ".spec.atoms[1]: expected string, got &value.valueUnstructured{Value:1}"),
        ({"map": ["a"]}, ".spec.map: expected map, got &{[a]}"),
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        ({"set": [None]}, ".spec.set: element 0: associative list without keys has an element that's an explicit null"),
        ({"set": [{}]}, ".spec.set: element 0: associative list without keys has an element that's a map type"),
        ({"set": [[]]}, ".spec.set: element 0: not supported: associative list with lists as elements"),
        ({"table": [{"k": "a"}, {"k": "a", "p": 1}]}, '.spec.table: duplicate entries for key [k="a",p=1]'),
        ({"table": ["a"]}, ".spec.table: element 0: associative list with keys may not have non-map elements"),
        ({"table": [None]}, ".spec.table: element 0: associative list with keys may not have a null element"),
        (
            {"flag": 0, "map": 1},
            "errors:\n  .spec.flag: expected boolean, got &{0}\n  .spec.map: expected map, got &{1}",
        ),
    ],
)
def test_body_that_does_not_fit_the_schema(spec: JsonObject, problem: str) -> None:
    with pytest.raises(RefusedError) as refused:
        applied(None, thing(**spec))
    assert (refused.value.code, refused.value.reason) == (500, "")
    place = "failed to create typed patch object (ns/x; example.com/v1, Kind=Thing)"
    assert refused.value.message == f"{place}: {problem}"


def test_a_row_without_any_key() -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Thing", "status": {"conditions": [{"status": "True"}]}}
    with pytest.raises(RefusedError) as refused:
        applied(None, body)
    assert refused.value.message.endswith(
        '.status.conditions: element 0: associative list with keys has an element that omits all key fields ["type"]'
        " (and doesn't have default values for any key fields)"
    )


def test_live_object_that_does_not_fit_the_schema() -> None:
    with pytest.raises(RefusedError, match=r"for existing fields: .*: \.spec\.nope: field not declared in schema"):
        applied(thing(nope=1), thing(text="1"))
    tree = applied(None, thing(text="1"))
    with pytest.raises(RefusedError, match="failed to create typed live object"):
        applied(with_spec(tree, nope=1), thing(text="1"))


def test_managed_fields_that_cannot_be_read() -> None:
    live = {**thing(), "metadata": {"name": "x", "managedFields": [{"manager": "m"}]}}
    with pytest.raises(RefusedError) as refused:
        applied(live, thing())
    assert refused.value.message == "failed to decode managed fields: operation must be `Apply` or `Update`"


def client_applied(tree: JsonObject) -> JsonObject:
    """As ``kubectl apply`` leaves it."""
    metadata = {**tree["metadata"], "annotations": {ANNOTATION: go_json(tree)}}
    return {**tree, "metadata": metadata}


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    live = client_applied(config_map(k="1"))
    tree = applied(live, config_map(k="2"), "kubectl")
    assert tree["data"] == {"k": "2"}
    assert tree["metadata"]["annotations"][ANNOTATION] == go_json(config_map(k="2")) + "\n"
    assert conflict(live, config_map(k="2"), "other").causes[0].field == ".data.k"


def test_kubectl_does_not_take_over_what_changed_since() -> None:
    live = {**client_applied(config_map(k="1")), "data": {"k": "0", "l": "1"}}
    assert [cause.field for cause in conflict(live, config_map(k="2", l="2"), "kubectl").causes] == [
        ".data.k",
        ".data.l",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"apiVersion":"v2"}', '{"apiVersion":"v1","nope":1}'])
def test_an_annotation_that_says_nothing_vouches_for_nothing(text: str) -> None:
    live = {**config_map(k="1"), "metadata": {"name": "x", "annotations": {ANNOTATION: text}}}
    assert conflict(live, config_map(k="2"), "kubectl").causes[0].field == ".data.k"


def test_an_annotation_that_would_be_too_large_is_dropped() -> None:
    live = client_applied(config_map(k="1"))
    tree = applied(live, config_map(k="x" * 300_000), "kubectl", force=True)
    assert ANNOTATION not in tree["metadata"]["annotations"]


def test_without_the_annotation_none_is_made() -> None:
    assert bare(applied(None, config_map(k="1"), "kubectl")) == config_map(k="1")
    assert applied(None, config_map(k="1"), "kubectl")["metadata"]["managedFields"][0]["time"] == NOW
