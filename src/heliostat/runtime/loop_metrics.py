"""What the loop tells Prometheus. Names that controller-runtime's users know are kept; the others begin with heliostat.

It hears the loop as an ``Observer`` and through the hooks of client, queue and executor, and decides nothing.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from heliostat.kube.objects import Key
from heliostat.kube.plan import Action, Plan
from heliostat.runtime.client import Exchange
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.metrics import Readings, Registry

_SHORT = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_LONG = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1000.0)


class QueueReading(Struct, frozen=True):
    """A queue of keys as it is now."""

    controller: str
    depth: int
    adds: int
    retries: int


class WatchReading(Struct, frozen=True):
    """A watch and its cache as they are now."""

    kind: str
    objects: int
    received_bytes: int
    idle_seconds: float
    restarts: int
    silences: int


class LoopMetrics:
    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.queue_wait = registry.histogram(
            "workqueue_queue_duration_seconds", "How long a key waited for its turn.", "name", buckets=_LONG
        )
        self.reconcile_time = registry.histogram(
            "controller_runtime_reconcile_time_seconds", "How long one look at a key took.", "controller"
        )
        self.reconciles = registry.counter(
            "controller_runtime_reconcile_total", "Looks at keys, by how they ended.", "controller", "result"
        )
        self.failures = registry.counter(
            "controller_runtime_reconcile_errors_total", "Failed writes and plans, by error.", "controller", "error"
        )
        self.writes = registry.counter(
            "heliostat_writes_total",
            "Actions of plans, by what they do, why, and result.",
            "action",
            "because",
            "result",
        )
        self.calls = registry.counter(
            "rest_client_requests_total", "Requests to the API server.", "method", "resource", "code"
        )
        self.call_time = registry.histogram(
            "rest_client_request_duration_seconds", "How long requests took.", "method", "resource"
        )
        self.call_wait = registry.histogram(
            "heliostat_request_wait_seconds", "How long requests waited for a turn on our side.", "method"
        )
        self.events = registry.counter(
            "heliostat_events_total", "Events about objects, by what became of them.", "result"
        )
        self.loop_lag = registry.histogram(
            "heliostat_loop_lag_seconds", "How late the event loop woke up.", buckets=_SHORT
        )
        self.lease_losses = registry.counter("heliostat_lease_lost_total", "Times that leadership was lost.", "name")

    # the loop's Observer

    def reconciled(self, controller: str, _key: Key, result: str, seconds: float) -> None:
        self.reconciles.inc(controller, result)
        self.reconcile_time.observe(seconds, controller)

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        """Nothing to count: what a plan holds is counted when it is written."""

    def failed(self, controller: str, _key: Key, error: Exception) -> None:
        self.failures.inc(controller, type(error).__name__)

    # hooks

    def written(self, action: Action, error: Exception | None) -> None:
        result = "success" if error is None else type(error).__name__
        self.writes.inc(type(action).__name__.lower(), action.because, result)

    def exchanged(self, exchange: Exchange) -> None:
        self.calls.inc(exchange.verb, exchange.resource, exchange.outcome)
        self.call_time.observe(exchange.seconds, exchange.verb, exchange.resource)
        self.call_wait.observe(exchange.waited, exchange.verb)

    def waited(self, controller: str) -> Callable[[float], None]:
        """For the queue of this controller."""
        return lambda seconds: self.queue_wait.observe(seconds, controller)

    def told(self, result: str) -> None:
        self.events.inc(result)

    def read_queues(self, read: Callable[[], Iterable[QueueReading]]) -> None:
        """``read`` is called by whichever thread serves the metrics."""
        registry = self.registry
        registry.read_gauge(
            "workqueue_depth",
            "Keys whose turn could be now.",
            "name",
            read=lambda: {(q.controller,): q.depth for q in read()},
        )
        registry.read_counter(
            "workqueue_adds_total", "Keys added.", "name", read=lambda: {(q.controller,): q.adds for q in read()}
        )
        registry.read_counter(
            "workqueue_retries_total",
            "Keys that failed.",
            "name",
            read=lambda: {(q.controller,): q.retries for q in read()},
        )

    def read_lease(self, name: str, fence: LeaseFence) -> None:
        registry = self.registry
        registry.read_gauge(
            "leader_election_master_status",
            "1 while this process leads.",
            "name",
            read=lambda: {(name,): float(fence.is_open)},
        )
        registry.read_gauge(
            "heliostat_lease_seconds_left",
            "Until the lease is in doubt unless it is renewed.",
            "name",
            read=lambda: {(name,): fence.seconds_left},
        )

    def read_watches(self, read: Callable[[], Iterable[WatchReading]]) -> None:
        """``read`` is called by whichever thread serves the metrics."""
        for field, (name, about) in _WATCH_GAUGES.items():
            self.registry.read_gauge(name, about, "resource", read=_reader(read, field))
        for field, (name, about) in _WATCH_COUNTERS.items():
            self.registry.read_counter(name, about, "resource", read=_reader(read, field))


_WATCH_GAUGES = {
    "objects": ("heliostat_cache_objects", "Objects in the cache."),
    "idle_seconds": ("heliostat_watch_idle_seconds", "Since the watch last made progress."),
}
_WATCH_COUNTERS = {
    "received_bytes": ("heliostat_watch_received_bytes_total", "Bytes that lists and watches brought."),
    "restarts": ("heliostat_watch_restarts_total", "Times that a watch had to begin again after a failure."),
    "silences": ("heliostat_watch_silences_total", "Watches given up because they were deaf."),
}


def _reader(read: Callable[[], Iterable[WatchReading]], field: str) -> Readings:
    return lambda: {(watch.kind,): float(getattr(watch, field)) for watch in read()}
