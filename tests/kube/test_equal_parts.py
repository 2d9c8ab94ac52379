"""Sharing the equal parts of a tree changes nothing but how much memory it takes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.equal_parts import share_equal_parts
from heliostat.kube.jsontree import encode_json

SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 1.0, 2.5]) | st.text("ab", max_size=2)
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
)


@given(TREES)
def test_a_shared_tree_is_written_as_the_tree_it_was(tree: Any) -> None:
    assert encode_json(share_equal_parts(tree)) == encode_json(tree)


def test_equal_parts_become_one_object() -> None:
    part = {"type": "object", "properties": {"name": {"type": "string"}}}
    shared: Any = share_equal_parts({"first": part, "second": [{**part}]})
    assert shared["first"] is shared["second"][0]


def test_parts_that_only_look_alike_stay_apart() -> None:
    shared = share_equal_parts([{"a": 1}, {"a": True}, {"a": 1.0}, {"a": 1, "b": 2}, {"b": 2, "a": 1}])
    assert encode_json(shared) == b'[{"a":1},{"a":true},{"a":1.0},{"a":1,"b":2},{"b":2,"a":1}]'


def test_the_tree_itself_is_not_changed() -> None:
    tree = {"first": {"a": "x"}, "second": {"a": "x"}}
    share_equal_parts(tree)
    assert tree["first"] is not tree["second"]
