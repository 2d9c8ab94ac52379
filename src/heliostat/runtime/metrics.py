"""Counters, gauges and histograms with labels, and their text for Prometheus (exposition format 0.0.4).

Rules: every metric belongs to one registry and is declared once; labels are given in the declared order; any thread
may write and any may read. Label values should come from small sets (controllers, resources, reasons); past
``MOST_SERIES`` of one metric, new combinations are counted together as "other". What has a series for each object is a
``Readout`` of what somebody knows of them, so that an object that is gone leaves none behind. Why not a library:
docs/decisions/0009-metrics.md.
"""

import re
import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from msgspec import Struct

from heliostat.kube.go_text import go_short_float

Labels: TypeAlias = tuple[str, ...]
Readings: TypeAlias = Callable[[], Mapping[Labels, float]]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

MOST_SERIES = 1000
OTHER = "other"

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


class MetricError(ValueError):
    """A metric that is declared or used wrongly: a bug."""


class Description(Struct, frozen=True):
    """What a reader of the documentation wants to know of a metric."""

    name: str
    type: str
    labels: Labels
    about: str


class _Metric(ABC):
    type = "untyped"

    def __init__(self, name: str, about: str, labels: Iterable[str] = ()) -> None:
        self.name = name
        self.labels = tuple(labels)
        self._about = about
        self._changing = threading.Lock()
        for wrong in (text for text in self.labels if _LABEL.fullmatch(text) is None or text == "le"):
            raise MetricError(f"{name}: {wrong!r} cannot be the name of a label")

    def describe(self) -> Description:
        return Description(self.name, self.type, self.labels, self._about)

    def render(self) -> Iterator[str]:
        yield f"# HELP {self.name} {_escape_help(self._about)}\n# TYPE {self.name} {self.type}\n"
        yield from self._render_samples()

    @abstractmethod
    def _render_samples(self) -> Iterator[str]: ...

    def _check(self, values: Labels) -> None:
        if len(values) != len(self.labels):
            raise MetricError(f"{self.name} has the labels {self.labels}, not {len(values)} of them")

    def _admit(self, values: Labels, known: Mapping[Labels, object]) -> Labels:
        """The series to write to, for labels that may be new."""
        self._check(values)
        if values in known:
            return values
        return values if len(known) < MOST_SERIES else (OTHER,) * len(values)


class Counter(_Metric):
    """One number for each combination of labels, that only grows."""

    type = "counter"

    def __init__(self, name: str, about: str, labels: Iterable[str] = ()) -> None:
        super().__init__(name, about, labels)
        self._values: dict[Labels, float] = {} if self.labels else {(): 0.0}

    def value(self, *labels: str) -> float:
        return self._values.get(labels, 0.0)

    def inc(self, *labels: str, by: float = 1.0) -> None:
        if by < 0:
            raise MetricError(f"{self.name} only counts upwards, not by {by}")
        with self._changing:
            if labels in self._values:
                self._values[labels] += by
            else:
                series = self._admit(labels, self._values)
                self._values[series] = self._values.get(series, 0.0) + by

    def _render_samples(self) -> Iterator[str]:
        with self._changing:
            values = list(self._values.items())
        for labels, value in values:
            yield _sample(self.name, zip(self.labels, labels, strict=True), value)


class Readout(_Metric):
    """Numbers that somebody else keeps, read when they are asked for, by whichever thread asks."""

    def __init__(self, name: str, about: str, labels: Iterable[str], read: Readings, type_: str) -> None:
        super().__init__(name, about, labels)
        self._read = read
        self.type = type_

    def _render_samples(self) -> Iterator[str]:
        for labels, value in self._read().items():
            self._check(labels)
            yield _sample(self.name, zip(self.labels, labels, strict=True), value)


class _Observed:
    """One series of a histogram."""

    __slots__ = ("counts", "total")

    def __init__(self, limits: tuple[float, ...]) -> None:
        self.counts = [0] * (len(limits) + 1)
        self.total = 0.0


class Histogram(_Metric):
    type = "histogram"

    def __init__(self, name: str, about: str, labels: Iterable[str] = (), buckets: tuple[float, ...] = SECONDS) -> None:
        super().__init__(name, about, labels)
        if not buckets or sorted(set(buckets)) != list(buckets):
            raise MetricError(f"{name}: the limits of buckets must rise")
        self._limits = buckets
        self._shown_limits = (*map(_number, buckets), "+Inf")
        self._series: dict[Labels, _Observed] = {}
        if not self.labels:
            self._series[()] = _Observed(self._limits)

    def observe(self, value: float, *labels: str) -> None:
        bucket = bisect_left(self._limits, value)
        with self._changing:
            series = self._series.get(labels) or self._begin(labels)
            series.counts[bucket] += 1
            series.total += value

    def count(self, *labels: str) -> int:
        series = self._series.get(labels)
        return sum(series.counts) if series is not None else 0

    def _begin(self, labels: Labels) -> "_Observed":
        return self._series.setdefault(self._admit(labels, self._series), _Observed(self._limits))

    def _render_samples(self) -> Iterator[str]:
        with self._changing:
            samples = [(labels, list(series.counts), series.total) for labels, series in self._series.items()]
        for labels, counts, total in samples:
            pairs = list(zip(self.labels, labels, strict=True))
            below = 0
            for limit, count in zip(self._shown_limits, counts, strict=True):
                below += count
                yield _sample(f"{self.name}_bucket", [*pairs, ("le", limit)], below)
            yield _sample(f"{self.name}_sum", pairs, total)
            yield _sample(f"{self.name}_count", pairs, below)


M = TypeVar("M", bound=_Metric)


class Registry:
    def __init__(self) -> None:
        self._metrics: dict[str, _Metric] = {}

    def counter(self, name: str, about: str, *labels: str) -> Counter:
        return self._add(Counter(name, about, labels))

    def histogram(self, name: str, about: str, *labels: str, buckets: tuple[float, ...] = SECONDS) -> Histogram:
        return self._add(Histogram(name, about, labels, buckets))

    def read_gauge(self, name: str, about: str, *labels: str, read: Readings) -> None:
        self._add(Readout(name, about, labels, read, "gauge"))

    def read_counter(self, name: str, about: str, *labels: str, read: Readings) -> None:
        self._add(Readout(name, about, labels, read, "counter"))

    def describe(self) -> list[Description]:
        return [metric.describe() for metric in self._metrics.values()]

    def render(self) -> str:
        return "".join(line for metric in list(self._metrics.values()) for line in metric.render())

    def _add(self, metric: M) -> M:
        if _NAME.fullmatch(metric.name) is None:
            raise MetricError(f"{metric.name!r} cannot be the name of a metric")
        if metric.name in self._metrics:
            raise MetricError(f"{metric.name} is declared twice")
        self._metrics[metric.name] = metric
        return metric


def _sample(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    inside = ",".join(f'{label}="{_escape_value(text)}"' for label, text in labels)
    return f"{name}{{{inside}}} {_number(value)}\n" if inside else f"{name} {_number(value)}\n"


def _number(value: float) -> str:
    """As Go's clients write it: ``le`` is text to some readers, and "1.0" is not "1"."""
    return go_short_float(float(value)) if value else "0"


def _escape_help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _escape_value(text: str) -> str:
    return _escape_help(text).replace('"', r"\"")
