"""Documents as kubectl reads them, with the place of everything that is refused."""

import json
from typing import Any

import pytest

from heliostat.kube.documents import DocumentError, read_documents
from heliostat.kube.yaml_compose import Composer
from heliostat.kube.yaml_value import read_yaml_value


def read_one(text: str | bytes) -> Any:
    [document] = read_documents(text)
    return document.tree


def refusal(data: str | bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_documents(data, "x.yaml")
    assert caught.value.source == "x.yaml"
    assert caught.value.fix
    return caught.value


# What an unquoted value means. The right column is what kubectl sends to the API server.


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("y Y yes Yes YES on On ON true True TRUE", True),
        ("n N no No NO off Off OFF false False FALSE", False),
        ("~ null Null NULL", None),
    ],
)
def test_words_that_are_booleans_or_null(words: str, value: bool | None) -> None:
    assert [read_one(f"a: {word}")["a"] for word in words.split()] == [value] * len(words.split())
    assert read_one("a:")["a"] is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("0X1f", 31),
        ("-0x1F", -31),
        ("0b11", 3),
        ("0B11", 3),
        ("0o17", 15),
        ("017", 15),
        ("-017", -15),
        ("08", 8),
        ("00", 0),
        ("1_000", 1000),
        ("0x_ff", 255),
        ("+1", 1),
        ("-0", 0),
        ("1e3", 1000),
        ("1.0", 1),
        ("1.", 1),
        ("1.5e3", 1500),
        ("-0.0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551615", 2**64 - 1),
        (".5", 0.5),
        ("-.5e-3", -0.0005),
        ("123e-2", 1.23),
        ("1_.5", 1.5),
        ("99999999999999999999", 1e20),
        ("1e21", 1e21),
    ],
)
def test_numbers(text: str, value: float) -> None:
    found = read_one(f"a: {text}")["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "oN",
            "tRue",
            "nUll",
            "1e",
            "0x",
            "0b",
            "0o8",
            "0b12",
            "0x1p4",
            "_1",
            "1e400",
            "1.2.3",
            "1:30",
            "190:20:30",
            "nan",
        ),
        *(
            "2001-01-01",
            "2001-01-01T00:00:00Z",
            "=",
            ".",
            "..",
            "-.nan",
            "+",
            "0xfffffffffffffffff",
            "inf",
            "v1",
            "1" * 500,
        ),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert read_one(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1: a", {"1": "a"}),
        ("1.5: a", {"1.5": "a"}),
        ("0x10: a", {"16": "a"}),
        ("y: a", {"true": "a"}),
        ("off: a", {"false": "a"}),
        ("? a\n: b", {"a": "b"}),
        ("a: !!str 12", {"a": "12"}),
        ("a: ! 12", {"a": "12"}),
        ('a: !!int "0x1f"', {"a": 31}),
        ("a: !!float 1.5", {"a": 1.5}),
        ('a: !!bool "yes"', {"a": True}),
        ('a: !!null ""', {"a": None}),
        ("a: !!timestamp 2001-01-01", {"a": "2001-01-01"}),
        ("a: !!binary aGVsbG8=", {"a": "hello"}),
        ("a: !!map {b: !!seq [1]}", {"a": {"b": [1]}}),
        ("a: !!set {b, c}", {"a": {"b": None, "c": None}}),
        ("a: &x {b: [1]}\nc: *x", {"a": {"b": [1]}, "c": {"b": [1]}}),
        ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        ("a: &x k\n*x : 1", {"a": "k", "k": 1}),
        ("<<: {a: 1, b: 2}\na: 3", {"a": 3, "b": 2}),
        ("a: 3\n<<: {a: 1, b: 2}", {"a": 1, "b": 2}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("<<: {a: 1}\n<<: {b: 2}", {"a": 1, "b": 2}),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ('"<<": 1', {"<<": 1}),
        ("a: 'y'\nb: \"1\"\nc: |\n  1\n", {"a": "y", "b": "1", "c": "1\n"}),
        ("{a: 1, b: [x, y]}", {"a": 1, "b": ["x", True]}),
        ("\ufeffa: 1", {"a": 1}),
        ("%YAML 1.1\n---\na: 1", {"a": 1}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    ],
)
def test_keys_tags_anchors_and_merges(text: str, tree: Any) -> None:
    assert json.dumps(read_one(text), sort_keys=True) == json.dumps(tree, sort_keys=True)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, '"a" is given twice, first in line 1'),
        ("x:\n  - k: 1\n    l: {m: {k: 2}}\n    k: 2\n", 4, 5, '"k" is given twice, first in line 2'),
        ('1: a\n"1": b', 2, 1, '"1" is given twice, first in line 1'),
        ("k: &a b\n*a : 1\n*a : 2", 3, 1, '"b" is given twice'),
        ("a: .nan", 1, 4, ".nan has no JSON form"),
        ("a: [-.Inf]", 1, 5, "no JSON form"),
        ("a: !!int x", 1, 4, "not a value of the tag !!int"),
        ("a: !!binary /w==", 1, 4, "base64"),
        ("a: !vault x", 1, 4, "tag !vault"),
        ("a: !x {b: 1}", 1, 4, "tag !x"),
        ("a: !!str [1]", 1, 4, "tag !!str"),
        ("a:\n  *x", 2, 3, "*x has no anchor"),
        ("a: &x [*x]", 1, 8, "inside its own anchor"),
        ("a: &x {b: {c: *x}}", 1, 15, "inside its own anchor"),
        ("x: {<<: 3}", 1, 5, "<< takes a mapping"),
        ("x: {<<: [1]}", 1, 5, "<< takes a mapping"),
        ("~: a", 1, 1, "empty or null"),
        ("? [a]\n: b", 1, 3, "cannot be a key"),
        ("a: {{ x }}: 1", 1, 5, "cannot be a key"),
        ("1e30: a", 1, 1, "cannot be a key"),
        ("a: [1, 2", 2, 1, "that begins in line 1"),
        ("a: b: c", 1, 5, "mapping values are not allowed"),
        ("a:\n\tb: 1", 2, 1, "cannot start any token"),
        ("a: 'x\n", 2, 1, "unexpected end of stream"),
        ("a: \x01", 1, 4, "control characters"),
        ("é: 1\nb: \x00", 2, 4, "control characters"),
        ("a: 1\n b: 2", 2, 3, "mapping values"),
        ('a: "\\ud83d"', 1, 7, "escape"),
        ("- a", 1, 1, "not a list"),
        ("---\nhello", 2, 1, "not text"),
        ("a: 1\n---\n12", 3, 1, "not a number"),
        ("%YAML 9.0\n---\na: 1", 1, 1, "incompatible"),
    ],
)
def test_a_refusal_says_where_and_what(text: str, line: int, column: int, words: str) -> None:
    error = refusal(text)
    assert words in error.problem
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bad: [\n", "line 1: did not find expected node content"),
        ("a: 1\nb:\n  - c\n d: e", "line 3: did not find expected key"),
        ("a: b: c", "mapping values are not allowed in this context"),
        ("a: 1\nb: c: d", "line 2: mapping values are not allowed in this context"),
        ("a:\n\tb: 1", "line 2: found character that cannot start any token"),
        ("a: 1\nb: \x01", "control characters are not allowed"),
        ("a: 1\nb: .nan", "line 2: .nan has no JSON form"),
    ],
)
def test_a_refusal_knows_what_a_go_program_says(text: str, words: str) -> None:
    assert refusal(text).told_by_go == words


