"""JSON trees: lossless strict decoding, copies, merge patches."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.documents import DocumentError
from heliostat.kube.jsontree import (
    MAX_DEPTH,
    JsonObject,
    copy_tree,
    decode_json,
    diff_merge_patch,
    drop_nulls,
    encode_json,
    merge_patch,
)

characters = st.characters(exclude_categories=["Cs"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(characters, max_size=8),
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(characters, max_size=6), inner, max_size=4),
    max_leaves=25,
)
objects = st.dictionaries(st.sampled_from("abcdef"), trees, max_size=5)


def exact(tree: Any) -> str:
    """Tells 1, 1.0 and true apart, and key orders too."""
    return json.dumps(tree)


@given(trees, st.sampled_from([None, 2]), st.booleans())
def test_law_decoding_and_encoding_keep_values_types_fields_and_order(
    tree: Any, indent: int | None, ascii_: bool
) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_)
    decoded = decode_json(text.encode())
    assert exact(decoded) == exact(tree)
    assert exact(decode_json(encode_json(decoded))) == exact(tree)


@pytest.mark.parametrize(
    ("text", "line", "column", "path", "words"),
    [
        ('{"a": 1,\n "a": 2}', 2, 2, ("a",), "twice, first in line 1"),
        ('{"x": [{"a": 1, "b": 2, "a": 3}]}', 1, 25, ("x", 0, "a"), "twice"),
        ('{"a": NaN}', 1, 7, ("a",), "NaN"),
        ("[-Infinity]", 1, 2, (0,), "Infinity"),
        ('{"a": {"b": 18446744073709551616}}', 1, 13, ("a", "b"), "64 bits"),
        ('{"a": -9223372036854775809}', 1, 7, ("a",), "64 bits"),
        ('{"a": 1' + "0" * 5000 + "}", 1, 7, ("a",), "64 bits"),
        ('{"a": [1, 1e400]}', 1, 11, ("a", 1), "too large"),
        ('{"a": "\\ud800"}', 1, 7, ("a",), "surrogate"),
        ('{"\\udfff": 1}', 1, 2, (), "surrogate"),
        ('{"a": [1, 2', 1, 12, ("a",), "the text ends"),
        ('{"a": 1,}', 1, 9, (), "key in double quotes"),
        ('{"a" 1}', 1, 6, (), '":" after the key'),
        ('{"a": tru}', 1, 7, ("a",), "a value"),
        ('{"a": "x', 1, 7, ("a",), "string is broken"),
        ('{"a": "x\ty"}', 1, 9, ("a",), "string is broken"),
        ('{"a": 01}', 1, 8, (), '"," or "}"'),
        ("{} {}", 1, 4, (), "after the end"),
        ("", 1, 1, (), "the text ends"),
    ],
)
def test_what_readers_could_understand_differently_is_refused_with_its_place(
    text: str, line: int, column: int, path: tuple[str | int, ...], words: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        decode_json(text, "x.json")
    error = caught.value
    assert (error.source, error.line, error.column, error.path) == ("x.json", line, column, path)
    assert words in error.problem
    assert error.fix


def test_bytes_must_be_utf_8() -> None:
    with pytest.raises(DocumentError, match=r"x:2:3: the byte 0xff is not valid UTF-8"):
        decode_json(b'{\n "\xff": 1}', "x")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_deep_nesting_is_refused(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    with pytest.raises(DocumentError, match=f"deeper than {MAX_DEPTH} levels"):
        decode_json(opening * depth + "1" + closing * depth)


def test_nesting_up_to_the_limit_is_fine() -> None:
    assert decode_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)


def test_a_surrogate_pair_is_one_character() -> None:
    assert decode_json('"\\ud83d\\ude00"') == "😀"


def check(data: str | bytes) -> None:
    """The strict decoder agrees with the standard one on what it accepts, and places what it refuses."""
    try:
        tree = decode_json(data)
    except DocumentError as error:
        refused = error
    else:
        assert exact(tree) == exact(json.loads(data))
        return
    assert refused.line >= 1
    assert refused.column >= 1


@given(st.one_of(st.text(), st.text('{}[]",:0123456789.eE-\\u truefalsn\n', max_size=40)))
def test_law_any_text_is_decoded_or_refused_with_a_place(text: str) -> None:
    check(text)


@given(st.binary(max_size=40))
def test_law_any_bytes_are_decoded_or_refused_with_a_place(data: bytes) -> None:
    check(data)


def containers(tree: Any) -> list[int]:
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    own = [id(tree)] if isinstance(tree, (dict, list)) else []
    return own + [found for child in children for found in containers(child)]


@given(trees)
def test_law_a_copy_is_equal_and_shares_no_container(tree: Any) -> None:
    copy = copy_tree(tree)
    assert exact(copy) == exact(tree)
    assert not set(containers(copy)) & set(containers(tree))


def test_nulls_are_dropped_at_every_level() -> None:
    assert drop_nulls({"a": None, "b": [None, {"c": None, "d": 0}], "e": {}}) == {"b": [{"d": 0}], "e": {}}


@pytest.mark.parametrize(
    ("tree", "patch", "result"),
    [  # the table of RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(tree: Any, patch: Any, result: Any) -> None:
    assert merge_patch(tree, patch) == result


def without_null_fields(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_null_fields(value) for key, value in tree.items() if value is not None}
    return tree


@given(objects, objects)
def test_law_a_difference_applied_gives_the_new_tree(old: JsonObject, new: JsonObject) -> None:
    before = exact(old)
    patched = merge_patch(old, diff_merge_patch(old, new))
    assert without_null_fields(patched) == without_null_fields(new)
    assert exact(merge_patch(patched, diff_merge_patch(patched, new))) == exact(patched)
    assert exact(old) == before


@given(objects)
def test_law_nothing_differs_from_itself(tree: JsonObject) -> None:
    assert diff_merge_patch(tree, copy_tree(tree)) == {}


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), (1, True), (0, False), ([1], [1.0])])
def test_a_change_of_type_is_a_difference(old: Any, new: Any) -> None:
    assert exact(diff_merge_patch({"a": old}, {"a": new})) == exact({"a": new})


def reorder_keys(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: reorder_keys(value) for key, value in reversed(tree.items())}
    return [reorder_keys(item) for item in tree] if isinstance(tree, list) else tree


@given(objects)
def test_law_the_order_of_keys_is_no_difference(tree: JsonObject) -> None:
    assert diff_merge_patch(tree, reorder_keys(tree)) == {}


def test_the_order_of_keys_inside_lists_is_no_difference() -> None:
    assert diff_merge_patch({"rules": [{"host": "a", "path": "/"}]}, {"rules": [{"path": "/", "host": "a"}]}) == {}
