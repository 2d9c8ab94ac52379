"""Placement groups and the autoscaler: as many workers as the bundles need, new ones for lost ones, none too early."""

import pytest

from e2e.clusters import IMAGE, needs_real_ray
from e2e.scaling import ScalingCluster, build_scaled

pytestmark = needs_real_ray

SLOW_START = {"initContainers": [{"name": "slow", "image": IMAGE, "command": ["sleep", "15"]}]}

_CONNECT = """
import ray
from ray.util import get_placement_group, placement_group, placement_group_table, remove_placement_group
ray.init(namespace="tests", log_to_driver=False)
"""

_RESERVE = """
placement_group([{{"CPU": {cpus}}}] * {bundles}, strategy={strategy!r}, name={name!r}, lifetime="detached")
"""

_RELEASE = """
remove_placement_group(get_placement_group({name!r}))
"""

_TELL_STATE = """
print("state is", placement_group_table(get_placement_group({name!r}))["state"])
"""


@pytest.mark.parametrize(
    ("strategy", "cpus", "workers"),
    [("STRICT_PACK", 0.5, 1), ("PACK", 0.5, 1), ("STRICT_SPREAD", 0.5, 2), ("SPREAD", 1, 2)],
)
def test_a_placement_group_brings_its_workers_and_new_ones_when_they_are_lost(
    scaling: ScalingCluster, strategy: str, cpus: float, workers: int
) -> None:
    """Two bundles. A loose spread is content with one worker that has room for both, so these have not."""
    scaling.prepare(build_scaled(maxReplicas=3))
    reserve(scaling, "kept", cpus=cpus, bundles=2, strategy=strategy)
    scaling.wait_for_scale(workers)
    wait_until_reserved(scaling, "kept")
    lost = worker_uids(scaling)
    scaling.machine.kubectl("delete", "pods", "-l", "ray.io/node-type=worker", "--wait=false")
    scaling.wait(lambda: lost.isdisjoint(worker_uids(scaling)))
    scaling.wait_for_scale(workers)
    wait_until_reserved(scaling, "kept")


def test_a_worker_that_a_placement_group_waits_with_is_not_removed_as_idle(scaling: ScalingCluster) -> None:
    """The second worker takes longer to come than the first may be idle."""
    scaling.prepare(build_scaled(maxReplicas=2, pod=SLOW_START), idleTimeoutSeconds=6)
    reserve(scaling, "first", cpus=1, bundles=1, strategy="STRICT_SPREAD")
    scaling.wait_for_scale(1)
    (first,) = worker_uids(scaling)
    reserve(scaling, "second", cpus=1, bundles=2, strategy="STRICT_SPREAD", instead_of="first")

    def is_second_there() -> bool:
        assert first in worker_uids(scaling), scaling.describe()
        return is_reserved(scaling, "second")

    scaling.wait(is_second_there)
    assert len(worker_uids(scaling)) == 2


def reserve(
    cluster: ScalingCluster, name: str, *, cpus: float, bundles: int, strategy: str, instead_of: str = ""
) -> None:
    release = _RELEASE.format(name=instead_of) if instead_of else ""
    cluster.python(_CONNECT + release + _RESERVE.format(name=name, cpus=cpus, bundles=bundles, strategy=strategy))


def wait_until_reserved(cluster: ScalingCluster, name: str) -> None:
    cluster.wait(lambda: is_reserved(cluster, name))


def is_reserved(cluster: ScalingCluster, name: str) -> bool:
    return "state is CREATED" in cluster.python(_CONNECT + _TELL_STATE.format(name=name))


def worker_uids(cluster: ScalingCluster) -> set[str]:
    return {pod["metadata"]["uid"] for pod in cluster.pods("worker")}
