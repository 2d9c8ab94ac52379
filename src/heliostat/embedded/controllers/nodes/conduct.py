"""What a Pod asks of its simulated life: the annotation ``heliostat.dev/simulate``, words with or without a value.

``succeed-after=5s``, ``fail-after=90s, exit-code=3``, ``stay-pending``, … separated by commas; durations have a unit
(ms, s, m, h). Which word does what stands in the table of stages.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from heliostat.kube.counts import read_count

ANNOTATION = "heliostat.dev/simulate"
EXIT_CODE = "exit-code"
DURATIONS = (
    "start-after",
    "ready-after",
    "succeed-after",
    "fail-after",
    "evict-after",
    "terminate-after",
)
FLAGS = ("stay-pending", "never-ready", "stuck-terminating")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class ConductError(ValueError):
    """What is wrong with the annotation, and how to write it."""


class Conduct(Struct, frozen=True):
    """The words of the annotation; a flag has the value 0."""

    words: Mapping[str, float] = {}

    def asks(self, word: str) -> bool:
        return word in self.words

    def value(self, word: str, default: float = 0.0) -> float:
        return self.words.get(word, default)


PLAIN = Conduct()


def read_conduct(annotations: Mapping[str, str]) -> Conduct:
    text = annotations.get(ANNOTATION, "")
    if not text.strip():
        return PLAIN
    return Conduct(dict(_read_word(part.strip()) for part in text.split(",")))


def _read_word(part: str) -> tuple[str, float]:
    word, has_value, value = part.partition("=")
    if word in DURATIONS:
        return word, _read_duration(word, value)
    if word in FLAGS and not has_value:
        return word, 0.0
    code = read_count(value) if word == EXIT_CODE else None
    if code is not None and code <= 255:
        return word, float(code)
    raise ConductError(_explain(part, word))


def _read_duration(word: str, value: str) -> float:
    found = _DURATION.fullmatch(value)
    if found is None:
        raise ConductError(f"{ANNOTATION}: {word}={value} is not a duration; write it like {word}=5s")
    return float(found[1]) * _SECONDS[found[2]]


def _explain(part: str, word: str) -> str:
    if word in FLAGS:
        return f"{ANNOTATION}: {word} takes no value; write {word} alone"
    if word == EXIT_CODE:
        return f"{ANNOTATION}: {part} is not an exit code; write a number from 0 to 255, like {EXIT_CODE}=1"
    known = ", ".join([*(f"{name}=5s" for name in DURATIONS), f"{EXIT_CODE}=1", *FLAGS])
    return f"{ANNOTATION}: {part!r} is not known; use some of {known}"
