"""A cluster whose state lives in a real Redis or on a volume: the head dies; its actors and their state stay."""

from pathlib import Path
from typing import Any

from e2e.clusters import RealCluster, build_cluster, build_group, needs_real_ray
from e2e.local_machine import local_machine, wait_for
from e2e.redis_pod import GCS_OPTIONS, count_keys, start_redis

pytestmark = needs_real_ray


def build_durable() -> dict[str, Any]:
    return build_cluster("durable", [build_group(minReplicas=1)], gcsFaultToleranceOptions=GCS_OPTIONS)


def test_an_actor_survives_the_gcs_and_the_head_and_redis_is_empty_in_the_end(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        start_redis(machine)
        cluster = RealCluster(machine, build_durable())
        cluster.wait_until_ready()
        cluster.wait_for_workers(1)
        worker = cluster.pods("worker")[0]["metadata"]["uid"]
        cluster.create_actors("survivor")
        assert cluster.call_actor("survivor") == 1
        kill_the_gcs(cluster)
        assert cluster.call_actor("survivor") == 2
        cluster.replace_head()
        assert cluster.call_actor("survivor") == 3
        assert [pod["metadata"]["uid"] for pod in cluster.pods("worker")] == [worker]
        assert count_keys(machine) > 0
        delete_the_cluster(cluster)
        assert count_keys(machine) == 0


def test_an_actor_survives_the_head_with_state_on_a_volume_that_goes_with_the_cluster(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up", "--feature-gates=GCSFaultToleranceEmbeddedStorage=true").returncode == 0
        options = {"backend": "rocksdb", "storage": {"size": "1Gi"}}
        cluster = RealCluster(
            machine, build_cluster("stored", [build_group(minReplicas=1)], gcsFaultToleranceOptions=options)
        )
        cluster.wait_until_ready()
        cluster.wait_for_workers(1)
        cluster.create_actors("survivor")
        assert cluster.call_actor("survivor") == 1
        cluster.replace_head()
        assert cluster.call_actor("survivor") == 2
        machine.kubectl("delete", "raycluster", cluster.name, "--timeout=120s")
        wait_for(lambda: machine.kubectl("get", "pvc", "-o", "name") == "", 60, every=1.0)


def kill_the_gcs(cluster: RealCluster) -> None:
    """The head's container ends with it and starts again in the same Pod."""
    name = cluster.head()
    cluster.machine.kubectl("exec", name, "-c", "ray-head", "--", "pkill", "gcs_server")
    cluster.wait(lambda: count_restarts(cluster) == 1)
    cluster.wait_until_ready()
    assert cluster.head() == name


def count_restarts(cluster: RealCluster) -> int:
    statuses = cluster.pods("head")[0]["status"]["containerStatuses"]
    return int(next(each["restartCount"] for each in statuses if each["name"] == "ray-head"))


def delete_the_cluster(cluster: RealCluster) -> None:
    """Its finalizer holds it until the Job has emptied its part of Redis."""
    machine = cluster.machine
    machine.kubectl("delete", "raycluster", cluster.name, "--wait=false")
    job = wait_for(lambda: machine.kubectl("get", "jobs", "-o", "name"), 60, every=1.0)
    assert job.strip() == f"job.batch/{cluster.name}-redis-cleanup"
    wait_for(lambda: machine.kubectl("get", "rayclusters", "-o", "name") == "", 120, every=1.0)
