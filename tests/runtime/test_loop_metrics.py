"""What the loop counts, under the names and labels that dashboards of controller-runtime ask for."""

import asyncio

import pytest

from heliostat.kube.objects import Key
from heliostat.kube.plan import Create, Plan
from heliostat.runtime.client import Client, Exchange
from heliostat.runtime.errors import ConflictError, NotFoundError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Registry
from heliostat.testing.faults import Drop, Fault
from heliostat.testing.virtual_time import run_virtual
from runtime.exposition import parse, samples
from runtime.small_server import CONFIG_MAP, small_server

KEY = Key("default", "a")


def counted(metrics: LoopMetrics) -> dict[str, float]:
    """Every series that is not zero."""
    parse(metrics.registry.render())
    return {name: value for name, value in samples(metrics.registry.render()).items() if value}


@pytest.mark.parametrize(
    ("result", "wake_after", "word"),
    [
        ("gone", None, "success"),
        ("quiet", None, "success"),
        ("written", None, "success"),
        ("written", 30.0, "requeue_after"),
        ("quiet", 0.5, "requeue_after"),
        ("stale", None, "requeue_after"),
        ("outdated", 30.0, "requeue"),
        ("failed", 30.0, "error"),
        ("unavailable", None, "error"),
        ("bug", None, "error"),
    ],
)
def test_a_look_is_told_in_the_words_of_controller_runtime(result: str, wake_after: float | None, word: str) -> None:
    metrics = LoopMetrics(Registry())
    metrics.planned("raycluster-controller", KEY, Plan(wake_after=wake_after))
    metrics.reconciled("raycluster-controller", KEY, result, 0.02)
    told = counted(metrics)
    assert told[f'controller_runtime_reconcile_total{{controller="raycluster",result="{word}"}}'] == 1
    assert told[f'heliostat_looks_total{{controller="raycluster",result="{result}"}}'] == 1
    assert told.get('controller_runtime_reconcile_errors_total{controller="raycluster"}', 0) == (word == "error")
    assert told.get('controller_runtime_reconcile_panics_total{controller="raycluster"}', 0) == (result == "bug")
    assert told['controller_runtime_reconcile_time_seconds_sum{controller="raycluster"}'] == 0.02
    assert told['workqueue_work_duration_seconds_count{name="raycluster",controller="raycluster"}'] == 1


def test_an_appointment_counts_for_the_look_that_made_it_and_no_other() -> None:
    metrics = LoopMetrics(Registry())
    metrics.planned("job", KEY, Plan(wake_after=1.0))
    metrics.reconciled("job", Key("default", "b"), "quiet", 0.0)
    metrics.reconciled("other", KEY, "quiet", 0.0)
    metrics.reconciled("job", KEY, "quiet", 0.0)
    metrics.reconciled("job", KEY, "quiet", 0.0)
    assert metrics.reconciles.value("job", "requeue_after") == 1
    assert metrics.reconciles.value("job", "success") == 2


def test_a_controller_that_has_done_nothing_yet_has_series_at_zero() -> None:
    metrics = LoopMetrics(Registry())
    metrics.waited("job")
    told = samples(metrics.registry.render())
    for word in ("success", "error", "requeue", "requeue_after"):
        assert told[f'controller_runtime_reconcile_total{{controller="job",result="{word}"}}'] == 0
    for name in ("reconcile_errors", "reconcile_panics", "reconcile_timeouts", "terminal_reconcile_errors"):
        assert told[f'controller_runtime_{name}_total{{controller="job"}}'] == 0


def test_waits_failures_writes_events_and_the_lease_are_counted() -> None:
    metrics = LoopMetrics(Registry())
    conflict = ConflictError(409, "Conflict", "changed")
    action = Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, because="missing")
    metrics.waited("job")(0.2)
    metrics.failed("job", KEY, conflict)
    metrics.written(action, None)
    metrics.written(action, conflict)
    metrics.told("created")
    fence = LeaseFence(lambda: 100.0)
    fence.open(107.0)
    metrics.read_lease("operator", fence)
    metrics.lease_losses.inc("operator")
    told = counted(metrics)
    for series, value in {
        'workqueue_queue_duration_seconds_sum{name="job",controller="job"}': 0.2,
        'heliostat_failures_total{controller="job",error="ConflictError"}': 1,
        'heliostat_writes_total{action="create",because="missing",result="success"}': 1,
        'heliostat_writes_total{action="create",because="missing",result="ConflictError"}': 1,
        'heliostat_events_total{result="created"}': 1,
        'leader_election_master_status{name="operator"}': 1,
        'heliostat_lease_seconds_left{name="operator"}': 7,
        'heliostat_lease_lost_total{name="operator"}': 1,
    }.items():
        assert told[series] == value, series


