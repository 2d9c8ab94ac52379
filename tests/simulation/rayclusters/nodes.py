"""Nodes of few words for Ray's Pods: they start, become ready, sometimes fail, and end when they are told to.

The nodes see the truth and never fail themselves, except one that is lost: its Pods stay as they are, whatever happens
to them, until it is found again.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.errors import ApiError
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.world import World
from simulation.kubelet import MERGE
from simulation.rayclusters.manifests import pods_in
from simulation.rayclusters.reading import is_ready, is_terminating, label, name_of, restarts_of, uid_of

NODES = ("n1", "n2", "n3")
LOOK_SECONDS = 0.5
SIDECAR = "ray-job-submitter"
RESTARTED = "Restarted"  # a container ends and comes back, and the Pod runs all the while


class Conduct(Struct, kw_only=True):
    """How the nodes behave; a scenario may change it while they run."""

    failing: float = 0.0  # how many Pods fail of those that begin before ``calm``
    hindered: float = 0.0  # how many cannot be scheduled, or have no image, before ``calm``
    calm: float = 0.0  # virtual seconds; from then on every Pod goes well
    start_seconds: float = 3.0
    stop_seconds: float = 3.0
    clock_error: float = 0.0  # seconds by which the nodes' clocks are wrong
    cleanup: str = "succeeds"  # what becomes of the Pods of clean-up Jobs: succeeds, fails, hangs
    lost: set[str] = set()
    # What Pods of other Jobs, and submitters beside a head, do once they run: their exit code, or None when ended.
    program: Callable[[JsonObject], Awaitable[int | None]] | None = None
    is_held_back: Callable[[JsonObject], bool] | None = None  # a Pod that runs, and whose probe says no


async def run_nodes(world: World, conduct: Conduct) -> None:
    """Until the world ends."""
    started: set[str] = set()
    stopped: set[str] = set()
    while True:
        for pod in list(world.state.all("pods")):
            uid = uid_of(pod)
            chance = partial(stream, world.seed, f"pod/{len(started)}")
            if uid not in started:
                started.add(uid)
                world.spawn(_live(world, pod, conduct, chance()))
            if is_terminating(pod) and uid not in stopped and node_of(pod) not in conduct.lost:
                stopped.add(uid)
                world.spawn(_stop(world, pod, chance().uniform(0.0, conduct.stop_seconds)))
        await asyncio.sleep(LOOK_SECONDS)


async def lose_node(world: World, conduct: Conduct, node: str) -> None:
    """It falls silent: after a while its Pods are unready, and then asked to go."""
    conduct.lost.add(node)
    for pod in _pods_on(world, node):
        await _tell(world, pod, {"conditions": [{"type": "Ready", "status": "False", "reason": "NodeLost"}]})
    await asyncio.sleep(5.0)
    for pod in _pods_on(world, node):
        await _ask_to_go(world, pod, 5)


async def flap_node(world: World, conduct: Conduct, node: str) -> None:
    """Silent for a moment, and back before anybody gave its Pods up: they are ready again."""
    conduct.lost.add(node)
    shaken = [pod for pod in _pods_on(world, node) if is_ready(pod)]
    for is_back in (False, True):
        for pod in shaken:
            await _tell(world, pod, {"conditions": [{"type": "Ready", "status": str(is_back), "reason": "NodeLost"}]})
        await asyncio.sleep(3.0)
    conduct.lost.discard(node)


def node_of(pod: JsonObject) -> str:
    return str(pod["spec"].get("nodeName") or "")


async def _live(world: World, pod: JsonObject, conduct: Conduct, chance: random.Random) -> None:
    node, now = chance.choice(NODES), _clock_of(world, conduct)
    await asyncio.sleep(chance.uniform(0.0, conduct.start_seconds))
    trouble = chance.choice(("unschedulable", "image")) if _is_hit(world, conduct.hindered, conduct, chance) else ""
    if trouble == "unschedulable":
        await _until_calm(world, conduct)
    if node in conduct.lost:
        node = next(each for each in NODES if each not in conduct.lost)
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": node}}
    with suppress(ApiError):  # it is gone already
        await world.request("POST", f"{_path(pod)}/binding", {**binding, "metadata": {"name": name_of(pod)}})
    if trouble == "image":
        await _tell(world, pod, _waiting(pod, "ImagePullBackOff"))
        await _until_calm(world, conduct)
    is_failing = _is_hit(world, conduct.failing, conduct, chance)
    await _tell(world, pod, _running(now(), pod, is_ready=False))
    await asyncio.sleep(chance.uniform(0.0, conduct.start_seconds))
    while conduct.is_held_back is not None and conduct.is_held_back(pod):
        await asyncio.sleep(LOOK_SECONDS)
    if label(pod, "node-type") == "redis-cleanup":
        await _end_cleanup(world, pod, conduct.cleanup, now())
        return
    await _tell(world, pod, _running(now(), pod, is_ready=True))
    if conduct.program is not None and (has_sidecar(pod) or not label(pod, "node-type")):
        code = await conduct.program(pod)
        if code is not None:
            end = _sidecar_ended if has_sidecar(pod) else _ended
            await _tell(world, pod, end(now(), pod, code, "Error" if code else "Completed"))
        return
    if is_failing:
        await asyncio.sleep(chance.uniform(0.0, 10.0))
        reason = chance.choice(("Evicted", "Error", "OOMKilled", RESTARTED))
        if node not in conduct.lost:
            await _fail(world, pod, reason, now)


async def _fail(world: World, pod: JsonObject, reason: str, now: Callable[[], str]) -> None:
    if reason == RESTARTED:
        await restart(world, pod, now, 3.0)
    else:
        await _tell(world, pod, _ended(now(), pod, 137, reason))


async def restart(world: World, pod: JsonObject, now: Callable[[], str], seconds: float) -> None:
    """Its containers end and come back after so many seconds, while the Pod and its address stay."""
    before = restarts_of(pod)
    ended = _ended(now(), pod, 137, RESTARTED, restarts=before)
    await _tell(world, pod, {key: ended[key] for key in ("conditions", "containerStatuses")})
    await asyncio.sleep(seconds)
    await _tell(world, pod, _running(now(), pod, is_ready=True, restarts=before + 1))


def _is_hit(world: World, share: float, conduct: Conduct, chance: random.Random) -> bool:
    return chance.random() < share and world.time() < conduct.calm


async def _until_calm(world: World, conduct: Conduct) -> None:
    await asyncio.sleep(max(0.0, conduct.calm - world.time()))


async def _end_cleanup(world: World, pod: JsonObject, how: str, now: str) -> None:
    if how != "hangs":
        await _tell(world, pod, _ended(now, pod, 1 if how == "fails" else 0, how))


async def _stop(world: World, pod: JsonObject, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await _ask_to_go(world, pod, 0)


async def _ask_to_go(world: World, pod: JsonObject, grace: int) -> None:
    options = {"gracePeriodSeconds": grace, "preconditions": {"uid": uid_of(pod)}}
    with suppress(ApiError):  # somebody was faster
        await world.request("DELETE", _path(pod), options)


async def _tell(world: World, pod: JsonObject, status: JsonObject) -> None:
    body = {"metadata": {"uid": uid_of(pod)}, "status": status}
    with suppress(ApiError):  # gone, or another one has the name
        await world.request("PATCH", f"{_path(pod)}/status", body, MERGE)


def _path(pod: JsonObject) -> str:
    return f"{pods_in(pod['metadata']['namespace'])}/{name_of(pod)}"


def _pods_on(world: World, node: str) -> list[JsonObject]:
    return [pod for pod in world.state.all("pods") if node_of(pod) == node]


def _clock_of(world: World, conduct: Conduct) -> Callable[[], str]:
    return lambda: format_timestamp(world.now() + conduct.clock_error)


def _running(now: str, pod: JsonObject, *, is_ready: bool, restarts: int = 0) -> JsonObject:
    number = int(uid_of(pod)[-6:])
    running = {"running": {"startedAt": now}}
    ready: JsonObject = {"type": "Ready", "status": "True" if is_ready else "False"}
    if not is_ready:
        ready |= {"reason": "ContainersNotReady", "lastTransitionTime": None}  # kubelets leave times open
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": f"10.1.{number // 250}.{number % 250}",
        "conditions": [ready],
        "containerStatuses": _containers(pod, running, is_ready=is_ready, restarts=restarts),
    }


def _waiting(pod: JsonObject, reason: str) -> JsonObject:
    ready = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
    waiting = {"waiting": {"reason": reason}}
    return {
        "phase": "Pending",
        "conditions": [ready],
        "containerStatuses": _containers(pod, waiting, is_ready=False),
    }


def _ended(now: str, pod: JsonObject, code: int, reason: str, *, restarts: int = 0) -> JsonObject:
    ended = {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}}
    return {
        "phase": "Failed" if code else "Succeeded",
        "reason": reason,
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": _containers(pod, ended, is_ready=False, restarts=restarts),
    }


def has_sidecar(pod: JsonObject) -> bool:
    """A submitter beside a head."""
    return bool(label(pod, "node-type")) and any(each["name"] == SIDECAR for each in pod["spec"]["containers"])


def _sidecar_ended(now: str, pod: JsonObject, code: int, reason: str) -> JsonObject:
    """The submitter beside a head: the head goes on, and a Pod with a container that ended is not ready."""
    running, ended = _running(now, pod, is_ready=True), _ended(now, pod, code, reason)
    mixed = zip(running["containerStatuses"], ended["containerStatuses"], strict=True)
    statuses = [after if after["name"] == SIDECAR else before for before, after in mixed]
    return {"phase": "Running", "conditions": ended["conditions"], "containerStatuses": statuses}


def _containers(pod: JsonObject, state: JsonObject, *, is_ready: bool, restarts: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "name": container["name"],
            "ready": is_ready,
            "restartCount": restarts,
            "image": container["image"],
            "imageID": container["image"],
            "state": state,
        }
        for container in pod["spec"]["containers"]
    ]