def test_one_value_is_read_with_its_end() -> None:
    with pytest.raises(DocumentError, match="mapping values are not allowed"):
        read_yaml_value("pip\nconda: x", "-")


def test_of_several_documents_one_value_is_the_first() -> None:
    assert read_yaml_value("a: 1\n---\nb: [", "-") == {"a": 1}


@pytest.mark.parametrize("pure", [False, True])
def test_both_parsers_place_a_forbidden_character(pure: bool) -> None:
    with pytest.raises(DocumentError) as caught:
        list(Composer("é: 1\nß: \x01", "-", pure=pure).documents())
    assert (caught.value.line, caught.value.column) == (2, 4)


# Streams


def test_several_documents_without_the_empty_ones() -> None:
    text = "# only a comment\n---\na: 1\n---\n---\n# nothing\n---\n~\n---\nb: 2\n...\n---\nc: 3\n"
    documents = read_documents(text, "x")
    assert [document.tree for document in documents] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [document.index for document in documents] == [0, 1, 2]
    assert [document.line_of(()) for document in documents] == [3, 10, 13]


@pytest.mark.parametrize("text", ["", "\n", "# c\n", "---\n---\n", "~", "null", b"", b"\xef\xbb\xbf"])
def test_nothing_is_no_document(text: str | bytes) -> None:
    assert read_documents(text) == []


