"""The language itself: literals, operators, macros, optional values. Rows are (expression, value)."""

from math import inf, isnan
from typing import Any

import pytest

from embedded.cel.evaluation import evaluate
from heliostat.embedded.cel.values import NONE, Duration, Optional, Timestamp, TypeValue, Uint

LITERALS: list[tuple[str, Any]] = [
    ("1", 1),
    ("-9223372036854775808", -(2**63)),
    ("0x1F", 31),
    ("-0x1F", -31),
    ("7u", Uint(7)),
    ("0xFFu", Uint(255)),
    ("1.5", 1.5),
    ("2e3", 2000.0),
    (".25", 0.25),
    ("-1.5e-3", -0.0015),
    ("true", True),
    ("null", None),
    ("'a' + \"b\"", "ab"),
    (r"'\u00e9\n\x41\101\''", "é\nAA'"),
    (r"'\U0001F600'", "\U0001f600"),
    (r"r'\d' + R'''x\y'''", r"\dx\y"),
    ("'''two\nlines'''", "two\nlines"),
    (r"b'\xff\377a'", b"\xff\xffa"),
    (r"br'\n'", rb"\n"),
    ("b'é'", "é".encode()),
    ("[1, 2,]", [1, 2]),
    ("{'a': 1, 'b': 2,}", {"a": 1, "b": 2}),
    ("1 // a comment", 1),
    ("int", TypeValue("int")),
]

OPERATORS: list[tuple[str, Any]] = [
    ("1 + 2 * 3 - 4", 3),
    ("(1 + 2) * 3", 9),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("5u / 2u", Uint(2)),
    ("1.0 / 0.0", inf),
    ("-1.0 / 0.0", -inf),
    ("-(-3)", 3),
    ("!!true", True),
    ("'a' < 'b' && b'a' < b'b' && false < true", True),
    ("1 < 1.5 && 2u > 1 && 2.0 >= 2u", True),
    ("duration('1s') < duration('1m')", True),
    ("[1] + [2, 3]", [1, 2, 3]),
    ("b'a' + b'b'", b"ab"),
    ("1 == 1 && 1 != 2", True),
    ("[1, 2] == [1, 2] && [1, 2] != [2, 1]", True),
    ("{'a': [1]} == {'a': [1]}", True),
    ("dyn(1) == dyn(1.0) && dyn(1u) == dyn(1)", True),
    ("dyn(true) == dyn(1)", False),
    ("dyn('1') == dyn(1)", False),
    ("dyn([1]) == dyn([1.0])", True),
    ("0.0 / 0.0 == 0.0 / 0.0", False),
    ("2 in [1, 2] && !(3 in [1, 2])", True),
    ("dyn(1.0) in [1, 2]", True),
    ("dyn(true) in [1, 2]", False),
    ("'a' in {'a': 1} && !('b' in {'a': 1})", True),
    ("1 in []", False),
    ("[[1]] == [[1]] && [1] in [[1]]", True),
    ("true ? 1 : 2", 1),
    ("false ? 1 : true ? 2 : 3", 2),
    ("[1, 2, 3][1]", 2),
    ("{'a': 1}['a'] + {'a': 1}.a", 2),
    ("{1: 'x'}[1]", "x"),
    ("dyn([1, 2])[1.0]", 2),
    ("false && 1 / 0 == 1", False),
    ("1 / 0 == 1 && false", False),
    ("true || 1 / 0 == 1", True),
    ("1 / 0 == 1 || true", True),
    ("true && true && true && !false", True),
    ("type(1) == int && type('') == string && type([]) == list && type({}) == map", True),
    ("type(type(1)) == type && type(null) == null_type", True),
    ("type(1u) == uint && type(1.0) == double && type(b'') == bytes", True),
]

MACROS: list[tuple[str, Any]] = [
    ("has({'a': 1}.a) && !has({'a': 1}.b)", True),
    ("[1, 2].all(x, x > 0)", True),
    ("[].all(x, false)", True),
    ("[1, 2].exists(x, x > 1)", True),
    ("[].exists(x, true)", False),
    ("[1, 2, 2].exists_one(x, x == 2)", False),
    ("[1, 2].exists_one(x, x == 2)", True),
    ("[1, 2].map(x, x * 2)", [2, 4]),
    ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
    ("[1, 2, 3].filter(x, x != 2)", [1, 3]),
    ("{'a': 1}.map(k, k)", ["a"]),
    ("{'a': 1}.all(k, k == 'a')", True),
    ("[1, 2].all(x, [3].all(y, x < y))", True),
    ("[1, 2].map(x, [10].map(x, x + 1)[0] + x)", [12, 13]),
    ("[0, 1].exists(x, 1 / x == 1)", True),
    ("[1, 0].all(x, 1 / x == 5)", False),
    ("[5, 6].all(i, v, v == i + 5)", True),
    ("{'a': 1}.exists(k, v, k == 'a' && v == 1)", True),
    ("[4, 5].existsOne(i, v, i == 1) && [4].exists_one(i, v, v == 4)", True),
    ("[5, 6].transformList(i, v, i + v)", [5, 7]),
    ("[5, 6].transformList(i, v, v > 5, v)", [6]),
    ("{'a': 1}.transformList(k, v, k + string(v))", ["a1"]),
    ("[5, 6].transformMap(i, v, v * 2)", {0: 10, 1: 12}),
    ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", {"b": 2}),
    ("{'a': 'x'}.transformMapEntry(k, v, {v: k})", {"x": "a"}),
    ("[1, 2].transformMapEntry(i, v, v > 1, {v: i})", {2: 1}),
]

