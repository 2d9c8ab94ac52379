"""``heliostat operator`` as a process: from nothing to a ready RayCluster, probes, leadership, rights, bad calls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.processes.http_api import HttpApi
from embedded.processes.running import SHORT_LEASE, Running, ServerProcess, wait_until
from heliostat.api.crds import all_crds
from heliostat.kube.documents import read_documents
from heliostat.testing import ApiServer, api_server_in_thread
from operator_process import OperatorProcess

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "raycluster.yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/ray-operator-leader"
GIVEN_UP = 'heliostat_looks_total{controller="raycluster",result="outdated"} 1'
ALONE = ("--enable-leader-election=false", "--request-seconds=0.5")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A whole Kubernetes, without our kinds."""
    with ServerProcess(tmp_path, "--memory", "--controllers", "--simulated-nodes=3") as running:
        yield running


@pytest.fixture
def other() -> Iterator[ApiServer]:
    """In this process, where other users than the administrator can be made up."""
    with api_server_in_thread() as running:
        yield running


def install_crds(api: HttpApi) -> None:
    for tree in all_crds(slim=True):
        api.post(CRDS, tree)


def create_example(api: HttpApi, name: str) -> None:
    tree: dict[str, Any] = read_documents(EXAMPLE.read_bytes())[0].tree
    api.post(CLUSTERS, {**tree, "metadata": {"name": name}})


def is_ready(api: HttpApi, name: str) -> bool:
    return bool(api.get(f"{CLUSTERS}/{name}").get("status", {}).get("state") == "ready")


def test_from_an_empty_kubernetes_to_a_ready_cluster(server: ServerProcess, tmp_path: Path) -> None:
    with HttpApi(server.kubeconfig) as api, OperatorProcess(tmp_path, server.kubeconfig, *SHORT_LEASE) as operator:
        operator.wait_answer("/readyz", 500, "heliostat crds | kubectl apply --server-side -f -")
        assert operator.ask("/healthz") == (200, "ok"), "it waits, it is not broken"
        install_crds(api)
        operator.wait_answer("/readyz", 200)
        create_example(api, "hello")
        wait_until(lambda: is_ready(api, "hello"), operator.told)
        assert operator.leads()
        assert api.get(LEASE.format("default"))["spec"]["holderIdentity"] != ""
        assert operator.stop() == 0
        assert api.get(LEASE.format("default"))["spec"]["holderIdentity"] == "", "given back"


def test_each_page_has_its_own_address(server: ServerProcess, tmp_path: Path) -> None:
    with OperatorProcess(tmp_path, server.kubeconfig, *ALONE) as operator:
        operator.wait_answer("/livez", 200)
        assert operator.ask("/metrics")[0] == 404
        status, text = operator.ask("/metrics", "metrics")
        assert (status, "# TYPE rest_client_requests_total counter" in text) == (200, True)
        assert operator.ask("/healthz", "metrics")[0] == 404
        assert operator.stop() == 0


def test_a_metrics_address_of_0_serves_none(server: ServerProcess, tmp_path: Path) -> None:
    with OperatorProcess(tmp_path, server.kubeconfig, *ALONE, "--metrics-addr=0") as operator:
        operator.wait_answer("/livez", 200)
        assert "metrics: " not in operator.told()


def test_an_address_without_a_host_is_loopback_outside_a_cluster(server: ServerProcess, tmp_path: Path) -> None:
    flags = (*ALONE, "--metrics-addr=:0", "--health-probe-bind-address=:0")
    with OperatorProcess(tmp_path, server.kubeconfig, *flags) as operator:
        operator.wait_answer("/livez", 200)
        assert operator.wait_line("metrics: ").startswith("http://127.0.0.1:")
        assert operator.wait_line("health: ").startswith("http://127.0.0.1:")


