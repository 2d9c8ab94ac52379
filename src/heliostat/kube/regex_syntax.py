"""Regular expressions as Go (and RE2) reads them: from the pattern to a tree.

What cannot be matched in linear time does not exist: no back references, no looking around. Groups only group, because
nobody asks what they caught. Repeat counts are limited, and so is nesting.
"""

import re
from typing import NoReturn, TypeAlias

from msgspec import Struct

from heliostat.kube.regex_classes import (
    ANY,
    ANY_BUT_NEWLINE,
    CharacterClass,
    ascii_class,
    perl_class,
    unicode_class,
)

MAX_REPEAT = 1000
MAX_DEPTH = 100
_COUNT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_GROUP = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|([A-Za-z]))")
_HEX = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,8})\})")
_OCTAL = re.compile(r"\\([1-7][0-7]{1,2}|0[0-7]{0,2})")
_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_ASSERTIONS = {"A": "text start", "z": "text end", "b": "word boundary", "B": "no word boundary"}


class One(Struct, frozen=True):
    kind: CharacterClass


class Assertion(Struct, frozen=True):
    kind: str


class Sequence(Struct, frozen=True):
    parts: "tuple[Regex, ...]"


class Choice(Struct, frozen=True):
    options: "tuple[Regex, ...]"


class Repeat(Struct, frozen=True):
    part: "Regex"
    least: int
    most: int | None
    is_greedy: bool


Regex: TypeAlias = One | Assertion | Sequence | Choice | Repeat


