"""What Go's decoder says about a text, and that it says nothing about JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.server.documents.json_syntax import DEEPEST, json_problem

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b"nul", "unexpected end of JSON input"),
        (b"not json", "invalid character 'o' in literal null (expecting 'u')"),
        (b"- a", "invalid character ' ' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 2}', "invalid character '2' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b'"a\x01"', "invalid character '\\x01' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"\xae", "invalid character '\u00ae' looking for beginning of value"),
        (b"[" * (DEEPEST + 1), "invalid character '[' exceeded max depth"),
    ],
)
def test_the_first_problem_is_told(text: bytes, words: str) -> None:
    assert json_problem(text) == words


@given(VALUES)
def test_json_has_no_problem(value: Any) -> None:
    assert json_problem(json.dumps(value).encode()) == ""


@given(st.text(alphabet='{}[]",:truefalsnul0123456789.eE+- \\'))
def test_what_is_no_json_has_one(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert json_problem(text.encode()) != ""
    else:
        assert json_problem(text.encode()) == ""
