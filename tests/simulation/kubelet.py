"""A node of few words for simulated worlds: Pods run for a while and end as chance has it. It never fails itself."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.errors import ConflictError, NotFoundError
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.world import World

MERGE = "application/merge-patch+json"


async def run_pods(world: World, fails: Callable[[int], bool]) -> None:
    """Until the world ends. ``fails`` is asked with the number of the Pod, in the order they came."""
    chance = stream(world.seed, "kubelet")
    seen: set[str] = set()
    while True:
        for pod in list(world.state.all("pods")):
            uid = pod["metadata"]["uid"]
            if uid not in seen:
                seen.add(uid)
                world.spawn(_live(world, pod, chance.uniform(0.5, 8.0), is_failing=fails(len(seen))))
        await asyncio.sleep(0.2)


async def _live(world: World, pod: JsonObject, seconds: float, *, is_failing: bool) -> None:
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
    started = format_timestamp(world.now())
    await _tell(
        world, path, {"phase": "Running", "startTime": started, "containerStatuses": [_container(running=started)]}
    )
    await asyncio.sleep(seconds)
    code = 1 if is_failing else 0
    ended = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": started,
        "finishedAt": format_timestamp(world.now()),
    }
    phase = "Failed" if code else "Succeeded"
    await _tell(world, path, {"phase": phase, "containerStatuses": [_container(terminated=ended)]})


def _container(*, running: str = "", terminated: JsonObject | None = None) -> JsonObject:
    state = {"terminated": terminated} if terminated else {"running": {"startedAt": running}}
    return {
        "name": "main",
        "ready": not terminated,
        "restartCount": 0,
        "image": "busybox",
        "imageID": "busybox",
        "state": state,
    }


async def _tell(world: World, path: str, status: JsonObject) -> None:
    with suppress(NotFoundError, ConflictError):  # somebody deleted it
        await world.request("PATCH", path, {"status": status}, MERGE)
