"""Texts that other programs compare byte for byte with what Go writes."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.go_text import go_float, go_json, go_quote, go_short_float


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (1000.0, "1000"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (1.5e-5, "0.000015"),
        (1e-7, "1e-7"),
        (1.25e-9, "1.25e-9"),
        (1e20, "100000000000000000000"),
        (float(2**64), "18446744073709552000"),
        (1e21, "1e+21"),
        (-2.5, "-2.5"),
        (0.0, "0"),
    ],
)
def test_numbers_are_as_short_as_go_writes_them(value: float, expected: str) -> None:
    assert go_float(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_the_same(value: float) -> None:
    assert float(go_float(value)) == value
    assert math.copysign(1, float(go_float(value))) == math.copysign(1, value)


@pytest.mark.parametrize(
    "text",
    # what strconv.FormatFloat(value, 'g', -1, 64) of Go 1.26 says
    [
        "0",
        "1",
        "-0.5",
        "0.005",
        "0.0001",
        "0.00025",
        "2.5",
        "100000",
        "262144",
        "999999",
        "1e+06",
        "1.048576e+06",
        "1.2345675e+06",
        "1.6777216e+07",
        "-1e+07",
        "1.792000000123456e+09",
        "1.2345678901234567e+19",
        "1e+21",
        "1e+300",
        "1.234e-05",
        "3.0517578125e-05",
        "1e-06",
        "5e-324",
    ],
)
def test_short_numbers_have_exponents_as_go_gives_them(text: str) -> None:
    assert go_short_float(float(text)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_short_number_reads_back_the_same(value: float) -> None:
    assert float(go_short_float(value)) == value


def test_json_is_compact_sorted_and_safe_in_a_page() -> None:
    assert go_json({"b": [1, None, True], "a": "<&>"}) == '{"a":"\\u003c\\u0026\\u003e","b":[1,null,true]}'


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_reads_back_the_same(value: object) -> None:
    assert json.loads(go_json(value)) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("tab\tline\n", '"tab\\tline\\n"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("日本", '"日本"'),
        ("\u200b", '"\\u200b"'),
        ("$`", '"$`"'),
    ],
)
def test_quoting_is_strconvs(text: str, expected: str) -> None:
    assert go_quote(text) == expected
