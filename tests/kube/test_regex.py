"""Regular expressions as Go reads them, in time that grows with the text alone."""

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.cel.evaluation import noise
from heliostat.kube.regex import Pattern, RegexWorkError
from heliostat.kube.regex_syntax import RegexError

# (pattern, text, every part that matches)
MATCHES: list[tuple[str, str, list[str]]] = [
    ("b", "abc", ["b"]),
    ("", "ab", ["", "", ""]),
    ("^b", "abc", []),
    ("c$", "abc", ["c"]),
    ("c$", "abc\n", []),
    ("(?m)^b$", "a\nb\nc", ["b"]),
    (r"\Aa|c\z", "abc", ["a", "c"]),
    ("a.c", "a\nc", []),
    ("(?s)a.c", "a\nc", ["a\nc"]),
    ("(?i)RAY", "xRay", ["Ray"]),
    ("(?i:r)AY", "rAY ray", ["rAY"]),
    ("(?i)k", "\u212a", ["\u212a"]),
    ("a|ab", "ab", ["a"]),
    ("ab|a", "ab", ["ab"]),
    ("a+?", "aaa", ["a", "a", "a"]),
    ("a+", "aaa", ["aaa"]),
    ("(?U)a+", "aaa", ["a", "a", "a"]),
    ("a{2}", "aaaaa", ["aa", "aa"]),
    ("a{2,}", "aaaaa", ["aaaaa"]),
    ("a{1,2}?", "aa", ["a", "a"]),
    ("a{,2}", "a{,2}", ["a{,2}"]),
    ("(ab)*", "ababx", ["abab", ""]),
    ("x?", "aXx", ["", "", "x"]),
    ("[a-c]+", "xabcx", ["abc"]),
    ("[^a-c]+", "xabcx", ["x", "x"]),
    ("[]a]+", "]a[", ["]a"]),
    ("[a-]+", "a-b", ["a-"]),
    (r"[\d_.]+", "v1_2.x", ["1_2."]),
    (r"\d+\s\w+", "1 a2", ["1 a2"]),
    (r"\D\S\W", "a1!", ["a1!"]),
    ("[[:alpha:]]+[[:^digit:]]", "ab!1", ["ab!"]),
    (r"\pL+\p{Nd}", "äö1", ["äö1"]),
    (r"\p{Greek}+", "abγδ", ["γδ"]),
    (r"\P{L}", "a1", ["1"]),
    (r"\bray\b", "ray xray", ["ray"]),
    (r"\Bay", "ray ay", ["ay"]),
    (r"\x41\x{e9}\101\t", "AéA\t", ["AéA\t"]),
    (r"\Qa.b*\E", "a.b* aXb", ["a.b*"]),
    (r"\.\-\/", ".-/", [".-/"]),
    ("(?P<year>[0-9]{4})-(?<month>[0-9]{2})", "2024-05", ["2024-05"]),
    ("(?:a|b)c", "bc", ["bc"]),
]

ERRORS: list[tuple[str, str]] = [
    ("(", "missing closing ): `(`"),
    (")", "unexpected ): `)`"),
    ("[a", "missing closing ]: `[a`"),
    ("*", "missing argument to repetition operator: `*`"),
    ("a**", "invalid nested repetition operator: `**`"),
    ("a{2,1}", "invalid repeat count: `{2,1}`"),
    ("a{1001}", "invalid repeat count: `{1001}`"),
    ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ("(?<!a)", "invalid or unsupported Perl syntax: `(?<`"),
    (r"(a)\1", r"invalid escape sequence: `\1`"),
    (r"\Z", r"invalid escape sequence: `\Z`"),
    ("[z-a]", "invalid character class range: `z-a`"),
    (r"[a-\d]", r"invalid character class range: `a-\d`"),
    ("[[:odd:]]", "invalid character class range: `[:odd:]`"),
    (r"\p{Odd}", r"invalid character class range: `\p{Odd}`"),
    ("a\\", "trailing backslash at end of expression: ``"),
    ("(a{1000}){1000}", "expression too large: `(a{1000}){1000}`"),
    ("(" * 200 + ")" * 200, "expression nests too deeply"),
]


@pytest.mark.parametrize(("pattern", "text", "parts"), MATCHES, ids=str)
def test_a_pattern_finds_what_go_finds(pattern: str, text: str, parts: list[str]) -> None:
    compiled = Pattern(pattern)
    assert list(compiled.find_all(text, -1)) == parts
    assert compiled.is_found_in(text) is bool(parts)


@pytest.mark.parametrize(("pattern", "message"), ERRORS, ids=lambda row: row[:30])
def test_a_pattern_that_go_does_not_read_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(RegexError) as caught:
        Pattern(pattern)
    assert message in str(caught.value)


def test_the_number_of_matches_can_be_limited() -> None:
    assert list(Pattern("a").find_all("aaa", 2)) == ["a", "a"]
    assert list(Pattern("a").find_all("aaa", 0)) == []


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*$", "([a-z]+)*=", "^(a?){40}a{40}$", "(x+x+)+y"])
def test_patterns_that_ruin_others_take_no_time(pattern: str) -> None:
    start = perf_counter()
    Pattern(pattern).is_found_in("a" * 50_000 + "!")
    assert perf_counter() - start < 5


def test_work_beyond_the_limit_is_refused() -> None:
    with pytest.raises(RegexWorkError):
        Pattern("(a|b)*a(a|b){25}c").is_found_in(noise(100_000))


pieces = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", "(a)", "(a|b)", "(?:ab|c)", "^", "$", r"\b", "c", "-"])
repeats = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{1,2}"])
patterns = st.lists(st.tuples(pieces, repeats), max_size=6).map(
    lambda parts: "".join(piece + ("" if piece in ("^", "$", r"\b") else repeat) for piece, repeat in parts)
)


@given(patterns, st.text("abc-", max_size=12))
def test_where_both_dialects_agree_so_do_the_answers(pattern: str, text: str) -> None:
    found = Pattern(pattern).is_found_in(text)
    assert found is (re.search(pattern, text) is not None)


@given(st.text("ab(|)[]*+?{}1,\\dw^$.-:P<>i=", max_size=14), st.text("ab1-", max_size=8))
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    try:
        compiled = Pattern(pattern)
    except RegexError:
        return
    parts = list(compiled.find_all(text, -1))
    assert all(part in text for part in parts)
    assert compiled.is_found_in(text) is bool(parts)
