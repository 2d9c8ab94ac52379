"""The registry and its text, as Prometheus reads it."""

import math
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.runtime import metrics
from heliostat.runtime.metrics import Description, MetricError, Registry
from runtime.exposition import parse


def test_text_of_every_type() -> None:
    registry = Registry()
    writes = registry.counter("writes_total", "Writes.", "kind", "result")
    writes.inc("Pod", "success", by=2)
    writes.inc("Pod", "conflict")
    registry.counter("plain_total", "Without labels.")
    time = registry.histogram("time_seconds", "Time.", "verb", buckets=(0.1, 1, 2.5))
    for seconds in (0.05, 0.1, 0.5, 3):
        time.observe(seconds, "get")
    registry.read_gauge("objects", "Objects.", "kind", read=lambda: {("pods",): 7})
    assert registry.render() == (
        "# HELP writes_total Writes.\n"
        "# TYPE writes_total counter\n"
        'writes_total{kind="Pod",result="success"} 2\n'
        'writes_total{kind="Pod",result="conflict"} 1\n'
        "# HELP plain_total Without labels.\n"
        "# TYPE plain_total counter\n"
        "plain_total 0\n"
        "# HELP time_seconds Time.\n"
        "# TYPE time_seconds histogram\n"
        'time_seconds_bucket{verb="get",le="0.1"} 2\n'
        'time_seconds_bucket{verb="get",le="1"} 3\n'
        'time_seconds_bucket{verb="get",le="2.5"} 3\n'
        'time_seconds_bucket{verb="get",le="+Inf"} 4\n'
        'time_seconds_sum{verb="get"} 3.65\n'
        'time_seconds_count{verb="get"} 4\n'
        "# HELP objects Objects.\n"
        "# TYPE objects gauge\n"
        'objects{kind="pods"} 7\n'
    )


def test_text_is_escaped() -> None:
    registry = Registry()
    registry.counter("a_total", "Back\\slash and\nnew line", "x").inc('q"uo\\te\nü')
    assert registry.render().splitlines() == [
        r"# HELP a_total Back\\slash and\nnew line",
        "# TYPE a_total counter",
        r'a_total{x="q\"uo\\te\nü"} 1',
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (1e300, "1e+300"), (5, "5"), (-0.0, "0")],
)
def test_numbers(value: float, text: str) -> None:
    registry = Registry()
    registry.read_gauge("g", "G.", read=lambda: {(): value})
    assert registry.render().splitlines()[-1] == f"g {text}"


def test_limits_of_buckets_are_written_as_gos_client_writes_them() -> None:
    registry = Registry()
    registry.histogram("h", "H.", buckets=(1e-6, 0.0001, 0.005, 1.0, 10.0, 262144.0, 2.0**20)).observe(3)
    limits = re.findall('le="(.*)"', registry.render())
    assert limits == ["1e-06", "0.0001", "0.005", "1", "10", "262144", "1.048576e+06", "+Inf"]


def test_wrong_use_says_what_is_wrong() -> None:
    registry = Registry()
    counter = registry.counter("a_total", "A.", "x")
    with pytest.raises(MetricError, match="declared twice"):
        registry.counter("a_total", "Again.")
    with pytest.raises(MetricError, match="cannot be the name of a metric"):
        registry.counter("a-b", "Dash.")
    with pytest.raises(MetricError, match="cannot be the name of a label"):
        registry.counter("b", "B.", "le")
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


def test_metrics_describe_themselves() -> None:
    registry = Registry()
    registry.histogram("time_seconds", "Time.", "verb")
    registry.read_counter("bytes_total", "Bytes.", read=lambda: {(): 1.0})
    assert registry.describe() == [
        Description("time_seconds", "histogram", ("verb",), "Time."),
        Description("bytes_total", "counter", (), "Bytes."),
    ]


@given(
    value=st.floats(),
    labels=st.dictionaries(st.from_regex(r"[a-km-z][a-z0-9_]{0,8}", fullmatch=True), st.text(), max_size=4),
    observed=st.lists(st.floats(0, 100), max_size=9),
)
def test_whatever_is_told_can_be_read_back(value: float, labels: dict[str, str], observed: list[float]) -> None:
    registry = Registry()
    about = "A \\ gauge\nof two lines."
    registry.read_gauge("g", about, *labels, read=lambda: {tuple(labels.values()): value})
    histogram = registry.histogram("h_seconds", "H.", *labels, buckets=(0.5, 10.0))
    for seconds in observed:
        histogram.observe(seconds, *labels.values())
    families = parse(registry.render())
    (sample,) = families["g"].samples
    assert dict(sample.labels) == labels
    assert sample.value == value or math.isnan(value)
    counts = [sample.value for sample in families["h_seconds"].samples if sample.name.endswith("_count")]
    assert counts == ([len(observed)] if observed or not labels else [])
