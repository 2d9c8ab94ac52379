"""Whatever the input, reading is bounded and ends in documents or in a ``DocumentError``."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.documents import MAX_BYTES, Document, DocumentError, read_documents
from heliostat.kube.jsontree import MAX_DEPTH
from heliostat.kube.yaml_compose import MAX_ALIASED, Composer


def read_one(text: str) -> Any:
    [document] = read_documents(text)
    return document.tree


def refusal(data: str | bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_documents(data, "x.yaml")
    assert caught.value.fix
    return caught.value


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def compose(text: str) -> Composer:
    composer = Composer(text, "-")
    with pytest.raises(DocumentError):
        list(composer.documents())
    return composer


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    text = bomb(levels=30, width=9)
    assert f"expand to more than {MAX_ALIASED:,} values" in refusal(text).problem
    composer = compose(text)
    assert composer.aliased <= MAX_ALIASED * 10  # the last alias was counted, not copied
    assert composer.nodes < 200


def test_a_bomb_of_merges_is_refused_too() -> None:
    lines = ["a0: &a0 {k: [1, 2, 3, 4, 5, 6, 7, 8, 9]}"]
    lines += [f"a{n}: &a{n} {{<<: *a{n - 1}, x{n}: *a{n - 1}, y{n}: *a{n - 1}}}" for n in range(1, 40)]
    assert "aliases expand" in refusal("\n".join(lines)).problem


def test_the_bound_holds_for_all_documents_of_a_text_together() -> None:
    one = f"a: &a [{'x, ' * 1000}]\nb: [{'*a, ' * 100}]\n"
    assert len(read_documents(one)) == 1
    assert "aliases expand" in refusal("---\n".join([one] * 10)).problem


def test_aliases_share_nothing() -> None:
    tree = read_one("a: &x {b: [1]}\nc: *x\nd: {<<: *x}\ne: {<<: *x}")
    tree["a"]["b"].append(2)
    tree["d"]["b"].append(3)
    assert tree == {"a": {"b": [1, 2]}, "c": {"b": [1]}, "d": {"b": [1, 3]}, "e": {"b": [1]}}


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 50_000])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ("{a: ", "}"), ('{"a":', "}"), ("- ", ""), ("? ", ""), ("[{a: ", "}]"), ("&x [", "]")],
)
def test_deep_nesting_is_refused_without_reading_on(opening: str, closing: str, depth: int) -> None:
    text = "x: " * (opening[0] in "[&") + opening * depth + "1" + closing * depth
    assert f"deeper than {MAX_DEPTH}" in refusal(f"{{k: {text}}}" if opening[0] == "{" else text).problem


def test_nesting_up_to_the_limit_is_fine() -> None:
    inner = MAX_DEPTH - 1
    tree = read_one("a: " + "[" * inner + "]" * inner)
    assert json.dumps(tree) == '{"a": ' + "[" * inner + "]" * inner + "}"


def test_aliases_cannot_pile_up_depth() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200)]
    error = refusal("\n".join(lines))
    assert "levels by aliases" in error.problem
    assert error.line == MAX_DEPTH


def test_a_text_past_the_limit_is_refused_unread() -> None:
    error = refusal(b"[" * (MAX_BYTES + 1))
    assert "16,777,217 bytes" in error.problem
    assert "split" in error.fix


def test_a_text_of_too_many_values_is_refused() -> None:
    composer = Composer("a: [" + "0," * 5000 + "]", "-", max_nodes=1000)
    with pytest.raises(DocumentError, match="more than 1,000 values"):
        list(composer.documents())
    assert composer.nodes == 1001


def test_a_text_of_10_megabytes_takes_one_node_per_value() -> None:
    entry = f"    - name: a\n      value: '{'some text ' * 30}'\n"
    times = 10_000_000 // len(entry)
    composer = Composer("spec:\n  env:\n" + entry * times, "-")
    [tree] = composer.documents()
    assert len(tree["spec"]["env"]) == times
    assert (composer.nodes, composer.aliased) == (5 + 5 * times, 0)


def test_a_json_text_of_10_megabytes_is_read() -> None:
    data = json.dumps({"kind": "List", "items": [{"kind": "A", "data": {"text": "x" * 500}}] * 18_000}).encode()
    assert 9_000_000 < len(data) < MAX_BYTES
    assert len(read_documents(data)) == 18_000


# Nothing but DocumentError ever leaves


def read_or_refusal(data: bytes | str) -> list[Document] | DocumentError:
    try:
        return read_documents(data)
    except DocumentError as error:
        return error


def check(data: bytes | str) -> None:
    result = read_or_refusal(data)
    if isinstance(result, DocumentError):
        assert result.line >= 1
        assert result.column >= 1
        assert result.problem
        assert result.fix
    else:
        assert {type(document.tree) for document in result} <= {dict}
        assert all(document.line_of() >= 1 for document in result)


@given(st.binary(max_size=60))
def test_law_any_bytes_are_read_or_refused(data: bytes) -> None:
    check(data)


@given(st.text(st.characters(), max_size=60))
def test_law_any_text_is_read_or_refused(text: str) -> None:
    check(text)


@given(st.text(" \n\t\r-:?,[]{}#&*!|>'\"%@`~<ab01.xeyn_\\", max_size=40))
def test_law_any_punctuation_is_read_or_refused(text: str) -> None:
    check(text)


SNIPPETS = st.sampled_from(
    [
        "a: ",
        "- ",
        "\n",
        "\n  ",
        "&x ",
        "*x",
        "<<: ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "!!int ",
        "!t ",
        "y",
        "1",
        "'",
        '"',
        "---\n",
        "? ",
        "|\n",
    ]
)


@given(st.lists(SNIPPETS, max_size=25).map("".join))
def test_law_any_sequence_of_syntax_is_read_or_refused(text: str) -> None:
    check(text)


MANIFEST = """\
# a cluster
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: "a", labels: &labels {x: 'y'}}
spec:
  workerGroupSpecs:
  - groupName: g
    template: {metadata: {labels: *labels}}
    script: |
      line
"""


@given(st.integers(0, len(MANIFEST)))
def test_law_a_truncated_manifest_is_read_or_refused(length: int) -> None:
    check(MANIFEST[:length])


@given(st.lists(SNIPPETS, max_size=20).map("".join))
def test_law_both_parsers_read_the_same(text: str) -> None:
    """PyYAML's own parser, for machines without libyaml, agrees wherever both accept the text."""
    results = []
    for pure in (False, True):
        try:
            results.append(list(Composer(text, "-", pure=pure).documents()))
        except DocumentError:
            return
    assert json.dumps(results[0]) == json.dumps(results[1])
