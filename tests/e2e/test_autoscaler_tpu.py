"""Slices of TPUs under the autoscaler: a replica is a whole slice, of one host or several. The TPUs are pretended."""

import pytest

from e2e.clusters import needs_real_ray
from e2e.scaling import TPU, TPU_SLICES, ScalingCluster, build_scaled

pytestmark = needs_real_ray


@pytest.mark.parametrize(
    ("slice_labels", "hosts"),
    [pytest.param(TPU_SLICES[0], 1, id="v4 2x2x1"), pytest.param(TPU_SLICES[1], 4, id="v6e 4x4")],
)
def test_actors_on_tpus_bring_a_whole_slice(scaling: ScalingCluster, slice_labels: dict[str, str], hosts: int) -> None:
    slices = build_scaled(
        "slices",
        maxReplicas=1,
        numOfHosts=hosts,
        pod={"nodeSelector": slice_labels},
        limits={TPU: "4"},
        rayStartParams={"num-cpus": "1"},
    )
    scaling.prepare(slices)
    actors = [f"host-{index}" for index in range(hosts)]
    scaling.create_actors(*actors, num_cpus=0, resources={"TPU": 4})
    scaling.wait_for_workers(hosts, "slices")
    assert scaling.replicas() == 1
    assert [scaling.call_actor(actor) for actor in actors] == [1] * hosts
    scaling.kill_actors(*actors)
    scaling.replace("/spec/workerGroupSpecs/0/maxReplicas", 0)
    scaling.wait_for_scale(0)
