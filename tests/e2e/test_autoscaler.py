"""Ray's own autoscaler against our API server, with its ServiceAccount's token and rights: both of its generations."""

from pathlib import Path
from typing import Any

import pytest

from e2e.clusters import RealCluster, needs_real_ray
from e2e.local_machine import local_machine, wait_for
from e2e.redis_pod import GCS_OPTIONS, count_keys, start_redis
from e2e.scaling import V1, V2, ScalingCluster, build_autoscaling, build_scaled

pytestmark = needs_real_ray

GPUS = {"num-cpus": "0", "num-gpus": "1"}
SPECIAL = {"num-cpus": "0", "resources": '"{\\"CustomResource\\": 1}"'}
GPUS_AND_CPUS = {"num-cpus": "1", "num-gpus": "1"}

_WORK = """
import ray, time
ray.init(log_to_driver=False)
ray.get([ray.remote(num_cpus=1)(lambda: time.sleep(1)).remote() for _ in range(60)])
"""

_REQUEST = """
import ray
from ray.autoscaler.sdk import request_resources
ray.init(log_to_driver=False)
request_resources(num_cpus=1)
"""


def test_actors_bring_workers_and_leave_none_behind(scaling: ScalingCluster) -> None:
    scaling.prepare(build_scaled(maxReplicas=3))
    for actor, workers in (("first", 1), ("second", 2)):
        scaling.create_actors(actor)
        scaling.wait_for_scale(workers)
        assert scaling.call_actor(actor) == 1
    for actor, workers in (("first", 1), ("second", 0)):
        scaling.kill_actors(actor)
        scaling.wait_for_scale(workers)


@pytest.mark.parametrize(
    ("offer", "demand"),
    [
        pytest.param(GPUS, {"num_cpus": 0, "num_gpus": 1}, id="a GPU"),
        pytest.param(SPECIAL, {"num_cpus": 0, "resources": {"CustomResource": 1}}, id="a resource of its own"),
        pytest.param(GPUS_AND_CPUS, {"num_cpus": 1}, id="a CPU, and only workers with GPUs have them"),
    ],
)
def test_a_demand_brings_a_worker_that_has_it(
    scaling: ScalingCluster, offer: dict[str, str], demand: dict[str, Any]
) -> None:
    scaling.prepare(build_scaled("special", rayStartParams=offer))
    scaling.create_actors("demanding", **demand)
    scaling.wait_for_scale(1)
    assert len(scaling.pods("worker", "special")) == 1
    assert scaling.call_actor("demanding") == 1
    scaling.kill_actors("demanding")
    scaling.wait_for_scale(0)


def test_much_work_brings_as_many_workers_as_are_allowed_and_they_stay(scaling: ScalingCluster) -> None:
    scaling.prepare(build_scaled(maxReplicas=3), idleTimeoutSeconds=3600)
    scaling.python(_WORK)
    scaling.wait_for_scale(3)
    scaling.hold(lambda: len(scaling.list_pods("worker")) == scaling.replicas() == 3, 15)


def test_the_least_number_of_workers_may_grow(scaling: ScalingCluster) -> None:
    scaling.prepare(build_scaled(replicas=1, minReplicas=0, maxReplicas=3))
    scaling.replace("/spec/workerGroupSpecs/0/minReplicas", 2)
    scaling.wait_for_scale(2)
    scaling.create_actors("one", "two", "three")
    scaling.wait_for_scale(3)
    assert scaling.replicas() == 3


@pytest.mark.parametrize(("before", "after"), [(2, 3), (2, 1)])
def test_the_largest_number_of_workers_may_change(scaling: ScalingCluster, before: int, after: int) -> None:
    scaling.prepare(build_scaled(replicas=1, minReplicas=1, maxReplicas=before))
    scaling.create_actors(*(f"actor-{index}" for index in range(max(before, after))))
    scaling.wait_for_scale(before)
    assert scaling.replicas() == before
    scaling.replace("/spec/workerGroupSpecs/0/maxReplicas", after)
    scaling.wait_for_scale(after)
    assert scaling.replicas() == after


@pytest.mark.parametrize("scaling", [V2], indirect=True)
def test_each_group_has_a_patience_of_its_own(scaling: ScalingCluster) -> None:
    patience = {"short": 10, "long": 30}
    offers = {name: {"num-cpus": "0", "resources": f'"{{\\"{name}\\": 1}}"'} for name in patience}
    groups = (
        build_scaled(name, rayStartParams=offers[name], idleTimeoutSeconds=seconds)
        for name, seconds in patience.items()
    )
    scaling.prepare(*groups)
    for name in patience:
        scaling.create_actors(name, num_cpus=0, resources={name: 1})
    scaling.wait_for_scale(2)
    for name, workers, seconds in (("short", 1, 40), ("long", 0, 60)):
        scaling.kill_actors(name)
        scaling.wait_for_scale(workers, seconds=seconds)
        assert scaling.pods("worker", name) == []


def test_resources_are_there_when_a_program_asks_for_them_ahead(scaling: ScalingCluster) -> None:
    scaling.prepare(build_scaled(maxReplicas=2))
    scaling.python(_REQUEST)
    scaling.wait_for_scale(1)


def test_a_group_that_is_added_later_is_scaled_as_well(scaling: ScalingCluster) -> None:
    scaling.prepare(build_scaled(maxReplicas=3), idleTimeoutSeconds=10)
    scaling.create_actors("first")
    scaling.wait_for_scale(1)
    gpus = build_scaled("gpus", maxReplicas=1, rayStartParams=GPUS)
    scaling.patch({"op": "add", "path": "/spec/workerGroupSpecs/-", "value": gpus})
    scaling.create_actors("accelerated", num_cpus=0, num_gpus=1)
    scaling.wait_for_scale(1, "gpus")
    scaling.create_actors("second")
    scaling.wait_for_scale(2, "workers")
    scaling.kill_actors("accelerated")
    scaling.wait_for_scale(0, "gpus")
    assert scaling.replicas() == len(scaling.pods("worker", "workers")) == 2


def test_a_careful_autoscaler_asks_for_a_few_workers_first(scaling: ScalingCluster) -> None:
    scaling.prepare(build_scaled(maxReplicas=10), upscalingMode="Conservative")
    scaling.create_actors(*(f"actor-{index}" for index in range(10)))
    asked = [0]

    def asks_for_all() -> bool:
        asked.append(scaling.replicas())
        return asked[-1] == 10

    scaling.wait(asks_for_all, 300)
    steps = list(dict.fromkeys(asked))
    assert steps == sorted(steps)
    assert 0 < steps[1] <= 5


@pytest.mark.parametrize("version", [V2, V1])
def test_scaling_goes_on_after_the_head_was_lost(tmp_path: Path, version: str) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        start_redis(machine)
        document = build_autoscaling("durable", version, [build_scaled()], gcsFaultToleranceOptions=GCS_OPTIONS)
        cluster = RealCluster(machine, document)
        cluster.wait_until_ready()
        cluster.create_actors("early")
        cluster.wait_for_workers(1)
        assert cluster.call_actor("early") == 1
        cluster.replace_head()
        assert cluster.call_actor("early") == 2
        cluster.create_actors("late")
        cluster.wait_for_workers(2)
        assert cluster.call_actor("late") == 1
        for actor, workers in (("early", 1), ("late", 0)):
            cluster.kill_actors(actor)
            cluster.wait_for_workers(workers)
        machine.kubectl("delete", "raycluster", cluster.name, "--timeout=120s")
        wait_for(lambda: count_keys(machine) == 0, 60, every=1.0)
