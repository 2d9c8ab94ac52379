"""Field selectors, as ``kubectl --field-selector`` takes them: ``metadata.name=x,status.phase!=Running``.

Rules: every term must hold; a field that is absent reads as the empty text; ``\\\\``, ``\\,`` and ``\\=`` stand for the
character itself. Which fields a kind can be selected by is the server's to say.
"""

import re
from typing import Any

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.selectors import SelectorError

_TERM = re.compile(r"((?:[^\\,]|\\.?)*)(?:,|$)", re.DOTALL)
_PARTS = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPED = ("\\", ",", "=")
_EXAMPLE = "write terms such as metadata.name=x or status.phase!=Running with commas between them"


class FieldTerm(Struct, frozen=True):
    field: str
    is_equal: bool
    value: str

    def matches(self, tree: JsonObject) -> bool:
        return (field_text(tree, self.field) == self.value) == self.is_equal

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{'=' if self.is_equal else '!='}{escaped}"


class FieldSelector(Struct, frozen=True):
    """Terms sorted by field."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, tree: JsonObject) -> bool:
        return all(term.matches(tree) for term in self.terms)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


def parse_field_selector(text: str) -> FieldSelector:
    """Raises ``SelectorError``. Empty text matches everything."""
    terms = [_parse_term(term, text) for term in sorted(_TERM.findall(text)) if term]
    return FieldSelector(tuple(sorted(terms, key=lambda term: term.field)))


def _parse_term(text: str, whole: str) -> FieldTerm:
    found = _PARTS.fullmatch(text)
    if found is None:
        words = f"invalid selector: '{whole}'; can't understand '{text}'"
        raise SelectorError(f"{text!r} is not a field selector", _EXAMPLE, server_words=words)
    if "=" in _ESCAPE.sub("", found[3]):
        words = "invalid field selector: unescaped character in value: 61"  # the character, as a number
        raise SelectorError(f"{text!r} has a second '='", r"write \= for the character itself", server_words=words)
    return FieldTerm(found[1], found[2] != "!=", _ESCAPE.sub(_unescape, found[3]))


def _unescape(found: re.Match[str]) -> str:
    if found[1] not in _ESCAPED:
        words = f"invalid field selector: invalid escape sequence: {found[0]}"
        problem = f"{found[0]!r} is not an escape in a field selector"
        raise SelectorError(problem, r"write \\, \, or \=", server_words=words)
    return found[1]


def field_text(tree: JsonObject, field: str) -> str:
    """The text of a dotted field; empty when it is absent or no scalar."""
    value: Any = tree
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ""