def test_requests_are_told_as_client_go_does() -> None:
    metrics = LoopMetrics(Registry(), "api.example:6443")

    async def work() -> None:
        async with small_server() as server:
            clock = asyncio.get_running_loop().time
            client = Client(server.transport, clock=clock, observe=metrics.exchanged)
            tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
            await client.create(CONFIG_MAP, tree)
            server.faults.add(Fault(Drop(), method="GET"))
            await client.get(CONFIG_MAP, "default", "a")
            with pytest.raises(NotFoundError):
                await client.get(CONFIG_MAP, "default", "none")
            await (await client.open_watch(CONFIG_MAP, timeout_seconds=60)).aclose()

    run_virtual(work())
    told = counted(metrics)
    for series, value in {
        'rest_client_requests_total{code="201",method="POST",host="api.example:6443"}': 1,
        'rest_client_requests_total{code="<error>",method="GET",host="api.example:6443"}': 1,
        'rest_client_requests_total{code="200",method="GET",host="api.example:6443"}': 2,
        'rest_client_requests_total{code="404",method="GET",host="api.example:6443"}': 1,
        'rest_client_request_retries_total{code="200",verb="GET",host="api.example:6443"}': 1,
        'rest_client_request_duration_seconds_count{verb="GET",host="api.example:6443"}': 3,
        'rest_client_rate_limiter_duration_seconds_count{verb="GET",host="api.example:6443"}': 4,
        'rest_client_request_size_bytes_count{verb="POST",host="api.example:6443"}': 1,
        'rest_client_response_size_bytes_count{verb="GET",host="api.example:6443"}': 2,
        'heliostat_requests_total{verb="get",resource="configmaps",code="AmbiguousError"}': 1,
        'heliostat_requests_total{verb="watch",resource="configmaps",code="200"}': 1,
    }.items():
        assert told[series] == value, series
    assert told['rest_client_request_size_bytes_sum{verb="POST",host="api.example:6443"}'] > 60
    assert told['rest_client_response_size_bytes_sum{verb="GET",host="api.example:6443"}'] > 200


def test_a_leader_that_has_to_read_its_lease_is_on_the_slow_path() -> None:
    metrics, fence = LoopMetrics(Registry()), LeaseFence(lambda: 100.0)
    metrics.read_lease("operator", fence)
    series = 'leader_election_slowpath_total{name="operator"}'
    reading = Exchange("get", "leases.coordination.k8s.io", "200", 0.0, 0.0)
    metrics.lease_exchanged("operator", fence, reading)
    assert samples(metrics.registry.render())[series] == 0, "a stand-by reads all the time"
    fence.open(107.0)
    metrics.lease_exchanged("operator", fence, Exchange("update", "leases.coordination.k8s.io", "409", 0.0, 0.0, "PUT"))
    metrics.lease_exchanged("operator", fence, reading)
    assert samples(metrics.registry.render())[series] == 1
    assert counted(metrics)['rest_client_requests_total{code="200",method="GET",host="in-process"}'] == 2


def test_what_got_no_turn_is_no_request_and_has_waited() -> None:
    metrics = LoopMetrics(Registry(), "server:6443")
    metrics.exchanged(Exchange("get", "pods", "NoTurn", 0.0, 4.0))
    told = counted(metrics)
    assert told['heliostat_requests_total{verb="get",resource="pods",code="NoTurn"}'] == 1
    assert told['rest_client_rate_limiter_duration_seconds_sum{verb="GET",host="server:6443"}'] == 4
    assert not any(name.startswith(("rest_client_requests_total", "rest_client_request_duration")) for name in told)


def test_look_ups_of_names_are_told_by_host() -> None:
    metrics = LoopMetrics(Registry(), "server:6443")
    metrics.requests.resolved("server", 0.02)
    told = counted(metrics)
    assert told['rest_client_dns_resolution_duration_seconds_sum{host="server"}'] == 0.02


def test_a_write_that_the_fence_held_back_is_no_request() -> None:
    metrics = LoopMetrics(Registry())
    metrics.exchanged(Exchange("create", "pods", "FencedError", 0.0, 0.0, "POST"))
    assert counted(metrics) == {'heliostat_requests_total{verb="create",resource="pods",code="FencedError"}': 1}
