"""What the loop tells Prometheus. Names and labels that controller-runtime's users know are kept; the others begin with
heliostat.

It hears the loop as an ``Observer`` and through the hooks of client, queue and executor, and decides nothing. How a
reconcile ended is told twice: in controller-runtime's four words, and in our own.
"""

from collections.abc import Callable
from typing import Final

from heliostat.kube.objects import Key
from heliostat.kube.plan import Action, Plan
from heliostat.runtime.client import Exchange
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.metrics import Registry
from heliostat.runtime.request_metrics import IN_PROCESS, RequestMetrics

SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER = "success", "error", "requeue", "requeue_after"
RESULTS: Final = {
    "gone": SUCCESS,
    "written": SUCCESS,
    "quiet": SUCCESS,
    "confirmed": REQUEUE,
    "outdated": REQUEUE,
    "continued": REQUEUE,
    "waits": REQUEUE,
    "stale": REQUEUE_AFTER,
    "unsettled": REQUEUE_AFTER,
    "failed": ERROR,
    "unavailable": ERROR,
    "bug": ERROR,
}

# controller-runtime's limits, so that a query for one of them finds it; ours are finer where theirs begin.
_LOOK_SECONDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025,
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0,
    40.0, 50.0, 60.0,
)  # fmt: skip
_QUEUE_SECONDS = (1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 100.0, 300.0, 1000.0)
_LAG_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


def label_of(controller: str) -> str:
    """What events call raycluster-controller, metrics call raycluster: controller-runtime's names are short."""
    return controller.removesuffix("-controller")


class LoopMetrics:
    """``host`` is the API server's, as a label of the requests to it."""

    def __init__(self, registry: Registry, host: str = IN_PROCESS) -> None:
        self.registry = registry
        self.requests = RequestMetrics(registry, host)
        self._to_wake: set[tuple[str, Key]] = set()  # looks under way whose plan asks for another at a given time
        self._declare_looks(registry)
        self._declare_ours(registry)

    def _declare_looks(self, registry: Registry) -> None:
        self.reconciles = registry.counter(
            "controller_runtime_reconcile_total", "Looks at keys, by how they ended.", "controller", "result"
        )
        self.errors = registry.counter(
            "controller_runtime_reconcile_errors_total", "Looks that ended in an error.", "controller"
        )
        self.bugs = registry.counter(
            "controller_runtime_reconcile_panics_total", "Looks that ended by a bug of ours.", "controller"
        )
        self.timeouts = registry.counter(
            "controller_runtime_reconcile_timeouts_total", "Looks given up for their time; here none is.", "controller"
        )
        self.terminal_errors = registry.counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Looks whose error is not tried again; here every one is.",
            "controller",
        )
        self.reconcile_time = registry.histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long one look at a key took.",
            "controller",
            buckets=_LOOK_SECONDS,
        )
        self.work_time = registry.histogram(
            "workqueue_work_duration_seconds",
            "How long a key was in hand.",
            "name",
            "controller",
            buckets=_QUEUE_SECONDS,
        )
        self.queue_wait = registry.histogram(
            "workqueue_queue_duration_seconds",
            "How long a key waited for its turn.",
            "name",
            "controller",
            buckets=_QUEUE_SECONDS,
        )

    def _declare_ours(self, registry: Registry) -> None:
        self.looks = registry.counter(
            "heliostat_looks_total", "Looks at keys, by what came of them.", "controller", "result"
        )
        self.failures = registry.counter(
            "heliostat_failures_total", "Failed writes and plans, by error.", "controller", "error"
        )
        self.writes = registry.counter(
            "heliostat_writes_total",
            "Actions of plans, by what they do, why, and result.",
            "action",
            "because",
            "result",
        )
        self.events = registry.counter(
            "heliostat_events_total", "Events about objects, by what became of them.", "result"
        )
        self.loop_lag = registry.histogram(
            "heliostat_loop_lag_seconds", "How late the event loop woke up.", buckets=_LAG_SECONDS
        )
        self.slow_renewals = registry.counter(
            "leader_election_slowpath_total", "Renewals of the lease that had to read it first.", "name"
        )
        self.lease_losses = registry.counter("heliostat_lease_lost_total", "Times that leadership was lost.", "name")

    # the loop's Observer

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        word = RESULTS[result]
        look = (controller, key)
        controller = label_of(controller)
        if look in self._to_wake:
            self._to_wake.discard(look)
            word = REQUEUE_AFTER if word == SUCCESS else word
        self.reconciles.inc(controller, word)
        self.looks.inc(controller, result)
        if word == ERROR:
            self.errors.inc(controller)
        if result == "bug":
            self.bugs.inc(controller)
        self.reconcile_time.observe(seconds, controller)
        self.work_time.observe(seconds, controller, controller)

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        """What a plan holds is counted when it is written; only its appointment is noted."""
        if plan.wake_after is not None:
            self._to_wake.add((controller, key))

    def failed(self, controller: str, _key: Key, error: Exception) -> None:
        self.failures.inc(label_of(controller), type(error).__name__)

    # hooks

    def written(self, action: Action, error: Exception | None) -> None:
        result = "success" if error is None else type(error).__name__
        self.writes.inc(type(action).__name__.lower(), action.because, result)

    def exchanged(self, exchange: Exchange) -> None:
        self.requests.exchanged(exchange)

    def waited(self, controller: str) -> Callable[[float], None]:
        """For the queue of this controller, whose counts begin now: a rate needs a point before the first event."""
        controller = label_of(controller)
        for word in (SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER):
            self.reconciles.inc(controller, word, by=0)
        for counter in (self.errors, self.bugs, self.timeouts, self.terminal_errors):
            counter.inc(controller, by=0)
        return lambda seconds: self.queue_wait.observe(seconds, controller, controller)

    def told(self, result: str) -> None:
        self.events.inc(result)

    def lease_exchanged(self, name: str, fence: LeaseFence, exchange: Exchange) -> None:
        """A request about the lease. Who leads writes what it wrote last, and reads only when that did not work."""
        self.requests.exchanged(exchange)
        if exchange.verb == "get" and fence.is_open:
            self.slow_renewals.inc(name)

    def read_lease(self, name: str, fence: LeaseFence) -> None:
        registry = self.registry
        self.slow_renewals.inc(name, by=0)
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
