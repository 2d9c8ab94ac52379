"""JSON patch: what each operation does, what kube-apiserver forgives, what it refuses, and the limits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.patches.errors import UnprocessablePatchError
from heliostat.embedded.server.patches.json_patch import (
    MAX_COPIED_BYTES,
    MAX_OPERATIONS,
    apply_json_patch,
    is_same_json,
    read_json_patch,
)
from heliostat.kube.jsontree import MAX_DEPTH, JsonObject, copy_tree


def patched(tree: Any, *operations: JsonObject) -> Any:
    return apply_json_patch(tree, read_json_patch(list(operations)).operations)


def op(name: str, path: str, **more: Any) -> JsonObject:
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("operation", "tree", "result"),
    [
        (op("add", "/a", value=1), {}, {"a": 1}),
        (op("add", "/a", value=2), {"a": 1}, {"a": 2}),
        (op("add", "/a/0", value="x"), {"a": ["y"]}, {"a": ["x", "y"]}),
        (op("add", "/a/1", value="x"), {"a": ["y"]}, {"a": ["y", "x"]}),
        (op("add", "/a/-", value="x"), {"a": ["y"]}, {"a": ["y", "x"]}),
        (op("add", "/a/-1", value="x"), {"a": ["y"]}, {"a": ["y", "x"]}),
        (op("add", "/a/+0", value="x"), {"a": ["y"]}, {"a": ["x", "y"]}),
        (op("add", "/-", value=1), {}, {"-": 1}),
        (op("add", "/x~1y", value=1), {}, {"x/y": 1}),
        (op("add", "/~01", value=1), {}, {"~1": 1}),
        (op("add", "/", value=1), {}, {"": 1}),
        (op("add", "ignored/a", value=1), {}, {"a": 1}),
        (op("add", "/a"), {}, {"a": None}),
        (op("remove", "/a"), {"a": 1, "b": 2}, {"b": 2}),
        (op("remove", "/a/0"), {"a": [1, 2]}, {"a": [2]}),
        (op("remove", "/a/-1"), {"a": [1, 2]}, {"a": [1]}),
        (op("replace", "/a", value=2), {"a": 1}, {"a": 2}),
        (op("replace", "/b", value=2), {"a": 1}, {"a": 1, "b": 2}),
        (op("replace", "/a/1", value=3), {"a": [1, 2]}, {"a": [1, 3]}),
        (op("replace", "", value={"b": 1}), {"a": 1}, {"b": 1}),
        (op("replace", "", value=[1]), {"a": 1}, [1]),
        (op("replace", "", value="x"), {"a": 1}, {"a": 1}),
        (op("move", "/b", **{"from": "/a"}), {"a": 1}, {"b": 1}),
        (op("move", "/a/0", **{"from": "/a/1"}), {"a": [1, 2]}, {"a": [2, 1]}),
        (op("copy", "/b", **{"from": "/a"}), {"a": {"c": 1}}, {"a": {"c": 1}, "b": {"c": 1}}),
        (op("copy", "/b", **{"from": "/absent"}), {"a": 1}, {"a": 1, "b": None}),
        (op("test", "/a", value={"x": 1, "y": [2]}), {"a": {"y": [2], "x": 1}}, {"a": {"y": [2], "x": 1}}),
        (op("test", "/absent", value=None), {"a": 1}, {"a": 1}),
        (op("test", "", value={"a": 1}), {"a": 1}, {"a": 1}),
    ],
)
def test_operation(operation: JsonObject, tree: Any, result: Any) -> None:
    before = copy_tree(tree)
    assert patched(tree, operation) == result
    assert tree == before


@pytest.mark.parametrize(
    ("operation", "tree"),
    [
        (op("add", "/a/b", value=1), {}),
        (op("add", "/a/b", value=1), {"a": None}),
        (op("add", "/a/b", value=1), {"a": "text"}),
        (op("add", "", value={}), {}),
        (op("add", "a", value=1), {}),
        (op("add", "/a/2", value=1), {"a": [1]}),
        (op("add", "/a/-3", value=1), {"a": [1]}),
        (op("add", "/a/x", value=1), {"a": [1]}),
        (op("add", "/a/1_0", value=1), {"a": [1]}),
        (op("add", "/a/99999999999999999999", value=1), {"a": [1]}),
        (op("remove", "/a"), {}),
        (op("remove", "/a/1"), {"a": [1]}),
        (op("remove", "/a/-"), {"a": [1]}),
        (op("replace", "/a/1", value=1), {"a": [1]}),
        (op("replace", ""), {"a": 1}),
        (op("move", "/b", **{"from": "/absent"}), {"a": 1}),
        (op("move", "/a/b", **{"from": "/a"}), {"a": {}}),
        (op("move", "/b"), {"a": 1}),
        (op("copy", "/x/y", **{"from": "/a"}), {"a": 1}),
        (op("test", "/a", value=1.0), {"a": 1}),
        (op("test", "/a", value=True), {"a": 1}),
        (op("test", "/a", value=None), {"a": 1}),
        (op("test", "/a"), {"a": None}),
        (op("test", "/a/0", value=1), {"a": []}),
        ({"op": "add"}, {}),
        ({"op": "bogus", "path": "/a"}, {}),
        ({"path": "/a"}, {}),
    ],
)
def test_operation_that_does_not_apply(operation: JsonObject, tree: Any) -> None:
    with pytest.raises(UnprocessablePatchError) as refused:
        patched(tree, operation)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.message == "the server rejected our request due to an error in our request"
    assert "operation 0" in refused.value.why


def test_nothing_happens_if_a_later_operation_fails() -> None:
    tree = {"a": [1]}
    with pytest.raises(UnprocessablePatchError, match="operation 1"):
        patched(tree, op("add", "/a/-", value=2), op("remove", "/b"))
    assert tree == {"a": [1]}


def test_values_of_the_patch_are_not_shared_with_the_result() -> None:
    value: JsonObject = {"x": []}
    result = patched({}, op("add", "/a", value=value), op("add", "/a/x/-", value=1))
    assert (result, value) == ({"a": {"x": [1]}}, {"x": []})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        ([1], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([[]], "json: cannot unmarshal array into Go value of type handlers.jsonPatchOp"),
        ([{"op": True}], "json: cannot unmarshal bool into Go struct field jsonPatchOp.op of type string"),
        ([{"path": 1.5}], "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string"),
        ([{"from": {}}], "json: cannot unmarshal object into Go struct field jsonPatchOp.from of type string"),
    ],
)
def test_body_that_is_no_json_patch(body: Any, message: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_json_patch(body)
    assert (refused.value.code, refused.value.message) == (400, f"error decoding patch: {message}")


def test_unknown_fields_are_worth_a_warning() -> None:
    patch = read_json_patch([op("add", "/a", value=1, foo=2), {"Op": "x"}])
    assert patch.warnings == ['json patch unknown field "[0].foo"', 'json patch unknown field "[1].Op"']


def test_null_is_a_patch_without_operations() -> None:
    assert patched({"a": 1}) == apply_json_patch({"a": 1}, read_json_patch(None).operations) == {"a": 1}


def test_too_many_operations() -> None:
    step = op("test", "/a", value=1)
    assert patched({"a": 1}, *[step] * MAX_OPERATIONS) == {"a": 1}
    with pytest.raises(RefusedError) as refused:
        read_json_patch([step] * (MAX_OPERATIONS + 1))
    message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert (refused.value.code, refused.value.message) == (413, message)


def test_copies_have_a_limit_together() -> None:
    text = "x" * (MAX_COPIED_BYTES // 4 - 2)
    copies = [op("copy", f"/b{index}", **{"from": "/a"}) for index in range(5)]
    assert len(patched({"a": text}, *copies[:4])) == 5
    with pytest.raises(UnprocessablePatchError, match="copies"):
        patched({"a": text}, *copies)


@pytest.mark.parametrize("rounds", [MAX_DEPTH - 1, MAX_DEPTH, 2000])
def test_nesting_by_moves_has_a_limit(rounds: int) -> None:
    deeper = [op("move", "/t", **{"from": "/a"}), op("add", "/a", value={}), op("move", "/a/b", **{"from": "/t"})]
    if rounds < MAX_DEPTH:
        assert "a" in patched({"a": {}}, *deeper * (rounds - 1))
    else:
        with pytest.raises(UnprocessablePatchError, match="nested"):
            patched({"a": {}}, *deeper * rounds)


def test_copying_what_is_too_deep_is_refused() -> None:
    deeper = [op("move", "/t", **{"from": "/a"}), op("add", "/a", value={}), op("move", "/a/b", **{"from": "/t"})]
    with pytest.raises(UnprocessablePatchError, match="nested"):
        patched({"a": {}}, *deeper * 3000, op("copy", "/c", **{"from": "/a"}))


_scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, width=16) | st.text(max_size=3)
_trees = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc/~"), inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(st.sampled_from("abcd"), _trees, max_size=4)


def difference(old: Any, new: Any, path: str = "") -> list[JsonObject]:
    """The operations that make ``new`` of ``old``."""
    if is_same_json(old, new):
        return []
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [op("replace", path, value=new)]
    steps = [op("remove", f"{path}/{pointer(key)}") for key in old if key not in new]
    for key, value in new.items():
        inner = f"{path}/{pointer(key)}"
        steps += difference(old[key], value, inner) if key in old else [op("add", inner, value=value)]
    return steps


def pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


@given(_objects, _objects)
def test_the_difference_of_two_objects_makes_one_of_the_other(old: JsonObject, new: JsonObject) -> None:
    assert is_same_json(patched(old, *difference(old, new)), new)


@given(_objects)
def test_every_object_passes_the_test_for_itself(tree: JsonObject) -> None:
    assert patched(tree, op("test", "", value=copy_tree(tree))) == tree


@given(_objects, st.sampled_from("abcd"), _trees)
def test_add_then_remove_is_the_object_without_the_field(tree: JsonObject, key: str, value: Any) -> None:
    without = {name: child for name, child in tree.items() if name != key}
    assert is_same_json(patched(tree, op("add", f"/{key}", value=value), op("remove", f"/{key}")), without)
