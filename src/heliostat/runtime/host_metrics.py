"""Queues, workers, watches and caches of a host as they are at the moment of a scrape.

Rules: whichever thread serves the metrics asks, so everything is copied before it is looked at; watches that differ
only in what they keep of their objects have one series, because its label is what is watched. It counts nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from heliostat.runtime.cache_weight import estimate_bytes
from heliostat.runtime.controller import Controller
from heliostat.runtime.host import Host
from heliostat.runtime.loop_metrics import label_of
from heliostat.runtime.metrics import Readings, Registry
from heliostat.runtime.reflector import Reflector

Fold: TypeAlias = Callable[[Iterable[float]], float]


class OfControllers(Struct, frozen=True):
    """``labels`` all have the controller's name: its users know queues by two of them."""

    name: str
    type: str
    about: str
    labels: tuple[str, ...]
    read: Callable[[Controller, float], float]  # at this moment of the loop's clock


class OfWatches(Struct, frozen=True):
    name: str
    type: str
    about: str
    read: Callable[[Reflector[Any], float], float]
    fold: Fold = sum


QUEUE: Final = ("name", "controller")
WORKER: Final = ("controller",)


def declare_host_metrics(registry: Registry, host: Host, clock: Callable[[], float]) -> None:
    """``clock`` is the loop's."""
    for row in _OF_CONTROLLERS:
        _declare(registry, row.type, row.name, row.about, row.labels, _reader_of_controllers(row, host, clock))
    for line in _OF_WATCHES:
        _declare(registry, line.type, line.name, line.about, ("resource",), _reader_of_watches(line, host, clock))


def _declare(
    registry: Registry, type_: str, name: str, about: str, labels: tuple[str, ...], readings: Readings
) -> None:
    declare = registry.read_gauge if type_ == "gauge" else registry.read_counter
    declare(name, about, *labels, read=readings)


def _reader_of_controllers(row: OfControllers, host: Host, clock: Callable[[], float]) -> Readings:
    def readings() -> dict[tuple[str, ...], float]:
        now = clock()
        return {
            (label_of(each.reconciler.name),) * len(row.labels): row.read(each, now) for each in tuple(host.controllers)
        }

    return readings


def _reader_of_watches(row: OfWatches, host: Host, clock: Callable[[], float]) -> Readings:
    def readings() -> dict[tuple[str, ...], float]:
        now = clock()
        found: dict[tuple[str, ...], list[float]] = {}
        for reflector in host.reflectors():
            found.setdefault((str(reflector.cache.kind),), []).append(row.read(reflector, now))
        return {labels: row.fold(values) for labels, values in found.items()}

    return readings


def _seconds_in_hand(controller: Controller, now: float, fold: Fold) -> float:
    begun = controller.queue.in_hand_since()
    return fold(max(0.0, now - moment) for moment in begun) if begun else 0.0


_OF_CONTROLLERS: Final = (
    OfControllers("workqueue_depth", "gauge", "Keys whose turn could be now.", QUEUE, lambda each, _: len(each.queue)),
    OfControllers("workqueue_adds_total", "counter", "Keys added.", QUEUE, lambda each, _: each.queue.adds),
    OfControllers(
        "workqueue_retries_total",
        "counter",
        "Keys put back after a failure.",
        QUEUE,
        lambda each, _: each.queue.retries,
    ),
    OfControllers(
        "workqueue_unfinished_work_seconds",
        "gauge",
        "How long the keys in hand have been worked on, added up.",
        QUEUE,
        lambda each, now: _seconds_in_hand(each, now, sum),
    ),
    OfControllers(
        "workqueue_longest_running_processor_seconds",
        "gauge",
        "How long the key that is longest in hand has been worked on.",
        QUEUE,
        lambda each, now: _seconds_in_hand(each, now, max),
    ),
    OfControllers(
        "controller_runtime_active_workers",
        "gauge",
        "Keys that are being worked on.",
        WORKER,
        lambda each, _: len(each.queue.in_hand_since()),
    ),
    OfControllers(
        "controller_runtime_max_concurrent_reconciles",
        "gauge",
        "Keys that may be worked on at the same time.",
        WORKER,
        lambda each, _: each.workers,
    ),
)

_OF_WATCHES: Final = (
    OfWatches("heliostat_cache_objects", "gauge", "Objects in the cache.", lambda each, _: len(each.cache)),
    OfWatches(
        "heliostat_cache_bytes",
        "gauge",
        "Memory that the cache takes, estimated from some of its objects.",
        lambda each, _: estimate_bytes(each.cache),
    ),
    OfWatches(
        "heliostat_watch_idle_seconds",
        "gauge",
        "Since the watch last made progress.",
        lambda each, now: each.idle_seconds(now),
        max,
    ),
    OfWatches(
        "heliostat_watch_received_bytes_total",
        "counter",
        "Bytes that lists and watches brought.",
        lambda each, _: each.received_bytes,
    ),
    OfWatches(
        "heliostat_watch_restarts_total",
        "counter",
        "Times that a watch had to begin again after a failure.",
        lambda each, _: each.restarts,
    ),
    OfWatches(
        "heliostat_watch_silences_total",
        "counter",
        "Watches given up because they were deaf.",
        lambda each, _: each.silences,
    ),
    OfWatches(
        "heliostat_watch_misfits_total",
        "counter",
        "Objects that could not be read and were left out.",
        lambda each, _: each.misfits,
    ),
)