def test_only_the_named_namespaces_are_looked_at(server: ServerProcess, tmp_path: Path) -> None:
    with HttpApi(server.kubeconfig) as api:
        install_crds(api)
        api.post("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
        create_example(api, "unseen")
        flags = (*SHORT_LEASE, "--watch-namespace= elsewhere ,")
        with OperatorProcess(tmp_path, server.kubeconfig, *flags) as operator:
            tree = read_documents(EXAMPLE.read_bytes())[0].tree
            clusters = CLUSTERS.replace("default", "elsewhere")
            api.post(clusters, {**tree, "metadata": {"name": "seen"}})
            wait_until(lambda: api.get(f"{clusters}/seen").get("status", {}).get("state") == "ready", operator.told)
            assert "status" not in api.get(f"{CLUSTERS}/unseen")
            assert operator.stop() == 0


def test_a_large_cluster_that_nobody_wants_any_more_is_not_built_to_its_end(
    server: ServerProcess, tmp_path: Path
) -> None:
    """500 workers take seconds; the edit is heard while they are being made."""
    with HttpApi(server.kubeconfig) as api:
        install_crds(api)
        with OperatorProcess(tmp_path, server.kubeconfig, *ALONE) as operator:
            tree: dict[str, Any] = read_documents(EXAMPLE.read_bytes())[0].tree
            tree["metadata"] = {"name": "large"}
            tree["spec"]["workerGroupSpecs"][0].update(replicas=500, minReplicas=0, maxReplicas=500)
            api.post(CLUSTERS, tree)
            wait_until(lambda: len(api.list(PODS)) > 60, operator.told)
            tree["spec"]["workerGroupSpecs"][0]["replicas"] = 0
            api.patch(f"{CLUSTERS}/large", {"spec": {"workerGroupSpecs": tree["spec"]["workerGroupSpecs"]}})
            wait_until(lambda: len(api.list(PODS)) == 1, operator.told)
            assert GIVEN_UP in operator.ask("/metrics", "metrics")[1]
            assert operator.stop() == 0


def test_another_leads_when_the_leader_is_killed(server: ServerProcess, tmp_path: Path) -> None:
    with HttpApi(server.kubeconfig) as api:
        install_crds(api)
        with OperatorProcess(tmp_path, server.kubeconfig, *SHORT_LEASE, name="a") as first:
            wait_until(first.leads, first.told)
            with OperatorProcess(tmp_path, server.kubeconfig, *SHORT_LEASE, name="b") as second:
                second.wait_answer("/readyz", 200)
                assert not second.leads()
                first.kill()
                create_example(api, "after")
                wait_until(lambda: is_ready(api, "after"), second.told)
                assert second.leads()
                assert second.stop() == 0


def test_only_the_leader_tells_kuberays_metrics(server: ServerProcess, tmp_path: Path) -> None:
    flags = (*SHORT_LEASE, "--enable-metrics")
    with HttpApi(server.kubeconfig) as api:
        install_crds(api)
        create_example(api, "hello")
        with OperatorProcess(tmp_path, server.kubeconfig, *flags, name="a") as first:
            wait_until(lambda: 'kuberay_cluster_info{name="hello"' in first.ask("/metrics", "metrics")[1], first.told)
            with OperatorProcess(tmp_path, server.kubeconfig, *flags, name="b") as second:
                second.wait_answer("/readyz", 200)
                assert "kuberay_" not in second.ask("/metrics", "metrics")[1]


def test_the_lease_is_in_the_namespace_that_was_told(server: ServerProcess, tmp_path: Path) -> None:
    with HttpApi(server.kubeconfig) as api:
        install_crds(api)
        flags = (*SHORT_LEASE, "--leader-election-namespace=kube-public")
        with OperatorProcess(tmp_path, server.kubeconfig, *flags) as operator:
            wait_until(operator.leads, operator.told)
            assert api.get(LEASE.format("kube-public"))["spec"]["holderIdentity"] != ""


def test_missing_rights_are_told_as_rules_and_waited_for(other: ApiServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "nobody"
    kubeconfig.write_text(other.build_kubeconfig("nobody"))
    rule = "- {apiGroups: [''], resources: [pods, services], verbs: [get, list, watch, create, patch, delete]}"
    with HttpApi(other.kubeconfig) as api, OperatorProcess(tmp_path, kubeconfig, *SHORT_LEASE) as operator:
        install_crds(api)
        operator.wait_answer("/readyz", 500, rule)
        wait_until(lambda: rule in operator.told(), operator.told)  # the log is written beside the probe
        assert operator.exit_code is None
        assert operator.stop() == 0


def test_a_configuration_file_and_a_log_file(server: ServerProcess, tmp_path: Path) -> None:
    config, log = tmp_path / "config.yaml", tmp_path / "operator.log"
    config.write_text(
        "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\nenableLeaderElection: false\nmetricsAddr: '0'\n"
        f"probeAddr: 127.0.0.1:0\nlogFile: {log}\nprobAddr: x\n"
    )
    with OperatorProcess(tmp_path, server.kubeconfig, f"--config={config}", "--request-seconds=0.5") as operator:
        operator.wait_answer("/livez", 200)
        wait_until(lambda: "did you mean probeAddr?" in log.read_text(), operator.told)
        assert "metrics: " not in operator.told()
        assert operator.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--kubeconfig={folder}/none",), 1, "there is no such kubeconfig"),
        (("--kubeconfig={folder}/broken",), 1, "broken"),
        (("--kubeconfig={kubeconfig}", "--context=heliostt"), 1, "there is no context named 'heliostt'"),
        (("--kubeconfig={kubeconfig}", "--lease-seconds=5"), 2, "must be longer than the renew deadline (10 s)"),
        (("--kubeconfig={kubeconfig}", "--request-seconds=0"), 2, "give more than 0"),
        (("--kubeconfig={kubeconfig}", "--metrics-addr=127.0.0.1:{taken}"), 1, "choose another address"),
        (("--kubeconfig={kubeconfig}", "--zap-log-level=loud"), 2, "is not a log level"),
        (("--kubeconfig={kubeconfig}", "--log-file-path={kubeconfig}/log"), 2, "name a file that can be written"),
        (("--kubeconfig={kubeconfig}", "--config={folder}/none"), 2, "No such file or directory"),
        (
            ("--kubeconfig={kubeconfig}", "--config={folder}/wrong"),
            2,
            "enableMetrics must be true or false, got a text",
        ),
        (("--kubeconfig={kubeconfig}", "--config={folder}/unreadable"), 2, "cannot read the configuration"),
        (("--enable-metric",), 2, "did you mean --enable-metrics?"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    other: ApiServer, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "broken").write_text("clusters: 3\n")
    (tmp_path / "wrong").write_text("enableMetrics: 'yes'\n")
    (tmp_path / "unreadable").write_text("a: [\n")
    known = {"folder": tmp_path, "kubeconfig": other.kubeconfig, "taken": other.address.rpartition(":")[2]}
    filled = [argument.format_map(known) for argument in arguments]
    with Running(tmp_path, "operator", "operator", *filled) as process:
        assert process.wait_ended() == code
        assert words in process.told()
        assert "Traceback" not in process.told()
