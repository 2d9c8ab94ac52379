"""The text form of label selectors, as ``kubectl -l`` takes it: ``a=b,c in (x,y),d notin (z),e,!f,g>1``."""

import re
from typing import NoReturn

from heliostat.kube.selectors import Requirement, Selector, SelectorError, build_requirement, build_selector

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)\s*")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "<", ">", "(", ")", ","))
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", ">": "gt", "<": "lt"}
_WITHIN = "unable to parse requirement: "
_EXPECTED: dict[tuple[str, ...], str] = {
    (",",): "found '{}', expected: ',' or 'end of string'",  # between two requirements
    ("(",): f"{_WITHIN}found '{{}}' expected: '('",
}
_OPERATOR_EXPECTED = f"{_WITHIN}found '{{}}', expected: in, notin, =, ==, !=, gt, lt"
_EXAMPLE = "write requirements such as a=b, a!=b, a in (b,c), a notin (b), a or !a with commas between them"


def parse_selector(text: str) -> Selector:
    """Raises ``SelectorError``. Empty text matches everything."""
    tokens = _TOKEN.findall(text)
    return build_selector(_Reader(text, tokens).requirements() if tokens else [])


class _Reader:
    def __init__(self, text: str, tokens: list[str]) -> None:
        self.text = text
        self.rest = tokens[::-1]

    def peek(self) -> str:
        return self.rest[-1] if self.rest else ""

    def take(self) -> str:
        return self.rest.pop() if self.rest else ""

    def expect(self, *wanted: str) -> str:
        found = self.take()
        if found not in wanted:
            listed = " or ".join(f"'{symbol}'" for symbol in wanted)
            self.fail(found, listed, _EXPECTED.get(wanted) or f"{_WITHIN}found '{{}}', expected: {listed}")
        return found

    def fail(self, found: str, wanted: str, words: str) -> NoReturn:
        """``words``: how kube-apiserver says it, with a place for what was found."""
        server_words = words.format(found)
        here = f"'{found}'" if found else "the end"
        problem = f"the selector {self.text!r} has {here} where {wanted} should be"
        raise SelectorError(problem, _EXAMPLE, server_words=server_words)

    def requirements(self) -> list[Requirement]:
        requirements = [self.requirement("found '{}', expected: !, identifier, or 'end of string'")]
        while self.rest:
            self.expect(",")
            requirements.append(self.requirement("found '{}', expected: identifier after ','"))
        return requirements

    def requirement(self, words: str) -> Requirement:
        if self.peek() == "!":
            self.take()
            return build_requirement(self.word("a key"), "!", [])
        key = self.word("a key", words)
        following = self.peek()
        if following in ("", ","):
            return build_requirement(key, "exists", [])
        if following in ("in", "notin"):
            return build_requirement(key, self.take(), self.values())
        if following not in _COMPARISONS:
            self.fail(following, "'=', '!=', 'in', 'notin', '<' or '>'", _OPERATOR_EXPECTED)
        operator = _COMPARISONS[self.take()]
        return build_requirement(key, operator, [self.value()])

    def word(self, what: str, words: str = "") -> str:
        found = self.take()
        if found in _SYMBOLS or not found:
            self.fail(found, what, words or f"{_WITHIN}found '{{}}', expected: identifier")
        return found

    def value(self) -> str:
        """A value may be empty: ``a=`` and ``a=,b``."""
        return "" if self.peek() in ("", ",") else self.word("a value")

    def values(self) -> list[str]:
        """``(x,y)``; an empty place is the empty value."""
        self.expect("(")
        values, following = [], ","
        while following == ",":
            values.append("" if self.peek() in (",", ")") else self.word("a value"))
            following = self.expect(",", ")")
        return values