class RegexError(ValueError):
    """The pattern is not a regular expression; the text is Go's."""

    def __init__(self, problem: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{where}`")


def parse_regex(pattern: str) -> Regex:
    """Raises ``RegexError``."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags = frozenset[str]()
        self._depth = 0

    def parse(self) -> Regex:
        tree = self._choice()
        if self._at < len(self._text):
            self._fail("unexpected )", self._text)
        return tree

    def _choice(self) -> Regex:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail("expression nests too deeply", self._text)
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Regex:
        parts: list[Regex] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            start = self._at
            if self._text[start] in "*+?" or (self._text[start] == "{" and _COUNT.match(self._text, start)):
                self._fail("missing argument to repetition operator", self._text[start])
            atoms = self._atoms()
            if atoms:
                *parts_before, last = atoms
                parts += [*parts_before, self._repeated(last)]
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Regex) -> Regex:
        start = self._at
        bounds = self._bounds()
        if bounds is None:
            return part
        is_greedy = not self._take("?")
        repeat = Repeat(part, *bounds, is_greedy=is_greedy != ("U" in self._flags))
        if self._bounds() is not None:
            self._take("?")
            self._fail("invalid nested repetition operator", self._text[start : self._at])
        return repeat

    def _bounds(self) -> tuple[int, int | None] | None:
        """What ``*``, ``+``, ``?`` or ``{n,m}`` here allows; None without one."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        found = _COUNT.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        least = int(found[1][:6])
        most = least if not found[2] else int(found[3][:6]) if found[3] else None
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            self._fail("invalid repeat count", found[0])
        return least, most

    def _atoms(self) -> list[Regex]:
        """Usually one; a quoted text is many, a change of flags none."""
        sign = self._text[self._at]
        if sign == "(":
            return self._group()
        if sign == "[":
            return [One(self._class())]
        if sign == "\\":
            return self._escape()
        self._at += 1
        if sign == ".":
            return [One(ANY if "s" in self._flags else ANY_BUT_NEWLINE)]
        if sign == "^":
            return [Assertion("line start" if "m" in self._flags else "text start")]
        if sign == "$":
            return [Assertion("line end" if "m" in self._flags else "text end")]
        return [self._literal(sign)]

    def _literal(self, character: str) -> Regex:
        return One(CharacterClass(((character, character),), folds_case="i" in self._flags))

    def _group(self) -> list[Regex]:
        start, outer = self._at, self._flags
        if self._text.startswith("(?", start):
            named, flags = _GROUP.match(self._text, start), _FLAGS.match(self._text, start)
            if flags is not None and (flags[1] or flags[2] or flags[3] == ":"):
                self._flags = (self._flags | set(flags[1])) - set(flags[2] or "")
                self._at = flags.end()
                if flags[3] == ")":
                    return []
            elif named is not None:
                self._at = named.end()
            else:
                self._fail("invalid or unsupported Perl syntax", self._text[start : start + 3])
        else:
            self._at += 1
        tree = self._choice()
        if not self._take(")"):
            self._fail("missing closing )", self._text)
        self._flags = outer
        return [tree]

    def _escape(self) -> list[Regex]:
        rest = self._text[self._at + 1 : self._at + 2]
        if not rest:
            self._fail("trailing backslash at end of expression", "")
        if rest == "Q":
            quoted, _, _ = self._text[self._at + 2 :].partition("\\E")
            self._at += 2 + len(quoted) + (2 if self._text.startswith("\\E", self._at + 2 + len(quoted)) else 0)
            return [self._literal(character) for character in quoted]
        if rest in _ASSERTIONS:
            self._at += 2
            return [Assertion(_ASSERTIONS[rest])]
        kind = self._escaped_class()
        if kind is not None:
            return [One(kind)]
        return [self._literal(self._escaped_character())]

    def _escaped_class(self) -> CharacterClass | None:
        """``\\d`` and ``\\pL``; None for other escapes."""
        found = _PROPERTY.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            is_negated = (found[1] == "P") != bool(found[2])
            kind = unicode_class(found[3] or found[4], is_negated=is_negated, folds_case="i" in self._flags)
            return kind or self._fail("invalid character class range", found[0])
        kind = perl_class(self._text[self._at + 1 : self._at + 2])
        self._at += 2 if kind is not None else 0
        return kind

    def _escaped_character(self) -> str:
        found = _HEX.match(self._text, self._at) or _OCTAL.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            code = int(found[1], 8) if found.re is _OCTAL else int(found[1] or found[2], 16)
            return chr(code) if code <= 0x10FFFF else self._fail("invalid escape sequence", found[0])
        character = self._text[self._at + 1]
        if character not in _ESCAPES and (character.isalnum() or ord(character) > 0x7F):
            self._fail("invalid escape sequence", self._text[self._at : self._at + 2])
        self._at += 2
        return _ESCAPES.get(character, character)

    def _class(self) -> CharacterClass:
        start = self._at
        self._at += 1
        is_negated = self._take("^")
        ranges: list[tuple[str, str]] = []
        members: list[CharacterClass] = []
        is_first = True
        while is_first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                self._fail("missing closing ]", self._text[start:])
            is_first = False
            member = self._class_member()
            if member is not None:
                members.append(member)
            else:
                ranges.append(self._range())
        self._at += 1
        return CharacterClass(tuple(ranges), tuple(members), is_negated=is_negated, folds_case="i" in self._flags)

    def _class_member(self) -> CharacterClass | None:
        found = _POSIX.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            kind = ascii_class(found[2], is_negated=bool(found[1]))
            return kind or self._fail("invalid character class range", found[0])
        return self._escaped_class() if self._text.startswith("\\", self._at) else None

    def _range(self) -> tuple[str, str]:
        start = self._at
        low = self._class_character()
        if not self._text.startswith("-", self._at) or self._text.startswith("-]", self._at):
            return low, low
        self._at += 1
        if self._at >= len(self._text):
            self._fail("missing closing ]", self._text[start:])
        if self._text.startswith("\\", self._at) and perl_class(self._text[self._at + 1 : self._at + 2]) is not None:
            self._fail("invalid character class range", self._text[start : self._at + 2])
        high = self._class_character()
        if high < low:
            self._fail("invalid character class range", self._text[start : self._at])
        return low, high

    def _class_character(self) -> str:
        if self._text.startswith("\\", self._at):
            if self._at + 1 == len(self._text):
                self._fail("trailing backslash at end of expression", "")
            return self._escaped_character()
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, sign: str) -> bool:
        if not self._text.startswith(sign, self._at):
            return False
        self._at += 1
        return True

    def _fail(self, problem: str, where: str) -> NoReturn:
        raise RegexError(problem, where)
