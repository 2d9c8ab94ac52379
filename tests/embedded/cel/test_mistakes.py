"""What is wrong with an expression, and when that is found: in its text, in its types, or only with the data."""

import pytest

from embedded.cel.evaluation import CLUSTER, compile_for, evaluate, evaluate_head
from heliostat.embedded.cel.errors import CompileError, EvaluationError
from heliostat.embedded.cel.parser import MAX_DEPTH

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)

# Rows: expression, column of the mistake, message.
SYNTAX: list[tuple[str, int, str]] = [
    ("1 ==", 5, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
    ("()", 2, f"Syntax error: mismatched input ')' expecting {OPERAND}"),
    ("a b", 3, "Syntax error: extraneous input 'b' expecting <EOF>"),
    ("(1", 3, "Syntax error: missing ')' at '<EOF>'"),
    ("[1", 3, "Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
    ("{1}", 3, "Syntax error: mismatched input '}' expecting ':'"),
    ("a ? b", 6, "Syntax error: mismatched input '<EOF>' expecting ':'"),
    ("self.", 6, "Syntax error: no viable alternative at input '.'"),
    ("-!true", 2, "Syntax error: no viable alternative at input '-!'"),
    ("1 # 2", 3, "Syntax error: token recognition error at: '#'"),
    ("'abc", 1, "Syntax error: token recognition error at: ''abc'"),
    ("package", 1, "reserved identifier: package"),
    ("99999999999999999999", 1, "invalid int literal"),
    ("18446744073709551616u", 1, "invalid uint literal"),
    ("1e999", 1, "invalid double literal"),
    (r"'\ud800'", 1, "invalid unicode code point"),
    (r"b'\u00e9'", 1, "unable to unescape string"),
    ("has(self)", 5, "invalid argument to has() macro"),
    ("[1].all(1, true)", 9, "argument must be a simple name"),
    ("[1].map(x.y, 1)", 10, "argument is not an identifier"),
    ("[1].all(x, x, true)", 12, "duplicate variable name: x"),
    ("[1].all(__result__, true)", 9, "iteration variable overwrites accumulator variable"),
    ("optional.of(1).optMap(1, 2)", 23, "optMap() variable name must be a simple identifier"),
    ("Foo{a: 1}", 4, "undeclared reference to 'Foo' (in container '')"),
]

TYPES: list[tuple[str, int, str]] = [
    ("self.nope", 5, "undefined field 'nope'"),
    ("has(self.nope)", 4, "undefined field 'nope'"),
    ("self.open.x", 10, "undefined field 'x'"),
    ("nope", 1, "undeclared reference to 'nope' (in container '')"),
    ("nope(1)", 5, "undeclared reference to 'nope' (in container '')"),
    ("[1].reverse()", 12, "undeclared reference to 'reverse' (in container '')"),
    ("self.name + 1", 11, "found no matching overload for '_+_' applied to '(string, int)'"),
    ("self.name > 3", 11, "found no matching overload for '_>_' applied to '(string, int)'"),
    ("1 == 1.0", 3, "found no matching overload for '_==_' applied to '(int, double)'"),
    ("self == 1", 6, "found no matching overload for '_==_' applied to '(selfType, int)'"),
    ("self.spec == self", 11, "found no matching overload for '_==_' applied to '(selfType.spec, selfType)'"),
    ("self.name == null", 11, "found no matching overload for '_==_' applied to '(string, null)'"),
    ("self.ttl + 1", 10, "found no matching overload for '_+_' applied to '(duration, int)'"),
    ("size(3)", 5, "found no matching overload for 'size' applied to '(int)'"),
    ("self.name.size(1)", 15, "found no matching overload for 'size' applied to 'string.(int)'"),
    ("quantity('1').sign()", 19, "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"),
    ("self.name && true", 5, "expected type 'bool' but found 'string'"),
    ("[1].all(x, x)", 12, "expected type 'bool' but found 'int'"),
    ("[1].filter(x, x)", 11, "found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'"),
    ("true ? 1 : 'a'", 6, "found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
    ("self.name.all(x, true)", 5, "expression of type 'string' cannot be range of a comprehension"),
    ("self.all(x, true)", 1, "(must be list, map, or dynamic)"),
    ("self.name.x", 10, "type 'string' does not support field selection"),
    ("[1]['a']", 4, "found no matching overload for '_[_]' applied to '(list(int), string)'"),
    ("1 in ['a']", 3, "found no matching overload for '@in' applied to '(int, list(string))'"),
    ("[?1]", 3, "expected type 'optional_type(int)' but found 'int'"),
    ("[1, 'a']", 5, "expected type 'int' but found 'string'"),
    ("{'a': 1, 2: 3}", 10, "expected type 'string' but found 'int'"),
    ("{'a': 1, 'b': 'c'}", 15, "expected type 'int' but found 'string'"),
    ("'a'.matches('(')", 13, "invalid matches argument"),
    ("duration('1hh')", 10, "invalid duration argument"),
    ("timestamp('2024-02-30T00:00:00Z')", 11, "invalid timestamp argument"),
    ("'%d'.format(['a'])", 14, "decimal clause can only be used on integers, was given string"),
    ("'%s'.format([1, 2])", 12, "too many arguments supplied to string.format (expected 1, got 2)"),
    ("'%s %s'.format([1])", 15, "index 1 out of range"),
]


@pytest.mark.parametrize(("text", "column", "message"), [*SYNTAX, *TYPES], ids=str)
def test_a_wrong_text_is_refused_with_place_and_reason(text: str, column: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_for(text, CLUSTER)
    shown = str(caught.value)
    assert shown.startswith(f"ERROR: <input>:1:{column}: ")
    assert message in shown
    assert shown.endswith(f"\n | {text}\n | {'.' * (column - 1)}^")


def test_all_mistakes_are_told_in_the_order_of_the_text() -> None:
    with pytest.raises(CompileError) as caught:
        compile_for("self.name == 1 &&\n  self.nope == 2", CLUSTER)
    assert str(caught.value) == (
        "ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(string, int)'\n"
        " | self.name == 1 &&\n | ..........^\n"
        "ERROR: <input>:2:7: undefined field 'nope'\n |   self.nope == 2\n | ......^"
    )


def test_a_mistake_is_not_repeated_for_everything_around_it() -> None:
    with pytest.raises(CompileError) as caught:
        compile_for("size(self.nope + 1) > 2 && self.nope.startsWith('a')", CLUSTER)
    assert len(caught.value.issues) == 2


@pytest.mark.parametrize(
    "text", ["(" * 300 + "1" + ")" * 300, "+".join(["1"] * 400), "self" + ".a" * 400, "[" * 300 + "]" * 300]
)
def test_nesting_has_a_limit(text: str) -> None:
    with pytest.raises(CompileError, match=f"recursion limit exceeded: {MAX_DEPTH}"):
        compile_for(text, CLUSTER)


def test_many_terms_do_not_count_as_nesting() -> None:
    assert evaluate(" && ".join(["true"] * 2000)) is True


def test_a_text_of_more_than_100000_characters_is_refused() -> None:
    with pytest.raises(CompileError, match="expression code point size exceeds limit: size: 100001, limit 100000"):
        compile_for("1".ljust(100_001), CLUSTER)


# (expression about the cluster, message)
FAILURES: list[tuple[str, str]] = [
    ("self.missing == 'x'", "no such key: missing"),
    ("self.labels['nope'] == 'x'", "no such key: nope"),
    ("self.labels.nope == 'x'", "no such key: nope"),
    ("self.numbers[3] == 1", "index out of bounds: 3"),
    ("self.numbers[-1] == 1", "index out of bounds: -1"),
    ("1 / (self.replicas - 3) == 1", "division by zero"),
    ("1 % (self.replicas - 3) == 1", "modulus by zero"),
    ("9223372036854775807 + self.replicas > 0", "integer overflow"),
    ("-(-9223372036854775807 - 1) > 0", "integer overflow"),
    ("uint(self.replicas) - 5u > 0u", "unsigned integer overflow"),
    ("0.0 / 0.0 < self.ratio", "NaN values cannot be ordered"),
    ("int(self.name) == 1", "type conversion error from 'string' to 'int'"),
    ("duration(self.name) == self.ttl", "type conversion error from 'string' to 'google.protobuf.Duration'"),
    ("timestamp('9999-12-31T23:59:59Z') + self.ttl > self.since", "timestamp overflow"),
    ("self.since.getHours(self.name) == 1", "unknown time zone ray-head"),
    ("self.target + 1 == 2", "no such overload"),
    ("self.target.size() > 0 && self.target > 3", "no such overload"),
    ("dyn(self.replicas).all(x, true)", "got 'types.Int', expected iterable type"),
    ("self.name.substring(20) == ''", "index out of range: 20"),
    ("self.name.substring(3, 1) == ''", "invalid substring range. start: 3, end: 1"),
    ("self.name.matches(self.name + '(')", "error parsing regexp: missing closing ): `ray-head(`"),
    ("quantity(self.name).isInteger()", "quantities must match the regular expression"),
    ("ip(self.name).family() == 4", 'IP Address "ray-head" parse error during conversion from string'),
    ("cidr(self.name).prefixLength() == 4", "netip.ParsePrefix(\"ray-head\"): no '/'"),
    ("url(self.name).getHost() == ''", 'parse "ray-head": invalid URI for request'),
    ("semver(self.name).major() == 1", "No Major.Minor.Patch elements found"),
    ("self.numbers.filter(x, x > 5).min() == 1", "min called on empty list"),
    ("self.?missing.value() == ''", "optional.none() dereference"),
    ("[1, 1].transformMapEntry(i, v, {v: i}).size() == 2", "insert failed: key 1 already exists"),
    ("self.aliases.all(x, x.size() > 0)", "no such overload"),
]


@pytest.mark.parametrize(("text", "message"), FAILURES, ids=str)
def test_an_expression_may_have_no_value_for_the_data(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate_head(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["int('abc') == 1", "'a'.find('(') == ''", "uint(-1) == 1u"])
def test_what_fails_without_any_data_fails_when_the_rule_is_compiled(text: str) -> None:
    with pytest.raises(EvaluationError):
        compile_for(text, CLUSTER)


def test_an_error_counts_only_if_nothing_else_decides() -> None:
    assert evaluate_head("self.missing == 'x' || self.replicas == 3") is True
    assert evaluate_head("self.missing == 'x' && self.replicas == 4") is False
    assert evaluate("self.all(x, 10 / x > 3)", [0, 5], {"type": "array", "items": {"type": "integer"}}) is False
    with pytest.raises(EvaluationError, match="division by zero"):
        evaluate("self.all(x, 10 / x > 1)", [0, 5], {"type": "array", "items": {"type": "integer"}})
