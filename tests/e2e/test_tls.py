"""Clusters whose parts speak TLS with each other, with certificates that a stand-in for cert-manager issues.

Two clusters: one that scales itself, with two groups, and one without TLS beside it.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from e2e.cert_manager import cert_manager, install_kinds
from e2e.clusters import RealCluster, build_group, needs_real_ray
from e2e.local_machine import LocalMachine, local_machine, wait_for
from e2e.scaling import V2, build_autoscaling

pytestmark = needs_real_ray

FILES = {"tls.crt", "tls.key", "ca.crt"}
VARIABLES = {
    "RAY_USE_TLS": "1",
    "RAY_TLS_SERVER_CERT": "/etc/ray/tls/tls.crt",
    "RAY_TLS_SERVER_KEY": "/etc/ray/tls/tls.key",
    "RAY_TLS_CA_CERT": "/etc/ray/tls/ca.crt",
}

_ASK_BOTH = """
import ray
ray.init(log_to_driver=False)
class Guest:
    def where(self):
        return ray.util.get_node_ip_address()
guests = [ray.remote(num_cpus=1)(Guest).remote() for _ in range(2)]  # each fills a worker
print("ran on", len(set(ray.get([guest.where.remote() for guest in guests]))), "hosts")
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    """The operator looks for cert-manager when it starts, so it starts once more."""
    with local_machine(tmp_path_factory.mktemp("tls") / "state") as started:
        assert started.heliostat("up", "--feature-gates=RayClusterMTLS=true").returncode == 0
        install_kinds(started)
        started.kill("operator")
        with cert_manager(started):
            yield started


@pytest.fixture(scope="module")
def cluster(machine: LocalMachine) -> RealCluster:
    groups = [build_group(name, minReplicas=1) for name in ("some", "others")]
    made = RealCluster(machine, build_autoscaling("sealed", V2, groups, tlsOptions={"enabled": True}))
    made.wait_until_ready()
    made.wait_for_workers(2)
    return made


def test_certificates_are_kept_in_three_secrets(cluster: RealCluster) -> None:
    names = secret_names(cluster)
    assert names <= tls_secrets(cluster.machine).keys()
    assert all(tls_secrets(cluster.machine)[name] >= FILES for name in names)


def test_every_part_of_ray_is_told_to_use_them(cluster: RealCluster) -> None:
    (head,) = cluster.pods("head")
    containers = [container(head["spec"], "ray-head"), container(head["spec"], "autoscaler")]
    for worker in cluster.pods("worker"):
        containers += [container(worker["spec"], "ray-worker"), container(worker["spec"], "wait-gcs-ready")]
        assert tls_secret_of(worker) == "ray-worker-secret-sealed"
    assert tls_secret_of(head) == "ray-head-secret-sealed"
    assert len(containers) == 6
    for each in containers:
        variables = {variable["name"]: variable.get("value") for variable in each["env"]}
        assert VARIABLES.items() <= variables.items()
        assert any(mount["mountPath"] == "/etc/ray/tls" for mount in each["volumeMounts"])


def test_a_job_runs_on_both_groups(cluster: RealCluster) -> None:
    submit = ("ray", "job", "submit", "--address=http://127.0.0.1:8265", "--", "python", "-c", _ASK_BOTH)
    words = cluster.machine.kubectl("exec", cluster.head(), "-c", "ray-head", "--", *submit, seconds=240.0)
    assert "ran on 2 hosts" in words
    assert "succeeded" in words


def test_a_cluster_that_does_not_ask_for_it_has_nothing_of_it(machine: LocalMachine) -> None:
    plain = RealCluster(machine, build_autoscaling("plain", V2, [build_group(minReplicas=1)]))
    plain.wait_until_ready()
    plain.wait_for_workers(1)
    pods = [*plain.pods("head"), *plain.pods("worker")]
    assert "RAY_USE_TLS" not in str(pods)
    assert "ray-tls" not in str(pods)
    assert not [name for name in tls_secrets(machine) if "plain" in name]
    machine.kubectl("delete", "raycluster", "plain", "--timeout=120s")


def test_the_secrets_go_with_the_cluster(cluster: RealCluster) -> None:
    names = secret_names(cluster)
    cluster.machine.kubectl("delete", "raycluster", cluster.name, "--timeout=120s")
    wait_for(lambda: names.isdisjoint(tls_secrets(cluster.machine)), 60, every=1.0)


def secret_names(cluster: RealCluster) -> set[str]:
    uid = cluster.get()["metadata"]["uid"]
    return {
        f"{cluster.name}-ca-secret-{uid[:8]}",
        *(f"ray-{part}-secret-{cluster.name}" for part in ("head", "worker")),
    }


def tls_secrets(machine: LocalMachine) -> dict[str, set[str]]:
    """The files of each."""
    items = msgspec.json.decode(machine.kubectl("get", "secrets", "-o", "json"))["items"]
    return {item["metadata"]["name"]: set(item["data"]) for item in items if item["type"] == "kubernetes.io/tls"}


def container(spec: dict[str, Any], name: str) -> dict[str, Any]:
    everybody: list[dict[str, Any]] = [*spec["containers"], *spec.get("initContainers", [])]
    return next(each for each in everybody if each["name"] == name)


def tls_secret_of(pod: dict[str, Any]) -> str:
    return str(next(each for each in pod["spec"]["volumes"] if each["name"] == "ray-tls")["secret"]["secretName"])
