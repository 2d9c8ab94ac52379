"""JSONPath as printer columns and kubectl use it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.jsonpath import JsonPathError, parse_jsonpath

TREE: dict[str, Any] = {
    "kind": "Thing",
    "metadata": {"name": "one", "labels": {"a.b/c": "dotted"}, "annotations": {"x/y": "slash", "it's": "quote"}},
    "spec": {
        "text": "hello",
        "list": ["p", "q", "r"],
        "null": None,
        "conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}, {"status": "untyped"}],
        "numbers": [{"v": 1}, {"v": 2.5}, {"v": "3"}, {"v": True}],
        "deep": {"type": "inner"},
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["one"]),
        ("metadata.name", ["one"]),
        ("{.metadata.name}", ["one"]),
        ("$.metadata.name", ["one"]),
        ("@.metadata.name", ["one"]),
        (".", [TREE]),
        ("", [TREE]),
        (".spec.missing", []),
        (".spec.text.deeper", []),
        (".spec.list.name", []),
        (".spec.null", [None]),
        (".spec['text']", ["hello"]),
        ('.spec["text"]', ["hello"]),
        (r".metadata.labels.a\.b/c", ["dotted"]),
        (".metadata.annotations['x/y']", ["slash"]),
        (r".metadata.annotations['it\'s']", ["quote"]),
        (".spec.list", [["p", "q", "r"]]),
        (".spec.list[0]", ["p"]),
        (".spec.list[-1]", ["r"]),
        (".spec.list[9]", []),
        (".spec.list[-9]", []),
        (".spec.text[0]", []),
        (".spec.list[*]", ["p", "q", "r"]),
        (".spec.deep.*", ["inner"]),
        (".spec.list[0:2]", ["p", "q"]),
        (".spec.list[::2]", ["p", "r"]),
        (".spec.list[1:]", ["q", "r"]),
        (".spec.list[0:9]", []),
        (".spec.list[0,2]", ["p", "r"]),
        (".spec['text','null']", ["hello", None]),
        (".spec.conditions[*].type", ["A", "Ready"]),
        ("..type", ["A", "Ready", "inner"]),
        ("..[0]", ["p", {"type": "A", "status": "x"}, {"v": 1}]),
        ('.spec.conditions[?(@.type=="Ready")].status', ["True"]),
        (".spec.conditions[?(@.type == 'Ready')].status", ["True"]),
        (".spec.conditions[?(@.type!='Ready')].status", ["x"]),
        (".spec.conditions[?(@.type)].status", ["x", "True"]),
        (".spec.conditions[?(@.type=='Nope')].status", []),
        (".spec.numbers[?(@.v>1)].v", [2.5]),
        (".spec.numbers[?(@.v>=1)].v", [1, 2.5]),
        (".spec.numbers[?(@.v<2.5)].v", [1]),
        (".spec.numbers[?(@.v<=2.5)].v", [1, 2.5]),
        (".spec.numbers[?(@.v==true)].v", [True]),
        (".spec.numbers[?(@.v=='3')].v", ["3"]),
        (".spec.numbers[?(2.5==@.v)].v", [2.5]),
        (".spec.text[?(@.v)]", []),
    ],
)
def test_a_path_reaches_its_values(path: str, found: list[Any]) -> None:
    assert parse_jsonpath(path).find(TREE) == found


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".a[", "an index"),
        (".a[0", "']' is missing"),
        (".a[]", "an index"),
        (".a['b]", '"\'" is missing'),
        (".a[-]", "a number is missing"),
        (".a[1:2:0]", "at least 1"),
        (".a[1:2:3:4]", "']' is missing"),
        (".a[99999999999999999999]", "too long"),
        (".a[?(@.b==)]", "a value is missing"),
        (".a[?(@.b==word)]", "'word' is neither"),
        (".a[?(@.b=='x']", "')' is missing"),
        (".a]", "']' is not expected"),
        (".a b", "' ' is not expected"),
        ("..", "a name is missing"),
        (".a\\", "nothing follows"),
    ],
)
def test_what_is_no_path_is_told_with_its_place(path: str, problem: str) -> None:
    with pytest.raises(JsonPathError) as refused:
        parse_jsonpath(path)
    assert problem in str(refused.value)
    assert "at character" in str(refused.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "type"]), inner, max_size=3),
    max_leaves=10,
)


@given(st.text(alphabet=".[]()?@*,:'\"ab01-= <>!\\", max_size=12), JSON)
def test_any_text_is_a_path_or_refused_and_no_path_ever_fails(text: str, tree: Any) -> None:
    try:
        path = parse_jsonpath(text)
    except JsonPathError:
        return
    assert isinstance(path.find(tree), list)


@given(st.lists(st.text(alphabet="ab./'-_", min_size=1, max_size=5), min_size=1, max_size=4))
def test_every_key_can_be_written_in_quotes(keys: list[str]) -> None:
    tree: Any = "found"
    for key in reversed(keys):
        tree = {key: tree}
    quoted = "".join("['" + key.replace("'", r"\'") + "']" for key in keys)
    assert parse_jsonpath(quoted).find(tree) == ["found"]
