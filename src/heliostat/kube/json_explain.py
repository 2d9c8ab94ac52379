"""The slow, telling reading of a JSON text: where each value stands, and what exactly is wrong with it.

The fast decoder of ``heliostat.kube.jsontree`` only notices that something is wrong; this walk then finds the first
problem with its path, line and column. The same walk gives the lines of a sound text.
"""

import json
import math
import re
from typing import NoReturn

from heliostat.kube.document_error import DocumentError
from heliostat.kube.places import Children, Place

MAX_DEPTH = 100
MIN_INT = -(2**63)  # what the Kubernetes API can carry: int64, and uint64 above it
MAX_INT = 2**64 - 1

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = ("true", "false", "null")
_NOT_JSON = ("NaN", "Infinity", "-Infinity")
_LONGEST_INT = 20  # digits of 2**64; longer ones need no arithmetic to be refused

_strings = json.JSONDecoder()


class JsonSyntaxError(DocumentError):
    """The text is no JSON at all, as opposed to JSON that we refuse; it may still be YAML."""


def index_json(text: str, start: int, source: str) -> Place:
    """The places of the value that begins at ``start``; raises ``DocumentError`` for the first problem."""
    walk = _Walk(text, source)
    return walk.value(walk.after_space(start))[0]


def explain_json(text: str, source: str) -> None:
    """Raises ``DocumentError`` for the first problem of a text that should hold exactly one value."""
    walk = _Walk(text, source)
    end = walk.after_space(walk.value(walk.after_space(0))[1])
    if end != len(text):
        walk.fail(end, "there is text after the end of the JSON value", "keep one value per text", JsonSyntaxError)


class _Walk:
    """``path`` leads to the value being read; every method takes an offset and returns the one behind what it read."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.path: list[str | int] = []
        self.line = 1
        self.counted = 0  # newlines before this offset are in ``line``

    def after_space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def line_at(self, at: int) -> int:
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line

    def fail(self, at: int, problem: str, fix: str, error: type[DocumentError] = DocumentError) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        raise error(self.source, line, at - self.text.rfind("\n", 0, at), problem, fix, tuple(self.path))

    def fail_expecting(self, what: str, at: int) -> NoReturn:
        problem, fix = f"the text ends where {what} should be", "check whether the file was cut off"
        if at < len(self.text):
            problem = f"{what} should stand here, not {self.text[at]!r}"
            fix = "check commas, quotes and brackets before this place"
        self.fail(at, problem, fix, JsonSyntaxError)

    def value(self, at: int) -> tuple[Place, int]:
        place = Place(self.line_at(at))
        opening = self.text[at : at + 1]
        if opening in ("{", "["):
            if len(self.path) >= MAX_DEPTH:
                self.fail(at, f"nested deeper than {MAX_DEPTH} levels", "flatten the document")
            place.children, end = self.object(at) if opening == "{" else self.array(at)
        elif opening == '"':
            end = self.string(at)[1]
        else:
            end = self.word_or_number(at)
        return place, end

    def object(self, at: int) -> tuple[Children, int]:
        children: Children = {}
        at = self.after_space(at + 1)
        is_done = self.text[at : at + 1] == "}"
        end = at + 1
        while not is_done:
            key, at, line = self.key(at, children)
            self.path.append(key)
            place, at = self.value(at)
            self.path.pop()
            place.line = line
            children[key] = place
            end, is_done = self.separator(at, "}")
            at = end
        return children, end

    def key(self, at: int, known: Children) -> tuple[str, int, int]:
        """A key that is not known yet, the offset of its value, and its line."""
        if self.text[at : at + 1] != '"':
            self.fail_expecting("a key in double quotes", at)
        key, end = self.string(at)
        line = self.line_at(at)
        if key in known:
            self.path.append(key)
            self.fail(at, f'the key "{key}" is given twice, first in line {known[key].line}', "keep one of the two")
        end = self.after_space(end)
        if self.text[end : end + 1] != ":":
            self.fail_expecting('":" after the key', end)
        return key, self.after_space(end + 1), line

    def array(self, at: int) -> tuple[Children, int]:
        children: Children = {}
        at = self.after_space(at + 1)
        is_done = self.text[at : at + 1] == "]"
        end = at + 1
        while not is_done:
            self.path.append(len(children))
            children[len(children)], at = self.value(at)
            self.path.pop()
            end, is_done = self.separator(at, "]")
            at = end
        return children, end

    def separator(self, at: int, closing: str) -> tuple[int, bool]:
        """Behind the comma, or behind the closing bracket and True."""
        at = self.after_space(at)
        found = self.text[at : at + 1]
        if found == closing:
            return at + 1, True
        if found != ",":
            self.fail_expecting(f'"," or "{closing}"', at)
        return self.after_space(at + 1), False

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _strings.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            problem = f"the string is broken ({error.msg.lower()})"
            self.fail(error.pos, problem, "close or escape it", JsonSyntaxError)
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            fix = "write both halves of the pair, or the character itself"
            self.fail(at, "the string holds half of a surrogate pair, which is no character", fix)
        return text, end

    def word_or_number(self, at: int) -> int:
        if (found := _NUMBER.match(self.text, at)) is not None:
            self.check_number(at, found[0], is_float=bool(found[1] or found[2]))
            return found.end()
        if self.text.startswith(_NOT_JSON, at):
            self.fail(at, "NaN and Infinity are no JSON numbers", "write a finite number or null")
        word = next((word for word in _WORDS if self.text.startswith(word, at)), None)
        if word is None:
            self.fail_expecting("a value", at)
        return at + len(word)

    def check_number(self, at: int, text: str, *, is_float: bool) -> None:
        if is_float:
            if not math.isfinite(float(text)):
                self.fail(at, f"the number {_short(text)} is too large", "stay below 1.8e308")
        elif len(text) > _LONGEST_INT or not MIN_INT <= int(text) <= MAX_INT:
            fix = f"stay within {MIN_INT} and {MAX_INT}, or write it as a string"
            self.fail(at, f"the integer {_short(text)} does not fit into 64 bits", fix)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
