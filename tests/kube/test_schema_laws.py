"""Laws of the schema engine over arbitrary documents."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube import core_schema
from heliostat.kube.jsontree import copy_tree
from heliostat.kube.schema import apply_defaults, check, prune

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
field_names = st.sampled_from(
    ["metadata", "spec", "status", "labels", "name", "containers", "ports", "env", "containerPort", "protocol", "x"]
) | st.text(max_size=8)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(field_names, inner, max_size=4), max_leaves=25
)

POD = {"$ref": "core.v1.Pod"}


def check_pod(tree: Any) -> list[Any]:
    return list(check(tree, POD, (), core_schema.definition))


@given(trees)
def test_any_tree_gets_an_answer_and_every_problem_a_fix(tree: Any) -> None:
    assert all(problem.fix and problem.problem and problem.rule for problem in check_pod(tree))


@given(trees)
def test_checking_changes_nothing(tree: Any) -> None:
    before = copy_tree(tree)
    check_pod(tree)
    assert tree == before


@given(trees)
def test_defaulting_twice_is_defaulting_once(tree: Any) -> None:
    apply_defaults(tree, POD, core_schema.definition)
    once = copy_tree(tree)
    apply_defaults(tree, POD, core_schema.definition)
    assert tree == once


@given(trees)
def test_a_pruned_tree_has_no_unknown_fields(tree: Any) -> None:
    prune(tree, POD, core_schema.definition)
    assert not [problem for problem in check_pod(tree) if problem.rule == "schema.unknown-field"]
