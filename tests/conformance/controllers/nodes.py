"""The Node that Pods of many scenarios are on. It is kept alive while they are played, and nobody schedules to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from conformance.controllers.model import KINDS, Json
from conformance.controllers.objects import SHARED_NODE, node
from conformance.recording import Reply
from conformance.targets import Sent, Target

BEAT_SECONDS = 10.0


@asynccontextmanager
async def shared_node(target: Target) -> AsyncIterator[None]:
    path = KINDS["Node"].path("")
    tree = node(SHARED_NODE, labels={"topology.kubernetes.io/zone": "here"})
    await send(target, "POST", path, {"apiVersion": "v1", **tree})
    beating = asyncio.create_task(_beat(target, f"{path}/{SHARED_NODE}/status", tree["status"]))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await send(target, "DELETE", f"{path}/{SHARED_NODE}")


async def _beat(target: Target, path: str, status: Json) -> None:
    """That the heartbeat changes is what counts, not what it says."""
    ready = status["conditions"][0]
    for count in range(10_000):
        moment = f"2024-01-01T{count // 3600:02}:{count // 60 % 60:02}:{count % 60:02}Z"
        beat = {**status, "conditions": [{**ready, "lastHeartbeatTime": moment}]}
        await send(target, "PATCH", path, {"status": beat})
        await asyncio.sleep(BEAT_SECONDS)


async def send(target: Target, method: str, path: str, body: Json = None) -> Reply:
    headers = {"Accept": "application/json", "User-Agent": "conformance/1"}
    if body is not None:
        headers["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
    encoded = msgspec.json.encode(body) if body is not None else b""
    return await target.send(Sent(method, path, {}, headers, encoded))
