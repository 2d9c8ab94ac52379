"""Ray's own autoscaler against our API server, with its ServiceAccount's token and rights: both of its generations."""

from pathlib import Path
from typing import Any

import pytest

from e2e.clusters import RealCluster, build_cluster, build_group, needs_real_ray
from e2e.local_machine import local_machine
from e2e.redis_pod import GCS_OPTIONS, start_redis

pytestmark = needs_real_ray

V1 = pytest.param("v1", id="v1")
V2 = pytest.param("v2", id="v2")


def build_autoscaling(version: str, groups: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """The second generation wants Pods that never start again in place."""
    options = {
        "version": version,
        "idleTimeoutSeconds": 5,
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}},
    }
    restart = {"restartPolicy": "Never"} if version == "v2" else {}
    return build_cluster(
        "scaling", groups, head=restart, enableInTreeAutoscaling=True, autoscalerOptions=options, **fields
    )


def build_scaled_group(version: str, **fields: Any) -> dict[str, Any]:
    return build_group(pod={"restartPolicy": "Never"} if version == "v2" else {}, **fields)


@pytest.mark.parametrize("version", [V2, V1])
def test_actors_bring_workers_and_leave_none_behind(tmp_path: Path, version: str) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        cluster = RealCluster(machine, build_autoscaling(version, [build_scaled_group(version, replicas=0)]))
        cluster.wait_until_ready()
        for actor, workers in (("first", 1), ("second", 2)):
            cluster.create_actor(actor)
            cluster.wait_for_workers(workers)
            assert cluster.call_actor(actor) == 1
        for actor, workers in (("first", 1), ("second", 0)):
            cluster.kill_actor(actor)
            cluster.wait_for_workers(workers)
        cluster.wait(lambda: not cluster.status().get("desiredWorkerReplicas"))


@pytest.mark.parametrize("version", [V2])
def test_scaling_goes_on_after_the_head_was_lost(tmp_path: Path, version: str) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        start_redis(machine)
        group = build_scaled_group(version, replicas=0)
        cluster = RealCluster(machine, build_autoscaling(version, [group], gcsFaultToleranceOptions=GCS_OPTIONS))
        cluster.wait_until_ready()
        cluster.create_actor("early")
        cluster.wait_for_workers(1)
        assert cluster.call_actor("early") == 1
        cluster.replace_head()
        assert cluster.call_actor("early") == 2
        cluster.create_actor("late")
        cluster.wait_for_workers(2)
        assert cluster.call_actor("late") == 1
        for actor, workers in (("early", 1), ("late", 0)):
            cluster.kill_actor(actor)
            cluster.wait_for_workers(workers)


@pytest.mark.parametrize("version", [V2, V1])
def test_bounds_hold_and_each_demand_finds_its_group(tmp_path: Path, version: str) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        cpus = build_scaled_group(version, replicas=1, minReplicas=1, maxReplicas=2)
        pretended = {"num-cpus": "0", "num-gpus": "1"}
        gpus = build_scaled_group(version, name="gpus", replicas=0, maxReplicas=1, rayStartParams=pretended)
        cluster = RealCluster(machine, build_autoscaling(version, [cpus, gpus]))
        cluster.wait_until_ready()
        follow_the_least(cluster)
        serve_an_accelerator(cluster)
        spread_a_placement_group(cluster)
        keep_to_the_most(cluster)


def follow_the_least(cluster: RealCluster) -> None:
    for least in (2, 0):
        cluster.replace("/spec/workerGroupSpecs/0/minReplicas", least)
        cluster.wait_for_workers(least, "workers")


def serve_an_accelerator(cluster: RealCluster) -> None:
    cluster.create_actor("accelerated", num_cpus=0, num_gpus=1)
    cluster.wait_for_workers(1, "gpus")
    assert cluster.call_actor("accelerated") == 1
    assert cluster.pods("worker", "workers") == []
    cluster.kill_actor("accelerated")
    cluster.wait_for_workers(0, "gpus")


def spread_a_placement_group(cluster: RealCluster) -> None:
    cluster.python(_RESERVE)
    cluster.wait_for_workers(2, "workers")
    assert "reserved" in cluster.python(_RELEASE)
    cluster.wait_for_workers(0, "workers")


_RESERVE = """
import ray
from ray.util import placement_group
ray.init(namespace="tests", log_to_driver=False)
placement_group([{"CPU": 1}] * 2, strategy="STRICT_SPREAD", name="apart", lifetime="detached")
"""

_RELEASE = """
import ray
from ray.util import get_placement_group, remove_placement_group
ray.init(namespace="tests", log_to_driver=False)
group = get_placement_group("apart")
assert group.wait(timeout_seconds=120)
print("reserved")
remove_placement_group(group)
"""


def keep_to_the_most(cluster: RealCluster) -> None:
    for name in ("one", "two", "three"):
        cluster.create_actor(name)
    cluster.wait_for_workers(2, "workers")
    cluster.wait(lambda: "{'CPU': 1.0}: 1+ pending" in show_status(cluster))
    assert len(cluster.pods("worker", "workers")) == 2
    cluster.replace("/spec/workerGroupSpecs/0/maxReplicas", 3)
    cluster.wait_for_workers(3, "workers")
    assert [cluster.call_actor(name) for name in ("one", "two", "three")] == [1, 1, 1]


def show_status(cluster: RealCluster) -> str:
    return cluster.machine.kubectl("exec", cluster.head(), "-c", "ray-head", "--", "ray", "status")
