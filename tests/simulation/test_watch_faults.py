"""Each fault of a watch does what it is called, and what one resource has with one program lasts."""

import asyncio
from typing import Any

import msgspec
import pytest

from heliostat.runtime.transport import Call, Reply
from heliostat.testing.simulation.connection import Connection
from heliostat.testing.simulation.faults import Cut, Deaf, Fault, Injection, Lag, Miss, Refuse, Repeat
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import World, run_world

MAPS = "/api/v1/namespaces/default/configmaps"
WATCH_SECONDS = 45


def hear(*faults: Fault, seconds: float = 200.0) -> list[str]:
    """What one program hears that watches again and again, and when; something is written at 10, 20 and 30 s."""
    heard: list[str] = []

    async def program(connection: Connection, life: int) -> None:
        clock = asyncio.get_running_loop().time
        revision = "1"
        while True:
            query = (("watch", "true"), ("resourceVersion", revision), ("timeoutSeconds", str(WATCH_SECONDS)))
            opened = await connection.open(Call(method="GET", path=MAPS, query=query), 5.0)
            if isinstance(opened, Reply):
                heard.append(f"{opened.status} at {clock():.0f}")
                continue
            async for chunk in opened:
                for line in chunk.splitlines():
                    told = _read(line)
                    revision = told.get("resourceVersion", revision)
                    heard.append(f"{told.get('name', told)} at {clock():.0f}")

    async def scenario(world: World) -> None:
        world.start("listener", program)
        for name in ("a", "b", "c"):
            await asyncio.sleep(10.0)
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            await world.request("POST", MAPS, body)
        await asyncio.sleep(seconds - world.time())

    script = Script(tuple(Injection("listener", number, fault) for number, fault in enumerate(faults)))
    assert run_world(scenario, seed=1, script=script).violation is None
    return heard


def _read(line: bytes) -> dict[str, Any]:
    try:
        found: Any = msgspec.json.decode(line)["object"]
    except msgspec.DecodeError:
        return {"name": "half a line"}
    metadata: dict[str, Any] = found.get("metadata") or {"name": found["code"]}
    return metadata


@pytest.mark.parametrize(
    ("fault", "heard"),
    [
        (Lag(8.0), ["a at 18", "b at 28", "c at 38"]),
        (Lag(25.0), ["a at 35", "b at 45", "c at 45"]),  # the watch ends at 45, and the next one is healthy
        (Lag(15.0, one_in=3), ["a at 25", "b at 25", "c at 45"]),
        (Cut(1), ["a at 10", "b at 20", "c at 30"]),
        (Cut(1, mid_line=True), ["a at 10", "half a line at 20", "b at 20", "c at 30"]),
        (Repeat(), ["a at 10", "a at 10", "b at 20", "b at 20", "c at 30", "c at 30"]),
        (Miss(1, 30.0), ["a at 10", "410 at 50", "b at 50", "c at 50"]),
        (Deaf(1), ["a at 10"]),
        (Refuse(410), ["410 at 0", "a at 10", "b at 20", "c at 30"]),
    ],
    ids=str,
)
def test_a_fault_of_a_watch_does_what_it_is_called(fault: Fault, heard: list[str]) -> None:
    assert hear(fault) == heard


def test_another_watch_of_a_server_that_is_behind_is_no_newer() -> None:
    heard = hear(*[Lag(120.0)] * 20)
    assert heard == ["a at 130", "b at 140", "c at 150"]
