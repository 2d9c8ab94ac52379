"""YAML for people: readable, and every reader gets the same tree back."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.yaml_text import encode_yaml

EXAMPLE: JsonObject = {
    "apiVersion": "ray.io/v1",
    "metadata": {"name": "a", "labels": {}, "annotations": {"ray.io/x": "true", "note": "two\nlines\n"}},
    "spec": {
        "replicas": 2,
        "suspend": False,
        "ratio": 0.5,
        "nothing": None,
        "containers": [
            {"name": "ray", "image": "rayproject/ray:2.52.0", "args": ["ulimit -n 65536; ray start --head", "--x=1"]},
            {"name": "y", "env": [], "command": [["nested", "1"], "no"]},
        ],
    },
}
TEXT = """\
apiVersion: ray.io/v1
metadata:
  name: a
  labels: {}
  annotations:
    ray.io/x: "true"
    note: |
      two
      lines
spec:
  replicas: 2
  suspend: false
  ratio: 0.5
  nothing: null
  containers:
  - name: ray
    image: rayproject/ray:2.52.0
    args:
    - ulimit -n 65536; ray start --head
    - --x=1
  - name: "y"
    env: []
    command:
    - - nested
      - "1"
    - "no"
"""


def test_a_manifest_looks_like_one_a_person_wrote() -> None:
    assert encode_yaml(EXAMPLE) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "~",
            "null",
            "y",
            "N",
            "yes",
            "off",
            "True",
            "0",
            "1e3",
            "0x10",
            "0b1",
            "017",
            "1_000",
            ".5",
            ".inf",
            "-.INF",
        ),
        *(
            ".nan",
            "2001-01-01",
            "2001-01-01T00:00:00Z",
            "1:30",
            "190:20:30.5",
            "=",
            "<<",
            "-",
            "---",
            "...",
            "- a",
            "? a",
        ),
        *(
            "a: b",
            "a:",
            ":a",
            "a #b",
            "#a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "{a",
            "[a",
            '"a',
            "'a",
            " a",
            "a ",
        ),
        *(
            "a\tb",
            "\ta",
            "a\rb",
            "\x00",
            "\x7f",
            "\x85",
            "\ufeff",
            "\u2028",
            "é",
            "日本",
            "😀",
            "a\\b",
            "-a",
            "--a",
            "+1",
            "-1",
        ),
        *(
            "\n",
            "a\n",
            "a\n\n",
            "\na",
            " a\nb",
            "a\n b\n",
            "a\n\n\nb",
            "a \nb",
            "a\nb ",
            "a\n\tb",
            "\ta\nb",
            "a\n ",
            "a\n#b\n",
        ),
        *(
            "a\n---\nb",
            "a\r\nb",
            "x\x85y\nz",
            "key: value\nother: 1\n",
            "1.0",
            "1e",
            "0o8",
            "+",
            ".",
            "..",
            "1.2.3",
            "v1",
        ),
    ],
)
def test_text_that_could_be_taken_for_something_else_comes_back_as_it_was(text: str) -> None:
    for tree in ({"value": text}, {"list": [text, [text]]}, {text: 1}, {"in": {"depth": {text: [text]}}}):
        assert read_documents(encode_yaml(tree))[0].tree == tree
        assert yaml.safe_load(encode_yaml(tree)) == tree  # another reader with its own rules


characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(st.text(characters, max_size=12), st.text(" \n\t#:-'\"ab0\\|>,[]{}&*!%@`~", max_size=12))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(texts, trees, max_size=4))
def test_law_reading_gives_back_what_was_written(tree: JsonObject) -> None:
    [document] = read_documents(encode_yaml(tree))
    assert document.tree == tree
    assert list(document.tree) == list(tree)


@given(trees)
def test_law_several_documents_can_be_joined(tree: Any) -> None:
    text = "---\n".join([encode_yaml({"value": tree}), encode_yaml({"again": tree})])
    assert [document.tree for document in read_documents(text)] == [{"value": tree}, {"again": tree}]


def test_a_key_too_long_to_be_looked_ahead_for() -> None:
    tree = {"k" * 2000: {"a": 1, "é" * 1500: ["x"]}, "list": [{"m" * 1100: "a\nb\n"}]}
    assert read_documents(encode_yaml(tree))[0].tree == tree


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="no JSON form"):
        encode_yaml({"a": number})