OPTIONALS: list[tuple[str, Any]] = [
    ("optional.of(1)", Optional(True, 1)),
    ("optional.none()", NONE),
    ("optional.ofNonZeroValue('')", NONE),
    ("optional.ofNonZeroValue([0]).value()", [0]),
    ("{'a': 1}.?a.value()", 1),
    ("{'a': 1}.?b.hasValue()", False),
    ("{'a': 1}[?'b'].orValue(7)", 7),
    ("[1][?0] == optional.of(1) && [1][?1] == optional.none()", True),
    ("{'a': {'b': 1}}.?a.?b.orValue(0)", 1),
    ("{'a': {'b': 1}}.?a.b.orValue(0)", 1),
    ("{'a': {'b': 1}}.?x.b.orValue(0)", 0),
    ("optional.of([5])[0].value()", 5),
    ("optional.none().or(optional.of(2)).value()", 2),
    ("optional.of(1).orValue(1 / 0)", 1),
    ("optional.of(1).optMap(x, x + 1).value()", 2),
    ("optional.none().optMap(x, x + 1).hasValue()", False),
    ("optional.of(1).optFlatMap(x, optional.of(x * 3)).value()", 3),
    ("[?optional.of(1), ?optional.none(), 2]", [1, 2]),
    ("{?'a': optional.of(1), ?'b': optional.none()}", {"a": 1}),
    ("optional.unwrap([optional.of(1), optional.none()])", [1]),
    ("[optional.of(1)].unwrapOpt()", [1]),
    ("[1, 2].first().value() + [1, 2].last().value()", 3),
    ("[].first().hasValue()", False),
    ("has({'a': {'b': 1}}.?a.b) && !has({'a': {'b': 1}}.?x.b)", True),
]

CONVERSIONS: list[tuple[str, Any]] = [
    ("int('42') + int(3.9) + int(-3.9) + int(5u)", 47),
    ("int(duration('5s'))", 5_000_000_000),
    ("int(timestamp('1970-01-01T00:01:00Z'))", 60),
    ("uint('5') + uint(1) + uint(1.9)", Uint(7)),
    ("double('1.5') + double(1) + double(2u)", 4.5),
    ("double('-Infinity')", -inf),
    ("bool('true') && bool('T') && !bool('0')", True),
    ("string(1) + string(-2) + string(3u)", "1-23"),
    ("string(1.0) + ' ' + string(0.1) + ' ' + string(1e6) + ' ' + string(123456789.0)", "1 0.1 1e+06 1.23456789e+08"),
    ("string(1e-5) + ' ' + string(-2.5e-7) + ' ' + string(0.0001)", "1e-05 -2.5e-07 0.0001"),
    ("string(1.0 / 0.0) + string(-1.0 / 0.0) + string(0.0 / 0.0)", "+Inf-InfNaN"),
    ("string(true) + string(b'abc')", "trueabc"),
    ("string(duration('1h30m5.25s'))", "5405.25s"),
    ("string(timestamp('2024-01-01T00:00:00.5Z'))", "2024-01-01T00:00:00.5Z"),
    ("bytes('é')", "é".encode()),
    ("size('é') + size(b'ab') + size([1]) + size({'a': 1})", 5),
    ("'ab'.size() + [1].size()", 3),
]

TIMES: list[tuple[str, Any]] = [
    ("duration('1h') + duration('-30m')", Duration(1_800_000_000_000)),
    ("duration('1.5s') - duration('500ms')", Duration(1_000_000_000)),
    ("timestamp('2024-01-01T00:00:00Z') + duration('24h')", Timestamp(1_704_153_600_000_000_000)),
    ("timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z')", Duration(86_400_000_000_000)),
    ("timestamp('2024-03-10T01:02:03.004Z').getFullYear()", 2024),
    ("timestamp('2024-03-10T01:02:03.004Z').getMonth()", 2),
    ("timestamp('2024-03-10T01:02:03.004Z').getDayOfYear()", 69),
    ("timestamp('2024-03-10T01:02:03.004Z').getDayOfMonth()", 9),
    ("timestamp('2024-03-10T01:02:03.004Z').getDate()", 10),
    ("timestamp('2024-03-10T01:02:03.004Z').getDayOfWeek()", 0),
    ("timestamp('2024-03-10T01:02:03.004Z').getHours('America/New_York')", 20),
    ("timestamp('2024-03-10T01:02:03.004Z').getMinutes('+02:30')", 32),
    ("timestamp('2024-03-10T01:02:03.004Z').getSeconds()", 3),
    ("timestamp('2024-03-10T01:02:03.004Z').getMilliseconds()", 4),
    ("duration('3730s').getHours()", 1),
    ("duration('3730s').getMinutes()", 62),
    ("duration('-90s').getMinutes()", -1),
    ("duration('1.234s').getMilliseconds()", 1234),
]


@pytest.mark.parametrize(
    ("text", "expected"), [*LITERALS, *OPERATORS, *MACROS, *OPTIONALS, *CONVERSIONS, *TIMES], ids=str
)
def test_an_expression_has_its_value(text: str, expected: Any) -> None:
    value = evaluate(text)
    assert value == expected
    assert type(value) is type(expected)


def test_nan_comes_out_of_zero_by_zero() -> None:
    assert isnan(evaluate("0.0 / 0.0"))
