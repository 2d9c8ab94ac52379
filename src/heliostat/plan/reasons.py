"""What a reason is: a word for machines and, with it, everything that people are told about it.

A plan names a reason for each write (``WhyWritten``) and each wait (``WhyWaiting``). Each kind lists its own in one
file; the tables in docs/reference are made from them.
"""

from enum import IntEnum, StrEnum
from typing import Self

from msgspec import Struct

from heliostat.kube.plan import Wait

PEOPLE = "people"


class Severity(IntEnum):
    """How much a wait stands in the way."""

    HARMLESS = 1  # what is asked for may run all the same
    FOLLOWS = 2  # only says that something else waits
    WAITS = 3


class WhyWritten(StrEnum):
    sentence: str

    def __new__(cls, word: str, sentence: str) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.sentence = sentence
        return member


class Waiting(Struct, frozen=True, kw_only=True):
    """What there is to say about a wait."""

    meaning: str  # what it is, for a person
    fix: str = ""  # empty where what ends the wait is all there is to say
    verdict: str = ""  # what the whole object is while it waits for this; empty: not ready
    mended_by: str = ""  # who has to act; empty: it ends by itself
    severity: Severity = Severity.WAITS


class WhyWaiting(StrEnum):
    about: Waiting

    def __new__(cls, word: str, about: Waiting) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.about = about
        return member


def waiting(wait: Wait) -> Waiting:
    """What there is to say about this wait; one with a word of its own says it all by itself."""
    return wait.reason.about if isinstance(wait.reason, WhyWaiting) else Waiting(meaning=wait.reason)


def sentence_of(because: str) -> str:
    return because.sentence if isinstance(because, WhyWritten) else because
