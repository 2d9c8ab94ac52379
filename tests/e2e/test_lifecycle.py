"""What people do to a cluster that runs: let it rest, and replace it by a new one."""

from pathlib import Path

from e2e.clusters import RealCluster, build_cluster, build_group, needs_real_ray
from e2e.local_machine import local_machine

pytestmark = needs_real_ray

HASH = "ray.io/upgrade-strategy-recreate-hash"


def test_a_cluster_rests_comes_back_and_is_replaced_when_its_spec_changes(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        document = build_cluster("changing", [build_group(minReplicas=1)], upgradeStrategy={"type": "Recreate"})
        cluster = RealCluster(machine, document)
        cluster.wait_until_ready()
        suspend_and_resume(cluster)
        recreate(cluster)


def suspend_and_resume(cluster: RealCluster) -> None:
    cluster.patch({"op": "add", "path": "/spec/suspend", "value": True})
    cluster.wait(lambda: cluster.condition("RayClusterSuspended")[0] == "True")
    cluster.wait(lambda: cluster.machine.kubectl("get", "pods", "-o", "name") == "")
    assert cluster.condition("HeadPodReady") == ("False", "HeadPodNotFound")
    assert cluster.condition("RayClusterProvisioned") == ("False", "RayClusterPodsProvisioning")
    cluster.replace("/spec/suspend", value=False)
    cluster.wait_until_ready()
    assert cluster.condition("RayClusterSuspended")[0] == "False"
    assert cluster.condition("RayClusterProvisioned") == ("True", "AllPodRunningAndReadyFirstTime")


def recreate(cluster: RealCluster) -> None:
    before = cluster.pods("head")[0]
    resources = "/spec/workerGroupSpecs/0/template/spec/containers/0/resources/requests/cpu"
    cluster.replace(resources, "900m")
    cluster.wait(lambda: cluster.head() != before["metadata"]["name"])
    cluster.wait_until_ready()
    cluster.wait_for_workers(1)
    after = cluster.pods("head")[0]
    assert after["metadata"]["annotations"][HASH] != before["metadata"]["annotations"][HASH]
