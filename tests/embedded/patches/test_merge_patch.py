"""Merge patch: the RFC, kube-apiserver's one departure from it, and bodies that are none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.patches.merge_patch import apply_merge_patch
from heliostat.kube.jsontree import JsonObject, copy_tree, diff_merge_patch, drop_nulls


@pytest.mark.parametrize(
    ("tree", "patch", "result"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": 1}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": "x"}, {"a": "x"}),
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": [{"b": None, "c": 1}, None]}, {"a": [{"c": 1}, None]}),
        ({"a": {"b": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_merge(tree: JsonObject, patch: JsonObject, result: JsonObject) -> None:
    before = copy_tree([tree, patch])
    assert apply_merge_patch(tree, patch) == result
    assert [tree, patch] == before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([], "array"),
        ("x", "string"),
        (1, "number"),
        (1.5, "number"),
        (False, "bool"),
    ],
)
def test_body_that_is_no_object(body: Any, message: str) -> None:
    with pytest.raises(RefusedError) as refused:
        apply_merge_patch({}, body)
    if body is not None:
        message = (
            f"error decoding patch: json: cannot unmarshal {message} into Go value of type map[string]interface {{}}"
        )
    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


_trees = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(st.sampled_from("abc"), _trees, max_size=3)


@given(_objects, _objects)
def test_the_difference_of_two_objects_makes_one_of_the_other(old: JsonObject, new: JsonObject) -> None:
    old, new = drop_nulls(old), drop_nulls(new)
    assert apply_merge_patch(old, diff_merge_patch(old, new)) == new


@given(_objects, _objects)
def test_merging_twice_is_merging_once(tree: JsonObject, patch: JsonObject) -> None:
    patch = drop_nulls(patch)
    once = apply_merge_patch(tree, patch)
    assert apply_merge_patch(once, patch) == once
