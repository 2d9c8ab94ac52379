"""Prometheus' text format 0.0.4, read as strictly as a scraper may: anything doubtful is an AssertionError."""

import math
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct

LabelSet: TypeAlias = tuple[tuple[str, str], ...]
_HELP = re.compile(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\\n]|\\\\|\\n)*)")
_TYPE = re.compile(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)")
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,(?=.)|$)')
_ESCAPED = re.compile(r"\\(.)")
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}


class Sample(Struct, frozen=True):
    name: str
    labels: LabelSet  # in the order of the text
    value: float

    def without(self, label: str) -> LabelSet:
        return tuple(pair for pair in self.labels if pair[0] != label)


class Family(Struct, frozen=True):
    name: str
    type: str
    about: str
    samples: tuple[Sample, ...]

    @property
    def labels(self) -> set[tuple[str, ...]]:
        """The names of labels that its samples have."""
        return {tuple(name for name, _ in sample.without("le")) for sample in self.samples}


def parse(text: str) -> dict[str, Family]:
    assert text.endswith("\n"), "the last line must end"
    lines = text[:-1].split("\n")
    families: dict[str, Family] = {}
    while lines:
        family = _take_family(lines)
        assert family.name not in families, f"{family.name} comes twice"
        families[family.name] = family
    return families


def samples(text: str) -> dict[str, float]:
    """Every line that is a sample, as it is written, with its value."""
    return {line.rpartition(" ")[0]: _number(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


def _take_family(lines: list[str]) -> Family:
    about, kind = _HELP.fullmatch(lines.pop(0)), _TYPE.fullmatch(lines.pop(0))
    assert about is not None
    assert kind is not None
    assert about[1] == kind[1], f"{about[1]} has no type"
    found: list[Sample] = []
    while lines and not lines[0].startswith("#"):
        found.append(_read_sample(lines.pop(0)))
    family = Family(kind[1], kind[2], about[2], tuple(found))
    _check(family)
    return family


def _read_sample(line: str) -> Sample:
    match = _SAMPLE.fullmatch(line)
    assert match is not None, line
    labels = tuple(_read_labels(match[2] or ""))
    assert len({name for name, _ in labels}) == len(labels), line
    return Sample(match[1], labels, _number(match[3]))


def _read_labels(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _LABEL.match(text, place)
        assert match is not None, text[place:]
        yield match[1], _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], match[2])
        place = match.end()


def _number(text: str) -> float:
    assert re.fullmatch(r"[+-]Inf|NaN|-?\d+(\.\d+)?(e[+-]?\d+)?", text) is not None, text
    return float(text)


def _check(family: Family) -> None:
    names = {family.name + suffix for suffix in _SUFFIXES.get(family.type, ("",))}
    assert {sample.name for sample in family.samples} <= names, f"{family.name} has samples of another name"
    series = [(sample.name, frozenset(sample.labels)) for sample in family.samples]
    assert len(set(series)) == len(series), f"{family.name} has a series twice"
    assert len(family.labels) <= 1, f"the series of {family.name} have different labels"
    if family.type == "counter":
        assert all(sample.value >= 0 for sample in family.samples)
    if family.type == "histogram":
        for _labels, group in groupby(family.samples, key=lambda sample: sample.without("le")):
            _check_histogram(family.name, list(group))


def _check_histogram(name: str, group: list[Sample]) -> None:
    *buckets, total, count = group
    assert (total.name, count.name) == (f"{name}_sum", f"{name}_count")
    limits = [_number(dict(bucket.labels)["le"]) for bucket in buckets]
    assert limits == sorted(set(limits))
    assert limits[-1] == math.inf
    counts = [bucket.value for bucket in buckets]
    assert counts == sorted(counts), f"{name} has fewer below a higher limit"
    assert counts[-1] == count.value
