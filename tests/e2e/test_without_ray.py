"""Scenarios of RayClusters in which Ray never starts: what is refused, left alone, or made around the Pods."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from e2e.clusters import RealCluster, apply, build_cluster, build_group
from e2e.local_machine import LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = needs_local_machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("without-ray") / "state") as started:
        result = started.heliostat("up", "--ephemeral", "--feature-gates=GCSFaultToleranceEmbeddedStorage=true")
        assert result.returncode == 0, result.stderr
        yield started


def test_a_cluster_of_another_manager_is_left_alone_and_stays_its(machine: LocalMachine) -> None:
    cluster = RealCluster(machine, build_cluster("queued", [], managedBy="kueue.x-k8s.io/multikueue"))
    cluster.hold(lambda: cluster.status() == {} and cluster.list_pods("head") == [], 3)
    with pytest.raises(AssertionError, match="immutable"):
        cluster.replace("/spec/managedBy", "ray.io/kuberay-operator")


def test_an_unknown_manager_is_refused(machine: LocalMachine) -> None:
    with pytest.raises(AssertionError, match="is invalid"):
        apply(machine, build_cluster("strange", [], managedBy="controller.com/not-supported"))


def test_a_quota_that_is_too_small_is_told(machine: LocalMachine) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "narrow"},
        "spec": {"hard": {"cpu": "100m", "memory": "0.1Gi"}},
    }
    document = build_cluster("large", [build_group()])
    document["metadata"]["namespace"] = "narrow"
    apply(machine, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "narrow"}}, quota)
    apply(machine, document)
    failure = wait_for(lambda: find_failure(machine), 30, every=0.5)
    assert (failure["status"], failure["reason"]) == ("True", "FailedCreateHeadPod")
    assert "forbidden: exceeded quota" in failure["message"]


def find_failure(machine: LocalMachine) -> dict[str, Any]:
    tree = msgspec.json.decode(machine.kubectl("get", "raycluster", "large", "-n", "narrow", "-o", "json"))
    found = (each for each in tree.get("status", {}).get("conditions") or [])
    return next((each for each in found if each["type"] == "ReplicaFailure"), {})


def test_storage_of_its_own_for_the_gcs_is_made_mounted_and_removed(machine: LocalMachine) -> None:
    """The wiring alone: the image is nobody's, so that Ray never starts."""
    storage = {"size": "1Gi", "accessModes": ["ReadWriteOnce"]}
    document = build_cluster("stored", [], gcsFaultToleranceOptions={"backend": "rocksdb", "storage": storage})
    document["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "example.com/nobody:1"
    cluster = RealCluster(machine, document)
    wait_for(lambda: cluster.pods("head"), 30, every=0.5)
    claim = msgspec.json.decode(machine.kubectl("get", "pvc", "stored-gcs-pvc", "-o", "json"))
    assert claim["metadata"]["ownerReferences"][0]["uid"] == cluster.get()["metadata"]["uid"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    check_head(cluster.pods("head")[0]["spec"])
    machine.kubectl("delete", "raycluster", "stored", "--timeout=30s")
    wait_for(lambda: machine.kubectl("get", "pvc", "-o", "name") == "", 30, every=0.5)


def check_head(spec: dict[str, Any]) -> None:
    ray = spec["containers"][0]
    variables = {each["name"]: each.get("value") for each in ray["env"]}
    assert variables["RAY_gcs_storage"] == "rocksdb"
    assert variables["RAY_gcs_storage_path"] == "/data/gcs"
    assert not [name for name in variables if "redis" in name.lower()]
    assert {"name": "gcs-storage", "mountPath": "/data/gcs"} in ray["volumeMounts"]
    assert {"name": "gcs-storage", "persistentVolumeClaim": {"claimName": "stored-gcs-pvc"}} in spec["volumes"]