def test_json_objects_stand_one_after_the_other() -> None:
    documents = read_documents('{"a": 1.0,\n "b": 1}\n{"c": [\n {"d": 2}]} ')
    assert json.dumps([document.tree for document in documents]) == '[{"a": 1.0, "b": 1}, {"c": [{"d": 2}]}]'
    assert [document.line_of(("b",)) for document in documents] == [2, 3]
    assert documents[1].line_of(("c", 0, "d")) == 4


def test_braces_that_are_not_json_may_be_yaml() -> None:
    assert read_one("{a: y, }") == {"a": True}
    assert [document.tree for document in read_documents('{"a": 1}\n---\nb: 2')] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "line", "path", "words"),
    [
        ('{"a": {\n"b": 1, "b": 2}}', 2, ("a", "b"), "twice"),
        ('{"a": 1}\n{"a": 99999999999999999999}', 2, ("a",), "64 bits"),
        ('{"a": NaN}', 1, ("a",), "NaN"),
        ('{"a": "\\ud800"}', 1, ("a",), "surrogate"),
        ('{"a": {"b": 1', 2, (), "expected ',' or '}'"),
    ],
)
def test_json_is_read_strictly(text: str, line: int, path: tuple[str, ...], words: str) -> None:
    error = refusal(text)
    assert words in error.problem
    assert (error.line, error.path) == (line, path)


def test_lists_are_taken_apart() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- kind: A
  spec: {x: 1}
- kind: List
  items:
  - kind: B
    spec:
      z: 2
---
apiVersion: ray.io/v1
kind: RayClusterList
items:
- metadata: {name: a}
- kind: Other
---
kind: List
items: []
---
kind: AllowList
spec: {items: [1]}
"""
    documents = read_documents(text)
    assert [document.tree for document in documents] == [
        {"kind": "A", "spec": {"x": 1}},
        {"kind": "B", "spec": {"z": 2}},
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a"}},
        {"kind": "Other"},
        {"kind": "AllowList", "spec": {"items": [1]}},
    ]
    assert [document.index for document in documents] == [0, 1, 2, 3, 4]
    assert [document.line_of() for document in documents] == [4, 8, 15, 16, 21]
    assert documents[1].line_of(("spec", "z")) == 10
    assert "a Kubernetes object was expected here, not text" in refusal("kind: List\nitems:\n- x\n").problem


# Lines

LINES = """\
# first
metadata:
  name: a

spec:
  groups:
    - name: g
      template:
        labels: {a: 1,
                 b: 2}
    -
      name: h
  base: &base
    shared: 1
  other:
    <<: *base
    own: 2
  also: *base
  both:
    <<: [{one: 1}, *base]
  1: x
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 2),
        (("metadata",), 2),
        (("metadata", "name"), 3),
        (("spec", "groups"), 6),
        (("spec", "groups", 0), 7),
        (("spec", "groups", 0, "template", "labels", "a"), 9),
        (("spec", "groups", 0, "template", "labels", "b"), 10),
        (("spec", "groups", 1), 12),
        (("spec", "other", "shared"), 14),
        (("spec", "other", "own"), 17),
        (("spec", "also"), 18),
        (("spec", "also", "shared"), 14),
        (("spec", "both", "one"), 20),
        (("spec", "both", "shared"), 14),
        (("spec", "1"), 21),
        (("spec", "missing"), 5),
        (("spec", "groups", 7, "x"), 6),
        (("spec", "groups", "x"), 6),
        (("metadata", "name", "x"), 3),
    ],
)
def test_the_line_of_a_path_or_of_its_nearest_ancestor(path: tuple[str | int, ...], line: int) -> None:
    [document] = read_documents(LINES)
    assert document.line_of(path) == line


# Encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("text", ["a: é😀\n", '{"a": "é😀"}'])
def test_utf_8_and_utf_16_are_read(encoding: str, text: str) -> None:
    assert read_one(text.encode(encoding)) == {"a": "é😀"}


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"a: 1\nb: \xff\n", 2, "0xff is not valid UTF-8"),
        (b"a: \xc3", 1, "0xc3 is not valid UTF-8"),
        (b"\xff\xfea", 1, "not valid UTF-16"),
        (b"\xfe\xff\xd8\x00\x00a", 1, "not valid UTF-16"),
        ("a: 1\nb: \ud800", 2, "surrogate"),
    ],
)
def test_other_bytes_are_refused(data: bytes | str, line: int, words: str) -> None:
    error = refusal(data)
    assert words in error.problem
    assert error.line == line
