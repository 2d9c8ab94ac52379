"""One machine as several nodes: Pods run on whichever they are bound to, and one of them can be lost and found."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from embedded.node.node_world import NodeWorld, is_phase, is_ready, node_world, processes_of, shell, state, status_of
from heliostat.embedded.node.logs.history import list_gone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root"),
]


def test_pods_run_on_every_node_and_one_that_is_lost_takes_its_own_along(tmp_path: Path) -> None:
    async def scene() -> None:
        async with node_world(tmp_path, nodes=3) as world:
            pods = [await world.run_pod(f"on-{index}", _lasting(), nodeName=f"node-{index}") for index in range(3)]
            await asyncio.gather(*(world.until(f"on-{index}", is_ready) for index in range(3)))
            before = [await world.pod(f"on-{index}") for index in range(3)]
            lost = tmp_path / "pods" / pods[1]["metadata"]["uid"]
            await _annotate(world, "node-1", "lost")
            await world.until_true(lambda: processes_of(lost) == [])
            assert [await world.pod(f"on-{index}") for index in range(3)] == before  # nobody speaks for it
            assert processes_of(tmp_path / "pods" / pods[2]["metadata"]["uid"])
            await _annotate(world, "node-1", None)
            found = await world.until(
                "on-1", lambda pod: status_of(pod)["restartCount"] == 1 and "running" in state(pod)
            )
            assert status_of(found)["lastState"]["terminated"]["exitCode"] == 137
            assert world.problems == []

    asyncio.run(scene())
    assert processes_of(tmp_path) == []


def test_a_pod_that_was_deleted_while_its_node_was_lost_goes_when_the_node_is_found(tmp_path: Path) -> None:
    async def scene() -> None:
        async with node_world(tmp_path, nodes=2) as world:
            pod = await world.run_pod("waits", _lasting(), nodeName="node-1")
            await world.until("waits", is_phase("Running"))
            await _annotate(world, "node-1", "lost")
            await world.until_true(lambda: processes_of(tmp_path / "pods" / pod["metadata"]["uid"]) == [])
            await world.delete_pod("waits", gracePeriodSeconds=1)
            await world.run_pod("other", shell("exit 0"), nodeName="node-0", restartPolicy="Never")
            await world.until("other", is_phase("Succeeded"))
            assert await world.pod("waits") is not None
            await _annotate(world, "node-1", None)
            await world.until_gone("waits")

    asyncio.run(scene())
    assert [gone.record.name for gone in list_gone(tmp_path)] == ["waits"]


def _lasting() -> dict[str, Any]:
    return shell("echo up; exec sleep 60")


async def _annotate(world: NodeWorld, node: str, value: str | None) -> None:
    """Without a resourceVersion: whatever others write meanwhile."""
    path = f"/api/v1/nodes/{node}"
    tree = await world.server.request("GET", path)
    del tree["metadata"]["resourceVersion"]
    tree["metadata"]["annotations"] = {} if value is None else {"heliostat.dev/simulate": value}
    answer = await world.server.request("PUT", path, tree)
    assert answer["kind"] == "Node", answer
