"""Server-side apply: what becomes of the object, and who owns what afterwards."""

import pytest

from embedded.patches.applying import (
    DEPLOYMENT,
    LATER,
    NOW,
    applied,
    bare,
    config_map,
    owned_spec,
    owners,
    thing,
    thing_endpoint,
    updated,
    with_spec,
)
from heliostat.embedded.server.patches.apply.tracking import apply_patch
from heliostat.kube.jsontree import JsonObject, copy_tree


def test_apply_creates() -> None:
    tree = applied(None, config_map(k="1"))
    entry = {
        "manager": "a",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }
    assert tree == {**config_map(k="1"), "metadata": {"name": "x", "namespace": "ns", "managedFields": [entry]}}


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"text": "x"}, {"f:text": {}}),
        ({"text": None}, {"f:text": {}}),
        ({"atoms": ["x"]}, {"f:atoms": {}}),
        ({"atoms": []}, {"f:atoms": {}}),
        ({"set": ["x", "y"]}, {"f:set": {'v:"x"': {}, 'v:"y"': {}}}),
        ({"set": []}, {}),
        ({"atom": {"k": "1"}}, {"f:atom": {}}),
        ({"map": {"k": "1"}}, {"f:map": {"f:k": {}}}),
        ({"map": {}}, {"f:map": {}}),
        ({"map": None}, {"f:map": {}}),
        ({"table": [{"k": "x", "v": "1"}]}, {"f:table": {'k:{"k":"x","p":1}': {".": {}, "f:k": {}, "f:v": {}}}}),
        ({"table": [{"k": "x", "p": 2}]}, {"f:table": {'k:{"k":"x","p":2}': {".": {}, "f:k": {}, "f:p": {}}}}),
        ({"free": {"a": {"b": [1]}}}, {"f:free": {"f:a": {".": {}, "f:b": {}}}}),
        ({"either": 1}, {"f:either": {}}),
        ({"pod": {"metadata": {"labels": {"a": "1"}}}}, {"f:pod": {"f:metadata": {"f:labels": {"f:a": {}}}}}),
    ],
)
def test_what_an_apply_owns(spec: JsonObject, fields: JsonObject) -> None:
    assert owned_spec(applied(None, thing(**spec))) == fields


def test_what_an_apply_owns_of_a_deployment() -> None:
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80}],
        "args": ["x"],
        "resources": {"limits": {"cpu": 1}},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": "x", "labels": {"l": "1"}, "finalizers": ["f"], "ownerReferences": [{"uid": "u", "name": "o"}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": spec,
        "status": {"replicas": 1},
    }
    tree = applied(None, body, endpoint=DEPLOYMENT)
    assert owners(tree)["Apply a"] == {
        "f:metadata": {
            "f:finalizers": {'v:"f"': {}},
            "f:labels": {"f:l": {}},
            "f:ownerReferences": {'k:{"uid":"u"}': {}},
        },
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:args": {},
                            "f:image": {},
                            "f:name": {},
                            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                            "f:resources": {"f:limits": {"f:cpu": {}}},
                        }
                    }
                }
            },
        },
    }


NEVER_OWNED = {
    "name": "x",
    "namespace": "ns",
    "uid": "u",
    "resourceVersion": "7",
    "generation": 3,
    "creationTimestamp": NOW,
    "selfLink": "/x",
}


def test_facts_about_the_object_are_never_owned() -> None:
    body = {**config_map(), "metadata": NEVER_OWNED}
    assert owners(applied(None, body)) == {"Apply a": {"f:data": {}}}
    later = updated(applied(None, config_map(k="1")), {**config_map(k="1"), "metadata": NEVER_OWNED})
    assert list(owners(later)) == ["Apply a"]


def test_the_first_apply_finds_what_was_there() -> None:
    live = thing(text="1", map={"k": "1"})
    live["metadata"] |= {"uid": "u", "labels": {"l": "1"}}
    tree = applied(live, thing(text="1", number=2))
    assert owners(tree) == {
        "Apply a": {"f:spec": {"f:number": {}, "f:text": {}}},
        "Update before-first-apply": {
            "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
            "f:spec": {".": {}, "f:map": {".": {}, "f:k": {}}, "f:text": {}},
        },
    }
    assert bare(tree) == with_spec(live, number=2)


