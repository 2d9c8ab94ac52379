"""A machine that lets nothing be kept apart: Pods are groups of its processes, and say so."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from embedded.node.node_world import (
    NodeWorld,
    Tree,
    is_phase,
    node_world,
    processes_named,
    processes_of,
    shell,
    state,
)
from heliostat.embedded.node.isolating.plain_pods import temporary_of

pytestmark = pytest.mark.slow

DAEMON = "(setsid sleep 54321 &)"
PORT: dict[str, Any] = {"ports": [{"containerPort": 4567}]}


@asynccontextmanager
async def plain_world(directory: Path) -> AsyncIterator[NodeWorld]:
    async with node_world(directory, plain_because="this is a test") as world:
        yield world
    assert processes_of(directory) == []


def daemons() -> list[int]:
    """Processes that hold on to nobody, as those of a Pod without namespaces may be."""
    return processes_named("sleep 54321")


def why_waiting(pod: Tree) -> str:
    """Empty: it does not, or nobody knows yet."""
    return str(state(pod).get("waiting", {}).get("message", ""))


def test_a_pod_says_what_it_shares_and_leaves_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with plain_world(tmp_path) as world:
            script = f"{DAEMON}; echo x > $TMPDIR/file; cd; echo x > file; echo in $PWD; exec sleep 1000"
            await world.run_pod("first", shell(script))
            pod = await world.until("first", is_phase("Running"))
            await world.until_log(pod, f"in {tmp_path}/pods/{pod['metadata']['uid']}/home")
            (told,) = [each for each in pod["status"]["conditions"] if each["type"] == "heliostat.dev/Isolated"]
            assert told["status"] == "False"
            assert "because this is a test" in told["message"]
            assert pod["status"]["podIP"] == pod["status"]["hostIP"]
            temporary = temporary_of(tmp_path / "pods" / pod["metadata"]["uid"])
            assert (temporary / "file").read_text() == "x\n"
            await world.until_true(lambda: len(daemons()) == 1)  # the log does not wait for what runs beside
            await world.delete_pod("first")
            await world.until_gone("first")
            assert daemons() == []
            assert not temporary.exists()

    asyncio.run(scenario())


def test_a_pod_finds_services_at_the_address_of_the_machine(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with plain_world(tmp_path) as world:
            variable = {"name": "WHERE", "value": "a-svc.default.svc.cluster.local:80"}
            script = "echo $WHERE and b.default.svc; exec sleep 1000"
            await world.run_pod("first", shell(script, env=[variable]))
            pod = await world.until("first", is_phase("Running"))
            address = pod["status"]["hostIP"]
            await world.until_log(pod, f"{address}:80 and {address}")

    asyncio.run(scenario())


def test_a_pod_whose_port_is_taken_waits_until_it_is_free(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with plain_world(tmp_path) as world:
            await world.run_pod("first", shell("exec sleep 1000", **PORT))
            await world.until("first", is_phase("Running"))
            await world.run_pod("second", shell("exec sleep 1000", **PORT))
            pod = await world.until("second", why_waiting)
            assert "port 4567/TCP is used by another Pod" in why_waiting(pod)
            await world.delete_pod("first")
            await world.until("second", is_phase("Running"))

    asyncio.run(scenario())


def test_of_two_pods_that_begin_at_once_one_has_the_port(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with plain_world(tmp_path) as world:
            await asyncio.gather(*(world.run_pod(name, shell("exec sleep 1000", **PORT)) for name in "ab"))
            pods = [await world.until(name, lambda pod: is_phase("Running")(pod) or why_waiting(pod)) for name in "ab"]
            assert sorted(is_phase("Running")(pod) for pod in pods) == [False, True]

    asyncio.run(scenario())


def test_a_volume_that_cannot_be_shown_holds_the_container_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with plain_world(tmp_path) as world:
            container = shell("true", volumeMounts=[{"name": "data", "mountPath": "/data"}])
            await world.run_pod("first", container, volumes=[{"name": "data", "emptyDir": {}}])
            pod = await world.until("first", why_waiting)
            assert state(pod)["waiting"]["reason"] == "CreateContainerConfigError"
            assert "a volume cannot be shown at /data" in why_waiting(pod)

    asyncio.run(scenario())


def test_exit_codes_are_told_and_a_shim_that_is_killed_takes_its_family_along(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with plain_world(tmp_path) as world:
            await world.run_pod("ends", shell("exit 7"), restartPolicy="Never")
            ended = await world.until("ends", is_phase("Failed"))
            assert state(ended)["terminated"]["exitCode"] == 7
            await world.run_pod("stays", shell(f"{DAEMON}; exec sleep 1000"), restartPolicy="Never")
            pod = await world.until("stays", is_phase("Running"))
            await world.until_true(lambda: len(daemons()) == 1)
            place = tmp_path / "pods" / pod["metadata"]["uid"]
            os.kill(int((place / "shim.pid").read_text().split()[0]), signal.SIGKILL)
            await world.until_true(lambda: daemons() == [])

    asyncio.run(scenario())
