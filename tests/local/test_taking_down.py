"""What is told while something is taken down: a person waits for it, and should see for what."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from heliostat.local.taking_down import Made, take_down, tell_hold
from local.rayservice_worlds import CLUSTERS, SERVICES, ServiceScene, play

Tree = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
FINALIZER = "ray.io/rayservice-finalizer"


async def make_pod(world: ServiceScene, name: str, cluster: str) -> None:
    owner = await world.server.request("GET", f"{CLUSTERS}/{cluster}")
    reference = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": cluster, "uid": owner["metadata"]["uid"]}
    spec = {"nodeName": "here", "containers": [{"name": "main", "image": "x"}]}
    metadata = {"name": name, "ownerReferences": [{**reference, "controller": True}]}
    await world.server.request("POST", PODS, {"metadata": metadata, "spec": spec})


def test_a_service_shows_the_pods_of_its_clusters_and_how_long_they_may_take(tmp_path: Path) -> None:
    """It is gone when they are, and Ray drains its nodes for half a minute."""

    async def scene(world: ServiceScene) -> None:
        await world.make_cluster("stand-a")
        await make_pod(world, "stand-a-head", "stand-a")
        await world.begin()
        found = await world.server.request("GET", f"{SERVICES}/stand")
        held = {**found, "metadata": {**found["metadata"], "finalizers": [FINALIZER]}}
        service = await world.server.request("PUT", f"{SERVICES}/stand", held)
        shown: list[tuple[str, ...]] = []
        taking = asyncio.create_task(take_down(world.session, [Made(service, is_new=True)], shown.append, 60))
        await _until(shown, ("… RayService stand: is being deleted; its clusters go first", "  … stand-a-head: ends"))
        await world.server.request("DELETE", f"{PODS}/stand-a-head")  # as the operator and the garbage collector do
        await _until(shown, (shown[0][0], "  … stand-a-head: ends within 30 s"))
        leaving = await world.server.request("GET", f"{SERVICES}/stand")
        await world.server.request(
            "PUT", f"{SERVICES}/stand", {**leaving, "metadata": {**leaving["metadata"], "finalizers": []}}
        )
        assert await taking == []

    play(tmp_path, scene)


async def _until(shown: list[tuple[str, ...]], lines: tuple[str, ...]) -> None:
    async with asyncio.timeout(10):
        while not shown or shown[-1] != lines:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("finalizers", "told"),
    [
        ([], ""),
        (["foregroundDeletion"], ""),
        ([FINALIZER], "; its clusters go first"),
        (["ray.io/rayjob-finalizer"], "; Ray is asked to stop its job first"),
        (["ray.io/rayjob-finalizer", "a.b/c"], "; Ray is asked to stop its job first; finalizers: a.b/c"),
        (["a.b/c", "d.e/f"], "; finalizers: a.b/c, d.e/f"),
    ],
)
def test_what_holds_an_object_is_told_in_words_where_it_is_known(finalizers: list[str], told: str) -> None:
    assert tell_hold({"metadata": {"finalizers": finalizers}}) == told
