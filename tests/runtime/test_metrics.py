"""The registry and its text, as Prometheus reads it."""

import math
import threading

import pytest

from heliostat.kube.objects import Key
from heliostat.kube.plan import Create, Plan
from heliostat.runtime import metrics
from heliostat.runtime.client import Exchange
from heliostat.runtime.errors import ConflictError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.loop_metrics import LoopMetrics, QueueReading, WatchReading
from heliostat.runtime.metrics import MetricError, Registry


def test_text_of_every_type() -> None:
    registry = Registry()
    writes = registry.counter("writes_total", "Writes.", "kind", "result")
    writes.inc("Pod", "success", by=2)
    writes.inc("Pod", "conflict")
    registry.counter("plain_total", "Without labels.")
    depth = registry.gauge("depth", "Depth.", "queue")
    depth.set(3, "a")
    depth.inc("a", by=-1)
    depth.set(9, "gone")
    depth.forget("gone")
    time = registry.histogram("time_seconds", "Time.", "verb", buckets=(0.1, 1, 2.5))
    for seconds in (0.05, 0.1, 0.5, 3):
        time.observe(seconds, "get")
    registry.read_gauge("objects", "Objects.", "kind", read=lambda: {("pods",): 7})
    assert registry.render() == (
        "# HELP writes_total Writes.\n"
        "# TYPE writes_total counter\n"
        'writes_total{kind="Pod",result="success"} 2.0\n'
        'writes_total{kind="Pod",result="conflict"} 1.0\n'
        "# HELP plain_total Without labels.\n"
        "# TYPE plain_total counter\n"
        "plain_total 0.0\n"
        "# HELP depth Depth.\n"
        "# TYPE depth gauge\n"
        'depth{queue="a"} 2.0\n'
        "# HELP time_seconds Time.\n"
        "# TYPE time_seconds histogram\n"
        'time_seconds_bucket{verb="get",le="0.1"} 2.0\n'
        'time_seconds_bucket{verb="get",le="1.0"} 3.0\n'
        'time_seconds_bucket{verb="get",le="2.5"} 3.0\n'
        'time_seconds_bucket{verb="get",le="+Inf"} 4.0\n'
        'time_seconds_sum{verb="get"} 3.65\n'
        'time_seconds_count{verb="get"} 4.0\n'
        "# HELP objects Objects.\n"
        "# TYPE objects gauge\n"
        'objects{kind="pods"} 7.0\n'
    )


def test_text_is_escaped() -> None:
    registry = Registry()
    registry.counter("a_total", "Back\\slash and\nnew line", "x").inc('q"uo\\te\nü')
    assert registry.render().splitlines() == [
        r"# HELP a_total Back\\slash and\nnew line",
        "# TYPE a_total counter",
        r'a_total{x="q\"uo\\te\nü"} 1.0',
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (1e300, "1e+300"), (5, "5.0")]
)
def test_numbers(value: float, text: str) -> None:
    registry = Registry()
    registry.gauge("g", "G.").set(value)
    assert registry.render().splitlines()[-1] == f"g {text}"


def test_wrong_use_says_what_is_wrong() -> None:
    registry = Registry()
    counter = registry.counter("a_total", "A.", "x")
    with pytest.raises(MetricError, match="declared twice"):
        registry.gauge("a_total", "Again.")
    with pytest.raises(MetricError, match="cannot be the name of a metric"):
        registry.gauge("a-b", "Dash.")
    with pytest.raises(MetricError, match="cannot be the name of a label"):
        registry.gauge("b", "B.", "le")
    with pytest.raises(MetricError, match="has the labels"):
        counter.inc("one", "two")
    with pytest.raises(MetricError, match="only counts upwards"):
        counter.inc("x", by=-1)
    with pytest.raises(MetricError, match="must rise"):
        registry.histogram("h", "H.", buckets=(1.0, 0.5))


def test_too_many_series_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_SERIES", 3)
    counter = Registry().counter("a_total", "A.", "name")
    for number in range(10):
        counter.inc(f"object-{number}")
    counter.inc("object-0")
    assert (counter.value("object-0"), counter.value("object-2"), counter.value("other")) == (2.0, 1.0, 7.0)


def test_threads_lose_no_count() -> None:
    registry = Registry()
    counter, histogram = registry.counter("a_total", "A."), registry.histogram("h", "H.", "x")

    def work() -> None:
        for _ in range(2000):
            counter.inc()
            histogram.observe(0.1, "y")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    registry.render()
    for thread in threads:
        thread.join()
    assert (counter.value(), histogram.count("y")) == (8000, 8000)


def test_what_the_loop_tells() -> None:
    loop = LoopMetrics(Registry())
    key = Key("default", "a")
    loop.reconciled("job", key, "written", 0.02)
    loop.planned("job", key, Plan())
    loop.failed("job", key, ConflictError(409, "Conflict", "changed"))
    action = Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, because="missing")
    loop.written(action, None)
    loop.written(action, ConflictError(409, "Conflict", "changed"))
    loop.exchanged(Exchange("get", "pods", "200", 0.004, 0.0))
    loop.waited("job")(0.2)
    loop.told("created")
    loop.read_queues(lambda: [QueueReading("job", depth=4, adds=10, retries=1)])
    loop.read_watches(lambda: [WatchReading("pods", 12, 4096, 1.5, restarts=2, silences=1)])
    fence = LeaseFence(lambda: 100.0)
    fence.open(107.0)
    loop.read_lease("operator", fence)
    loop.lease_losses.inc("operator")
    text = loop.registry.render()
    for line in (
        'controller_runtime_reconcile_total{controller="job",result="written"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="job",error="ConflictError"} 1.0',
        'controller_runtime_reconcile_time_seconds_count{controller="job"} 1.0',
        'heliostat_writes_total{action="create",because="missing",result="success"} 1.0',
        'heliostat_writes_total{action="create",because="missing",result="ConflictError"} 1.0',
        'rest_client_requests_total{method="get",resource="pods",code="200"} 1.0',
        'rest_client_request_duration_seconds_sum{method="get",resource="pods"} 0.004',
        'workqueue_queue_duration_seconds_count{name="job"} 1.0',
        'workqueue_depth{name="job"} 4.0',
        'workqueue_retries_total{name="job"} 1.0',
        'heliostat_cache_objects{resource="pods"} 12.0',
        'heliostat_watch_idle_seconds{resource="pods"} 1.5',
        'heliostat_watch_silences_total{resource="pods"} 1.0',
        'heliostat_events_total{result="created"} 1.0',
        'leader_election_master_status{name="operator"} 1.0',
        'heliostat_lease_seconds_left{name="operator"} 7.0',
        'heliostat_lease_lost_total{name="operator"} 1.0',
    ):
        assert line in text.splitlines()
