"""Character classes of regular expressions: ranges, Unicode categories and scripts, case folding.

Whether a character belongs to a class is decided when a text brings the character up, so no class is ever enumerated.
"""

import unicodedata

from msgspec import Struct

_ASCII = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZaz__",
    "xdigit": "09AFaf",
}
_PERL = {"d": "09", "s": "\t\n\f\r  ", "w": "09AZaz__"}
_CATEGORY_LETTERS = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset(major + minor for major, minors in _CATEGORY_LETTERS.items() for minor in ("", *minors))
_SCRIPTS = {  # by how the names of their characters begin
    "Arabic": "ARABIC ",
    "Armenian": "ARMENIAN ",
    "Bengali": "BENGALI ",
    "Cyrillic": "CYRILLIC ",
    "Devanagari": "DEVANAGARI ",
    "Georgian": "GEORGIAN ",
    "Greek": "GREEK ",
    "Han": "CJK UNIFIED IDEOGRAPH",
    "Hangul": "HANGUL ",
    "Hebrew": "HEBREW ",
    "Hiragana": "HIRAGANA ",
    "Katakana": "KATAKANA ",
    "Latin": "LATIN ",
    "Tamil": "TAMIL ",
    "Thai": "THAI ",
}


class CharacterClass(Struct, frozen=True):
    """What one position of a text may be."""

    ranges: tuple[tuple[str, str], ...] = ()
    members: "tuple[CharacterClass, ...]" = ()
    properties: tuple[str, ...] = ()  # names of categories and scripts
    is_negated: bool = False
    folds_case: bool = False

    def has(self, character: str) -> bool:
        if self._holds(character):
            return not self.is_negated
        if self.folds_case:
            variants = {character.lower(), character.upper(), character.casefold()} - {character}
            if any(len(variant) == 1 and self._holds(variant) for variant in variants):
                return not self.is_negated
        return self.is_negated

    def _holds(self, character: str) -> bool:
        return (
            any(low <= character <= high for low, high in self.ranges)
            or any(member.has(character) for member in self.members)
            or any(_has_property(character, name) for name in self.properties)
        )


ANY = CharacterClass(is_negated=True)
ANY_BUT_NEWLINE = CharacterClass((("\n", "\n"),), is_negated=True)


def ascii_class(name: str, *, is_negated: bool = False) -> CharacterClass | None:
    """``[:name:]``"""
    return CharacterClass(_pairs(_ASCII[name]), is_negated=is_negated) if name in _ASCII else None


def perl_class(letter: str) -> CharacterClass | None:
    """``\\d``, ``\\S`` and so on."""
    lower = letter.lower()
    return CharacterClass(_pairs(_PERL[lower]), is_negated=letter != lower) if lower in _PERL else None


def unicode_class(name: str, *, is_negated: bool, folds_case: bool) -> CharacterClass | None:
    """``\\pL``, ``\\p{Greek}``; None for a property that is not known."""
    if name == "Any":
        return CharacterClass(is_negated=not is_negated)
    known = name in _CATEGORIES or name in _SCRIPTS
    return CharacterClass((), (), (name,), is_negated, folds_case) if known else None


def _has_property(character: str, name: str) -> bool:
    if name in _CATEGORIES:
        return unicodedata.category(character).startswith(name)
    return unicodedata.name(character, "").startswith(_SCRIPTS[name])


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(zip(text[::2], text[1::2], strict=True))