def test_nothing_was_there_before_an_apply_that_creates() -> None:
    assert list(owners(applied(None, thing(text="1")))) == ["Apply a"]


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        pytest.param({"text": "1", "number": 1}, {"number": 1}, {"number": 1}, id="field"),
        pytest.param({"map": {"a": "1", "b": "2"}}, {"map": {"b": "2"}}, {"map": {"b": "2"}}, id="entry of a map"),
        pytest.param({"map": {"a": "1"}, "number": 1}, {"number": 1}, {"number": 1}, id="map"),
        pytest.param({"set": ["a", "b", "c"]}, {"set": ["b"]}, {"set": ["b"]}, id="items of a set"),
        pytest.param(
            {"table": [{"k": "a", "v": "1"}, {"k": "b"}]},
            {"table": [{"k": "a"}]},
            {"table": [{"k": "a"}]},
            id="row and field of a table",
        ),
        pytest.param({"atoms": ["a", "b"]}, {"atoms": ["b"]}, {"atoms": ["b"]}, id="atomic list"),
        pytest.param({"atom": {"a": "1"}}, {"atom": {"b": "1"}}, {"atom": {"b": "1"}}, id="atomic map"),
        pytest.param(
            {"free": {"a": {"b": 1, "c": 2}}}, {"free": {"a": {"c": 2}}}, {"free": {"a": {"c": 2}}}, id="free"
        ),
    ],
)
def test_what_is_no_longer_applied_is_removed(first: JsonObject, second: JsonObject, left: JsonObject) -> None:
    tree = applied(applied(None, thing(**first)), thing(**second))
    assert tree["spec"] == left
    assert owned_spec(tree) == owned_spec(applied(None, thing(**second)))


def test_what_somebody_else_applied_too_stays() -> None:
    tree = applied(None, thing(text="1", number=1, map={"a": "1"}, set=["x"]))
    tree = applied(tree, thing(text="1", map={"a": "1"}, set=["x"]), "b")
    tree = applied(tree, thing(flag=True))
    assert tree["spec"] == {"text": "1", "map": {"a": "1"}, "set": ["x"], "flag": True}
    assert owned_spec(tree) == {"f:flag": {}}


def test_what_somebody_else_updated_stays() -> None:
    tree = applied(None, thing(text="1", number=1))
    tree = updated(tree, with_spec(tree, text="2"))
    tree = applied(tree, thing(number=1))
    assert tree["spec"] == {"text": "2", "number": 1}


def test_what_was_there_before_the_first_apply_stays() -> None:
    live = with_spec(thing(), text="1", map={"a": "1"})
    tree = applied(live, thing(text="1", map={"a": "1", "b": "2"}))
    assert applied(tree, thing())["spec"] == {"text": "1", "map": {"a": "1"}}


def test_a_row_that_somebody_else_applied_too_keeps_their_fields() -> None:
    tree = applied(None, thing(table=[{"k": "a", "v": "1"}, {"k": "b"}]))
    tree = applied(tree, thing(table=[{"k": "a", "w": "2"}]), "b")
    assert applied(tree, thing())["spec"] == {"table": [{"k": "a", "w": "2"}]}


def test_a_row_goes_with_what_an_update_added_to_it() -> None:
    """Only the row's applier owned the row; the emptied list is left as null, for validation to judge."""
    tree = applied(None, thing(table=[{"k": "a", "v": "1"}]))
    tree = updated(tree, with_spec(tree, table=[{"k": "a", "v": "1", "w": "2"}]))
    assert owned_spec(tree, "Update u") == {"f:table": {'k:{"k":"a","p":1}': {"f:w": {}}}}
    assert applied(tree, thing())["spec"] == {"table": None}


def test_applying_the_same_again_changes_nothing() -> None:
    tree = applied(None, thing(text="1", set=["a"]))
    again = apply_patch(tree, thing(text="1", set=["a"]), thing_endpoint(), manager="a", now_text=LATER)
    assert again == tree


def test_the_time_moves_only_with_the_object() -> None:
    tree = applied(None, thing(text="1"))
    other = apply_patch(tree, thing(text="1"), thing_endpoint(), manager="b", now_text=LATER)
    assert [entry.get("time") for entry in other["metadata"]["managedFields"]] == [None, NOW]
    changed = apply_patch(other, thing(text="1", number=1), thing_endpoint(), manager="b", now_text=LATER)
    assert [entry.get("time") for entry in changed["metadata"]["managedFields"]] == [NOW, LATER]


def test_entries_stand_in_order() -> None:
    tree = applied(None, thing(text="1"), "z")
    tree = applied(tree, thing(number=1), "b")
    tree = updated(tree, with_spec(tree, flag=True))
    tree = applied(tree, {**thing(), "status": {"phase": "x"}}, "b", endpoint=thing_endpoint("status"))
    assert list(owners(tree)) == ["Apply b", "Apply b status", "Apply z", "Update u"]


