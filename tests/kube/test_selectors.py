"""Selectors: both forms, the same answers as Kubernetes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.field_selectors import parse_field_selector
from heliostat.kube.selector_text import parse_selector
from heliostat.kube.selectors import EVERYTHING, NOTHING, SelectorError, selector_of

NONE: dict[str, str] = {}
B, EMPTY, X, TWO = {"a": "b"}, {"a": ""}, {"a": "x", "c": "1"}, {"a": "2"}


@pytest.mark.parametrize(
    ("text", "canonical", "matched"),
    [
        ("", "", [NONE, B, EMPTY, X, TWO]),
        ("a", "a", [B, EMPTY, X, TWO]),
        ("!a", "!a", [NONE]),
        ("! a", "!a", [NONE]),
        ("a=b", "a=b", [B]),
        ("a==b", "a=b", [B]),
        ("a=", "a=", [EMPTY]),
        ("a!=b", "a!=b", [NONE, EMPTY, X, TWO]),
        ("a in (y, x, x)", "a in (x,y)", [X]),
        ("a in(x)", "a in (x)", [X]),
        ("a in ()", "a in ()", [EMPTY]),
        ("a in (x,)", "a in (,x)", [EMPTY, X]),
        ("a notin (x)", "a notin (x)", [NONE, B, EMPTY, TWO]),
        ("a>1", "a>1", [TWO]),
        ("a < 3", "a<3", [TWO]),
        ("c,a=x", "a=x,c", [X]),
        ("  a = x , c = 1 ", "a=x,c=1", [X]),
        ("a=,c", "a=,c", []),
        ("in in (in)", "in in (in)", []),
        ("notin", "notin", []),
    ],
)
def test_the_text_form(text: str, canonical: str, matched: list[dict[str, str]]) -> None:
    selector = parse_selector(text)
    assert str(selector) == canonical
    assert [labels for labels in (NONE, B, EMPTY, X, TWO) if selector.matches(labels)] == matched


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=b,", "the end where a key"),
        (",a", "',' where a key"),
        ("a,,b", "',' where a key"),
        ("!", "the end where a key"),
        ("!a=b", "'=' where ','"),
        ("a b", "'b' where '='"),
        ("a=b c", "'c' where ','"),
        ("a=b=c", "'=' where ','"),
        ("a>=1", "'=' where a value"),
        ("a in x", "'x' where '('"),
        ("a in (x", "the end where ',' or ')'"),
        ("a in (x y)", "'y' where ',' or ')'"),
        ("(a)", "'(' where a key"),
        ("a>x", "one whole number"),
        ("-a=b", "not a label key"),
        ("a/b/c=d", "not a label key"),
        ("a=-b", "not a label value"),
        ("a=" + "x" * 64, "not a label value"),
    ],
)
def test_a_text_that_is_no_selector(text: str, words: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert words in caught.value.problem
    assert caught.value.fix in str(caught.value)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "1", "a": "2"}}, "a=2,b=1"),
        ({"matchLabels": None, "matchExpressions": None}, ""),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, "a in (x,y)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist", "values": []}]}, "!a"),
    ],
)
def test_the_object_form(tree: Any, text: str) -> None:
    assert str(selector_of(tree)) == text


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert selector_of(None) == NOTHING
    assert not NOTHING.matches({"a": "b"})
    assert selector_of({}) == EVERYTHING
    assert EVERYTHING.matches(None)


def test_only_node_affinity_compares_numbers() -> None:
    tree = {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}
    assert [selector_of(tree, numeric=True).matches({"cores": cores}) for cores in ("9", "8", "x")] == [
        True,
        False,
        False,
    ]
    with pytest.raises(SelectorError, match="'Gt' is not an operator"):
        selector_of(tree)


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ("a=b", ("s",)),
        ({"matchLabels": ["a"]}, ("s", "matchLabels")),
        ({"matchLabels": {"a": 1}}, ("s", "matchLabels", "a")),
        ({"matchLabels": {"a b": "1"}}, ("s", "matchLabels", "a b")),
        ({"matchExpressions": [{}]}, ("s", "matchExpressions", 0)),
        ({"matchExpressions": ["a"]}, ("s", "matchExpressions", 0)),
        ({"matchExpressions": [{"key": "a", "operator": "in"}]}, ("s", "matchExpressions", 0, "operator")),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, ("s", "matchExpressions", 0, "values")),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]}, ("s", "matchExpressions", 0, "values")),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            ("s", "matchExpressions", 0, "values"),
        ),
    ],
)
def test_an_object_that_is_no_selector_is_refused_with_its_path(tree: Any, path: tuple[str | int, ...]) -> None:
    with pytest.raises(SelectorError) as caught:
        selector_of(tree, ("s",))
    assert caught.value.path == path


words = st.from_regex(r"[a-c]{1,2}", fullmatch=True)
requirements = st.one_of(
    st.builds("{}={}".format, words, words),
    st.builds("{}!={}".format, words, words),
    st.builds("{} in ({},{})".format, words, words, words),
    st.builds("{} notin ({})".format, words, words),
    words,
    st.builds("!{}".format, words),
)


@given(st.lists(requirements, max_size=4), st.dictionaries(words, words, max_size=4))
def test_law_the_canonical_text_selects_the_same_and_requirements_add_up(
    parts: list[str], labels: dict[str, str]
) -> None:
    selector = parse_selector(",".join(parts))
    assert parse_selector(str(selector)) == selector
    assert selector.matches(labels) == all(parse_selector(part).matches(labels) for part in parts)


POD = {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"hostNetwork": True}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("text", "canonical", "matches"),
    [
        ("", "", True),
        ("metadata.name=a", "metadata.name=a", True),
        ("metadata.name==b", "metadata.name=b", False),
        ("status.phase!=Running", "status.phase!=Running", False),
        ("status.phase!=Failed,metadata.name=a,", "metadata.name=a,status.phase!=Failed", True),
        ("spec.nodeName=", "spec.nodeName=", True),
        ("spec.hostNetwork=true", "spec.hostNetwork=true", True),
        ("metadata.labels=x", "metadata.labels=x", False),
        ("metadata.name.x=", "metadata.name.x=", True),
        (r"metadata.name=b\,c\=d\\", r"metadata.name=b\,c\=d\\", False),
    ],
)
def test_field_selectors(text: str, canonical: str, matches: bool) -> None:
    selector = parse_field_selector(text)
    assert str(selector) == canonical
    assert selector.matches(POD) is matches


@pytest.mark.parametrize("text", ["a", "a in (b)", "a=b=c", "a=b\\", "a=b\\x", "a!b"])
def test_a_text_that_is_no_field_selector(text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert caught.value.fix
