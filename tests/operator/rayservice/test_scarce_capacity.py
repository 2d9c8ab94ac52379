"""Nodes that cannot hold two clusters: an upgrade waits and says why, the service goes on, and room resumes it.

Four GPUs, one for each worker; two workers are 100 % of a cluster, and somebody else has some of the rest. Serve
deploys for as long as it lacks a worker, and with autoscaling there are as many workers as its capacity asks for.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from conformance.operator.own_world import CAPACITY, own_world
from conformance.operator.service_stories import ServiceScene
from conformance.operator.stories import Tree
from heliostat.api.settings import Settings
from heliostat.kube.pods import is_ready, is_terminating, view_pod
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.runtime.errors import ApiError
from heliostat.testing import run_virtual
from heliostat.testing.scripted_ray import RECORDED
from plan.rayjob.job_worlds import cluster_spec
from plan.worlds import group, pod_template

pytestmark = pytest.mark.slow

GPU = "nvidia.com/gpu"
ALL_WORKERS = 2
STUCK = structs.replace(RECORDED, deploying_seconds=math.inf)
A_WHILE = 40.0  # seconds in which an upgrade with room would long be over
STEPS = {"stepSizePercent": 25, "intervalSeconds": 4, "maxSurgePercent": 50, "gatewayClassName": "any"}


@asynccontextmanager
async def narrow_scene() -> AsyncIterator[ServiceScene]:
    async with own_world(nodes=1, capacity={**CAPACITY, GPU: "4"}) as world, world.operated(Settings()) as operated:
        assert world.ray is not None
        await world.make_namespace("narrow")
        at = ServiceScene(operated, world.ray, "narrow")
        player = asyncio.create_task(play_ray(at))
        try:
            yield at
        finally:
            player.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await player


async def play_ray(at: ServiceScene) -> None:
    """What Serve and the autoscaler of each cluster do, for ever."""
    while True:
        for cluster in await at.admin.items(RAY_CLUSTER, at.namespace):
            name = cluster["metadata"]["name"]
            workers = await list_workers(at, name)
            capacity = at.serve(name).target_capacity
            wanted = math.ceil(ALL_WORKERS * (100 if capacity is None else capacity) / 100)
            ready = sum(is_ready(view_pod(pod)) for pod in workers)
            at.serve(name).script = RECORDED if ready >= wanted else STUCK
            if cluster["spec"].get("enableInTreeAutoscaling"):
                await scale(at, cluster, workers, wanted)
        await asyncio.sleep(1.0)


async def list_workers(at: ServiceScene, cluster: str) -> list[Tree]:
    wanted = {"ray.io/cluster": cluster, "ray.io/node-type": "worker"}.items()
    pods = await at.admin.items(POD, at.namespace)
    found = [pod for pod in pods if wanted <= (pod["metadata"].get("labels") or {}).items()]
    return [pod for pod in found if not is_terminating(view_pod(pod))]


async def scale(at: ServiceScene, cluster: Tree, workers: list[Tree], wanted: int) -> None:
    (only,) = cluster["spec"]["workerGroupSpecs"]
    if only.get("replicas") == wanted:
        return
    leaving = [pod["metadata"]["name"] for pod in workers[wanted:]]
    changed = only | {"replicas": wanted, "scaleStrategy": {"workersToDelete": leaving}}
    with contextlib.suppress(ApiError):  # it is going
        await at.admin.merge(
            RAY_CLUSTER, at.namespace, cluster["metadata"]["name"], {"spec": {"workerGroupSpecs": [changed]}}
        )


def build_config(grace: int, **fields: Any) -> Tree:
    """``grace`` tells one spec from another."""
    template = pod_template("ray-worker", terminationGracePeriodSeconds=grace)
    template["spec"]["containers"][0]["resources"]["limits"][GPU] = "1"
    return cluster_spec(
        workerGroupSpecs=[group(replicas=ALL_WORKERS, maxReplicas=ALL_WORKERS, template=template)], **fields
    )


async def occupy(at: ServiceScene, gpus: int) -> None:
    """Somebody else's Pods, ``other-0`` and so on."""
    for number in range(gpus):
        container = {"name": "c", "image": "i", "resources": {"limits": {GPU: "1"}}}
        metadata = {"name": f"other-{number}", "namespace": at.namespace}
        await at.admin.create(
            POD, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        )


async def assert_waits(at: ServiceScene, active: str) -> None:
    """For a while nothing gets worse for requests, and the reason can be read."""
    for _second in range(int(A_WHILE)):
        assert await at.named("active") == active
        assert (await at.condition("Ready"))["status"] == "True"
        assert await list_workers(at, active)
        await asyncio.sleep(1.0)
    assert (await at.condition("UpgradeInProgress"))["status"] == "True"
    told = await at.explain()
    assert f"moves from {active} to {await at.named('pending')}" in told
    assert f"Insufficient {GPU}" in told


def test_an_upgrade_without_room_waits_for_it_and_the_service_goes_on() -> None:
    async def story() -> None:
        async with narrow_scene() as at:
            await occupy(at, 1)
            await at.create(rayClusterConfig=build_config(1))
            first = await at.until_served()
            await at.edit(rayClusterConfig=build_config(2))
            await at.until_condition("UpgradeInProgress", "True")
            await assert_waits(at, first)
            assert len(await list_workers(at, first)) == ALL_WORKERS
            await at.admin.delete(POD, at.namespace, "other-0")
            await at.until_served(beyond=first)

    run_virtual(story())


def test_an_upgrade_in_steps_needs_room_for_its_surge_alone() -> None:
    """Without it, it waits; with half of a cluster it gets through, where a whole second one has no room."""

    async def story() -> None:
        async with narrow_scene() as at:
            await occupy(at, 2)
            strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": STEPS}
            config = build_config(1, enableInTreeAutoscaling=True)
            await at.create(upgradeStrategy=strategy, rayClusterConfig=config, rayClusterDeletionDelaySeconds=1)
            first = await at.until_served()
            await at.edit(rayClusterConfig=build_config(2, enableInTreeAutoscaling=True))
            await at.until_condition("UpgradeInProgress", "True")
            await assert_waits(at, first)
            waiting = await at.slot("pending")
            assert (waiting["targetCapacity"], waiting["trafficRoutedPercent"]) == (STEPS["maxSurgePercent"], 0)
            assert (await at.slot("active"))["targetCapacity"] == 100
            await at.admin.delete(POD, at.namespace, "other-0")
            second = await at.until_served(beyond=first)
            assert len(await list_workers(at, second)) == ALL_WORKERS
            assert "other-1" in await at.names(POD)

    run_virtual(story())
