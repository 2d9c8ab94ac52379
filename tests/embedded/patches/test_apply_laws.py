"""Laws of server-side apply, for generated objects of a schema with every kind of list and map."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from embedded.patches.applying import (
    LATER,
    THING_TYPES,
    applied,
    bare,
    owners,
    thing,
    thing_endpoint,
    updated,
)
from heliostat.embedded.server.patches.apply.field_set import FieldSet, read_field_set
from heliostat.embedded.server.patches.apply.tracking import apply_patch
from heliostat.embedded.server.patches.apply.typed_compare import compare_values
from heliostat.embedded.server.patches.apply.typed_fields import fields_of, with_named_fields
from heliostat.embedded.server.patches.apply.typed_merge import merge_values
from heliostat.embedded.server.patches.apply.typed_remove import remove_fields
from heliostat.embedded.server.patches.apply.values import is_equal
from heliostat.embedded.server.patches.errors import ApplyConflictError
from heliostat.kube.jsontree import JsonObject

pytestmark = pytest.mark.slow

_few = st.sampled_from("abc")
_values = st.sampled_from("12")


def _row_key(row: JsonObject) -> tuple[Any, Any]:
    return row["k"], row.get("p", 1)


def _objects(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(required, optional=optional)


# Containers are never empty here: what apply makes of those is in the tables of test_apply.
_rows = st.lists(
    _objects({"k": _few}, {"p": st.sampled_from([1, 2]), "v": _values, "w": _values}),
    min_size=1,
    max_size=3,
    unique_by=_row_key,
)
_maps = st.dictionaries(_few, _values, min_size=1, max_size=3)
_free = st.recursive(
    st.sampled_from([1, "x", True, 1.5]),
    lambda inner: st.lists(inner, min_size=1, max_size=2) | st.dictionaries(_few, inner, min_size=1, max_size=2),
    max_leaves=5,
)
_specs = _objects(
    {"text": _values},
    {
        "number": st.sampled_from([1, 2]),
        "flag": st.booleans(),
        "atoms": st.lists(_few, min_size=1, max_size=2),
        "set": st.lists(_few, min_size=1, max_size=3, unique=True),
        "table": _rows,
        "atom": _maps,
        "map": _maps,
        "free": st.dictionaries(_few, _free, min_size=1, max_size=2),
    },
)
_things = _specs.map(lambda spec: thing(**spec))
_managers = st.sampled_from("abc")
SHAPE = THING_TYPES.root


def owned_fields(tree: JsonObject, owner: str) -> FieldSet:
    return read_field_set(owners(tree).get(owner, {}))


def history(steps: list[tuple[str, bool, JsonObject]]) -> JsonObject | None:
    """An object after forced applies and updates by several managers."""
    live: JsonObject | None = None
    for manager, is_apply, body in steps:
        if is_apply:
            live = applied(live, body, manager, force=True)
        elif live is not None:
            live = updated(live, body, manager)
    return live


_histories = st.lists(st.tuples(_managers, st.booleans(), _things), max_size=4).map(history)


@given(_histories, _things)
def test_apply_is_idempotent(live: JsonObject | None, body: JsonObject) -> None:
    once = applied(live, body, force=True)
    again = apply_patch(once, body, thing_endpoint(), manager="a", now_text=LATER)
    assert again == once


@given(_histories, _things)
def test_what_is_applied_is_there(live: JsonObject | None, body: JsonObject) -> None:
    tree = bare(applied(live, body, force=True))
    assert is_equal(merge_values(tree, body, SHAPE), tree)


@given(_histories, _things)
def test_force_transfers_ownership(live: JsonObject | None, body: JsonObject) -> None:
    tree = applied(live, body, "x", force=True)
    fields = fields_of({"spec": body["spec"]}, SHAPE)
    assert owned_fields(tree, "Apply x") == fields
    change = compare_values(bare(live) if live else {}, bare(tree), SHAPE)
    taken = fields & (change.changed | change.added)
    for owner in owners(tree):
        if owner not in ("Apply x", "Update before-first-apply"):
            assert not owned_fields(tree, owner) & taken


@given(_histories, _things)
def test_without_conflict_force_makes_no_difference(live: JsonObject | None, body: JsonObject) -> None:
    forced = applied(live, body, "x", force=True)
    try:
        plain = applied(live, body, "x")
    except ApplyConflictError:
        assume(False)
    assert plain == forced


@given(_things, _things)
def test_applying_by_one_manager_leaves_what_was_applied_last(first: JsonObject, second: JsonObject) -> None:
    """Nobody else owns anything, so nothing of the first apply is left; only the order of items may remember it."""
    tree = bare(applied(applied(None, first), second))
    expected = bare(applied(None, second))
    change = compare_values(expected, tree, SHAPE)
    assert not change.added | change.changed | change.removed


def _value_at(tree: Any, path: tuple[str, ...]) -> Any:
    for element in path:
        tree = tree[element[2:]] if isinstance(tree, dict) else None
    return tree


@given(_histories)
def test_owned_fields_exist(live: JsonObject | None) -> None:
    if live is not None:
        there = with_named_fields(fields_of(bare(live), SHAPE), SHAPE)
        for owner in owners(live):
            assert not owned_fields(live, owner) - there


@given(_things, _things)
def test_comparison_tells_what_is_where(old: JsonObject, new: JsonObject) -> None:
    change = compare_values(old, new, SHAPE)
    before, after = (with_named_fields(fields_of(tree, SHAPE), SHAPE) for tree in (old, new))
    assert not change.added - after
    assert not change.removed - before
    assert not change.changed - before
    assert not change.changed - after
    assert bool(change.added or change.changed or change.removed) == (not _is_same_unordered(old, new))


def _is_same_unordered(old: JsonObject, new: JsonObject) -> bool:
    """Equal but for the order of sets and tables."""
    return is_equal(_sorted_lists(old), _sorted_lists(new))


def _sorted_lists(tree: JsonObject) -> JsonObject:
    spec = dict(tree["spec"])
    if "set" in spec:
        spec["set"] = sorted(spec["set"])
    if "table" in spec:
        spec["table"] = sorted(spec["table"], key=_row_key)
    return {**tree, "spec": spec}


@given(_things)
def test_merging_an_object_onto_itself_is_itself(tree: JsonObject) -> None:
    assert merge_values(tree, tree, SHAPE) == tree


@given(_things)
def test_removing_nothing_changes_nothing(tree: JsonObject) -> None:
    assert remove_fields(tree, FieldSet(), SHAPE) == tree


@given(_things, _things)
def test_a_removed_field_is_gone(tree: JsonObject, other: JsonObject) -> None:
    fields = fields_of({"spec": other["spec"]}, SHAPE)
    left = remove_fields(tree, fields, SHAPE)
    assert not {path for path in (fields & fields_of(left, SHAPE)).paths() if _value_at(left, path) is not None}