@pytest.mark.parametrize(
    ("live", "body", "result"),
    [
        ("abc", "c", "abc"),
        ("abc", "d", "abcd"),
        ("abc", "ca", "bca"),
        ("abc", "cba", "cba"),
        ("abc", "xb", "axbc"),
        ("abc", "bx", "abcx"),
        ("abc", "xay", "xabcy"),
        ("abcd", "dbx", "acdbx"),
        ("", "ba", "ba"),
    ],
)
def test_order_of_items(live: str, body: str, result: str) -> None:
    """Live items that the applied list does not mention stay before the next one that both have."""
    tree = applied(thing(set=list(live)), thing(set=list(body)))
    assert "".join(tree["spec"]["set"]) == result
    rows = applied(thing(table=[{"k": name} for name in live]), thing(table=[{"k": name} for name in body]))
    assert "".join(row["k"] for row in rows["spec"]["table"]) == result


def test_a_key_that_is_left_out_has_its_default() -> None:
    tree = applied(thing(table=[{"k": "a", "p": 1, "v": "1"}]), thing(table=[{"k": "a", "w": "2"}]))
    assert tree["spec"]["table"] == [{"k": "a", "p": 1, "v": "1", "w": "2"}]


def test_repeated_live_items_become_one_when_applied() -> None:
    tree = applied(thing(set=["a", "a", "b"]), thing(set=["a"]), force=True)
    assert tree["spec"]["set"] == ["a", "b"]


def test_repeated_live_items_stay_when_not_mentioned() -> None:
    tree = applied(thing(set=["a", "a", "b"]), thing(set=["c"]))
    assert tree["spec"]["set"] == ["a", "a", "b", "c"]
    assert owned_spec(tree, "Update before-first-apply") == {".": {}, "f:set": {".": {}, 'v:"a"': {}, 'v:"b"': {}}}


@pytest.mark.parametrize(
    ("spec", "body", "result"),
    [
        ({"map": {"a": "1"}}, {"map": None}, {"map": {"a": "1"}}),
        ({"map": {"a": "1"}}, {"map": {}}, {"map": {"a": "1"}}),
        ({"set": ["a"]}, {"set": []}, {"set": ["a"]}),
        ({"atoms": ["a"]}, {"atoms": []}, {"atoms": []}),
        ({}, {"map": {}, "set": []}, {"map": {}, "set": []}),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, {"free": {"a": {"b": 1}}}),
    ],
)
def test_empty_and_other_kinds_of_values(spec: JsonObject, body: JsonObject, result: JsonObject) -> None:
    assert applied(thing(**spec), thing(**body), force=True)["spec"] == result


def test_resource_version_and_uid_of_the_body_reach_the_handler() -> None:
    live = {**config_map(k="1"), "metadata": {"name": "x", "uid": "u", "resourceVersion": "5"}}
    body = {**config_map(k="1"), "metadata": {"name": "x", "uid": "other", "resourceVersion": "4"}}
    metadata = applied(live, body)["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == ("other", "4")
    assert applied(live, config_map(k="1"))["metadata"]["resourceVersion"] == "5"


def test_arguments_are_not_changed() -> None:
    live = applied(None, thing(text="1", table=[{"k": "a"}], map={"a": "1"}))
    body = thing(table=[{"k": "b"}, {"k": "a", "v": "1"}], map={"b": "1"})
    new = with_spec(live, text="2")
    before = copy_tree([live, body, new])
    applied(live, body)
    updated(live, new)
    assert [live, body, new] == before


def test_status_is_owned_through_its_subresource() -> None:
    endpoint = thing_endpoint("status")
    body = {**thing(text="2"), "status": {"phase": "x", "conditions": [{"type": "Ready", "status": "True"}]}}
    tree = applied(applied(None, thing(text="1")), body, "s", endpoint=endpoint)
    row: JsonObject = {".": {}, "f:status": {}, "f:type": {}}
    expected = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': row}, "f:phase": {}}}
    assert owners(tree)["Apply s status"] == expected
    assert owned_spec(tree) == {"f:text": {}}


def test_status_in_the_object_itself_is_not_owned() -> None:
    tree = applied(None, {**thing(text="1"), "status": {"phase": "x"}})
    assert owners(tree) == {"Apply a": {"f:spec": {"f:text": {}}}}


def test_apply_of_nothing_but_a_name() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    assert applied(None, body) == body
