"""The page that Prometheus scrapes from a running operator: KubeRay's series, and nothing left of what is gone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.processes.http_api import HttpApi
from embedded.processes.running import SHORT_LEASE, ServerProcess, wait_until
from heliostat.api.crds import all_crds
from heliostat.kube.documents import read_documents
from operator_process import OperatorProcess
from runtime.exposition import Family, parse

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "raycluster.yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"

# Names and labels as dashboards made for KubeRay ask for them.
KNOWN = {
    "kuberay_cluster_info": ("name", "namespace", "uid", "owner_kind"),
    "kuberay_cluster_condition_provisioned": ("name", "namespace", "uid", "condition"),
    "kuberay_cluster_provisioned_duration_seconds": ("name", "namespace", "uid"),
    "controller_runtime_active_workers": ("controller",),
    "controller_runtime_max_concurrent_reconciles": ("controller",),
    "controller_runtime_reconcile_errors_total": ("controller",),
    "controller_runtime_reconcile_panics_total": ("controller",),
    "controller_runtime_reconcile_timeouts_total": ("controller",),
    "controller_runtime_terminal_reconcile_errors_total": ("controller",),
    "controller_runtime_reconcile_time_seconds": ("controller",),
    "controller_runtime_reconcile_total": ("controller", "result"),
    "workqueue_adds_total": ("name", "controller"),
    "workqueue_depth": ("name", "controller"),
    "workqueue_longest_running_processor_seconds": ("name", "controller"),
    "workqueue_queue_duration_seconds": ("name", "controller"),
    "workqueue_retries_total": ("name", "controller"),
    "workqueue_unfinished_work_seconds": ("name", "controller"),
    "workqueue_work_duration_seconds": ("name", "controller"),
    "rest_client_rate_limiter_duration_seconds": ("verb", "host"),
    "rest_client_request_duration_seconds": ("verb", "host"),
    "rest_client_request_size_bytes": ("verb", "host"),
    "rest_client_requests_total": ("code", "method", "host"),
    "rest_client_response_size_bytes": ("verb", "host"),
    "leader_election_master_status": ("name",),
    "process_cpu_seconds_total": (),
    "process_open_fds": (),
    "process_resident_memory_bytes": (),
    "process_start_time_seconds": (),
}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[HttpApi]:
    """A whole Kubernetes with our kinds."""
    flags = ("--memory", "--controllers", "--simulated-nodes=3")
    with ServerProcess(tmp_path, *flags) as server, HttpApi(server.kubeconfig) as api:
        for tree in all_crds(slim=True):
            api.post(CRDS, tree)
        yield api


def scrape(operator: OperatorProcess) -> dict[str, Family]:
    status, text = operator.ask("/metrics", "metrics")
    assert status == 200, text
    return parse(text)


def values_of(family: Family, label: str) -> set[str]:
    return {dict(sample.labels)[label] for sample in family.samples}


def create_provisioned(api: HttpApi, operator: OperatorProcess, name: str) -> dict[str, Any]:
    tree = read_documents(EXAMPLE.read_bytes())[0].tree
    made: dict[str, Any] = api.post(CLUSTERS, {**tree, "metadata": {"name": name}})
    provisioned = "kuberay_cluster_condition_provisioned"
    wait_until(lambda: "true" in values_of(scrape(operator)[provisioned], "condition"), operator.told)
    return made


def test_a_cluster_has_its_series_until_it_is_gone(api: HttpApi, tmp_path: Path) -> None:
    flags = (*SHORT_LEASE, "--enable-metrics")
    with OperatorProcess(tmp_path, tmp_path / "kubeconfig", *flags) as operator:
        wait_until(lambda: "kuberay_cluster_info" in scrape(operator), operator.told)
        uid = create_provisioned(api, operator, "hello")["metadata"]["uid"]
        families = scrape(operator)
        (info,) = families["kuberay_cluster_info"].samples
        assert dict(info.labels) == {"name": "hello", "namespace": "default", "uid": uid, "owner_kind": "None"}
        (duration,) = families["kuberay_cluster_provisioned_duration_seconds"].samples
        assert 0 <= duration.value < 60
        assert {name: families[name].labels for name in KNOWN} == {name: {labels} for name, labels in KNOWN.items()}
        assert values_of(families["workqueue_depth"], "controller") >= {"raycluster"}
        api.delete(f"{CLUSTERS}/hello")
        wait_until(lambda: not scrape(operator)["kuberay_cluster_info"].samples, operator.told)
        assert not [name for name, family in scrape(operator).items() if uid in str(family.samples)]


def test_a_process_that_finds_a_provisioned_cluster_tells_no_duration(api: HttpApi, tmp_path: Path) -> None:
    flags = (*SHORT_LEASE, "--enable-metrics")
    with OperatorProcess(tmp_path, tmp_path / "kubeconfig", *flags) as first:
        wait_until(lambda: "kuberay_cluster_info" in scrape(first), first.told)
        create_provisioned(api, first, "hello")
        assert first.stop() == 0
    with OperatorProcess(tmp_path, tmp_path / "kubeconfig", *flags, name="second") as second:
        wait_until(
            lambda: "kuberay_cluster_info" in (page := scrape(second)) and bool(page["kuberay_cluster_info"].samples),
            second.told,
        )
        assert scrape(second)["kuberay_cluster_provisioned_duration_seconds"].samples == ()


def test_without_the_flag_there_is_no_series_for_each_cluster(api: HttpApi, tmp_path: Path) -> None:
    with OperatorProcess(tmp_path, tmp_path / "kubeconfig", *SHORT_LEASE) as operator:
        wait_until(lambda: "workqueue_depth" in scrape(operator), operator.told)
        tree = read_documents(EXAMPLE.read_bytes())[0].tree
        api.post(CLUSTERS, {**tree, "metadata": {"name": "hello"}})
        wait_until(lambda: api.get(f"{CLUSTERS}/hello").get("status", {}).get("state") == "ready", operator.told)
        assert not [name for name in scrape(operator) if name.startswith("kuberay_")]
