"""The operator may die at any moment: kill -9, again and again, while RayClusters are made, changed and deleted.

The API server with Kubernetes' own controllers and simulated nodes is a process of its own and lives on. Alone, each
life of the operator ends two seconds after it has begun to work (and not before it has done some: the machine may be
busy), and the next begins at once. On the clock, whoever has the turn dies every two seconds, whether or not it came to
do anything, and another stands by. When nobody asks for anything new, the last one works undisturbed, and all is exact.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec import Struct

from embedded.processes.running import PATIENCE, ServerProcess, wait_until
from embedded.processes.stand_bys import StandBys
from fleet.api import FleetApi, find_differences, watched_fleet
from fleet.history import find_doubles
from fleet.lives import plan_turns
from operator_process import OperatorProcess

LIFE_SECONDS = 2.0
LIFE_CPU_SECONDS = 0.2
LOOK_SECONDS = 0.1
CLUSTERS_PER_NODE = 10
# Alone: the start waits out what the dead one sent, for as long as a busy server may take to carry it out.
ALONE = ("--enable-leader-election=false", "--request-seconds=1.5")
# On the clock: the next waits this deadline and fills its caches; what is left of the two seconds is work.
STANDING_BY = ("--enable-leader-election=false", "--request-seconds=0.5")
STAND_BYS = 3
LEAST_KILLS = 4

Kill: TypeAlias = Callable[[Path, ServerProcess, "asyncio.Task[None]", "Kills"], Coroutine[Any, Any, None]]


class Trial(Struct, frozen=True):
    clusters: int
    seconds: float  # for which people ask for something new
    seed: int = 1

    @property
    def patience(self) -> float:
        return PATIENCE + self.clusters / 5

    @property
    def server_flags(self) -> tuple[str, ...]:
        return "--memory", "--controllers", f"--simulated-nodes={self.clusters // CLUSTERS_PER_NODE}"


class Kills:
    """How many there were, and whether people ask for nothing until there is another one."""

    def __init__(self) -> None:
        self.count = 0
        self.is_awaited = False

    def note(self, *, is_hit: bool = True) -> None:
        self.count += is_hit

    async def until(self, count: int) -> None:
        while self.count < count:
            self.is_awaited = True
            await asyncio.sleep(LOOK_SECONDS)
        self.is_awaited = False


async def ask_people(api: FleetApi, trial: Trial, kills: Kills) -> None:
    """The last of them ask a few at a time, so that something goes wrong between them however slow the machine is."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    turns = plan_turns(trial.clusters, trial.seconds, trial.seed)
    last = [turn for turn in turns if turn.at > trial.seconds * 0.8]
    for turn in turns:
        await asyncio.sleep(begun + turn.at - loop.time())
        if turn in last:
            async with asyncio.timeout(trial.patience):
                await kills.until(LEAST_KILLS * (last.index(turn) + 1) // len(last))
        await api.take_turn(turn)


async def kill_again_and_again(folder: Path, server: ServerProcess, people: asyncio.Task[None], kills: Kills) -> None:
    while not people.done():
        with OperatorProcess(folder, server.kubeconfig, *ALONE) as operator:
            await live(operator, people, kills)
            operator.kill()
            kills.note()


async def kill_on_the_clock(folder: Path, server: ServerProcess, people: asyncio.Task[None], kills: Kills) -> None:
    """Two seconds begin when they begin, however late the kill before was."""
    flags = (*STANDING_BY, f"--turn-file={folder / 'turn'}")

    def start(name: str) -> OperatorProcess:
        return OperatorProcess(folder, server.kubeconfig, *flags, name=name)

    with StandBys(folder / "turn", start, size=STAND_BYS) as stand_bys:
        begun = asyncio.get_running_loop().time()
        for due in count(1):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(begun + due * LIFE_SECONDS):
                    await asyncio.shield(people)
                    break
            kills.note(is_hit=stand_bys.kill_holder() is not None)
    assert kills.count > due / 2, f"{due - kills.count} of {due} times there was nobody to kill"


async def live(operator: OperatorProcess, people: asyncio.Task[None], kills: Kills) -> None:
    """Until its time has come, or nobody asks for anything new any more. Who is asked for nothing has little to do."""
    await asyncio.to_thread(wait_until, lambda: "working" in operator.told(), operator.told)
    loop = asyncio.get_running_loop()
    begun, used = loop.time(), operator.cpu_seconds
    while loop.time() < begun + LIFE_SECONDS or (
        operator.cpu_seconds < used + LIFE_CPU_SECONDS and not kills.is_awaited
    ):
        if people.done():
            return
        assert operator.exit_code is None, operator.told()
        assert loop.time() < begun + PATIENCE, operator.told()
        await asyncio.sleep(LOOK_SECONDS)


async def finish(folder: Path, server: ServerProcess, api: FleetApi, trial: Trial) -> None:
    with OperatorProcess(folder, server.kubeconfig, *ALONE) as operator:
        await asyncio.to_thread(operator.wait_answer, "/readyz", 200)
        differences = ["not looked yet"]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(trial.patience):
                while differences:
                    await asyncio.sleep(LOOK_SECONDS)
                    differences = await find_differences(api, trial.clusters)
        assert not differences, f"{differences}\n{operator.told()}"
        assert operator.stop() == 0
        assert "Traceback" not in operator.told()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trial", "kill"),
    [
        pytest.param(Trial(clusters=50, seconds=24.0), kill_again_and_again, id="50"),
        pytest.param(Trial(clusters=50, seconds=60.0), kill_on_the_clock, id="on-the-clock", marks=pytest.mark.soak),
        pytest.param(Trial(clusters=500, seconds=300.0), kill_again_and_again, id="500", marks=pytest.mark.soak),
    ],
)
def test_every_cluster_gets_exactly_its_pods_though_the_operator_dies_every_two_seconds(
    tmp_path: Path, trial: Trial, kill: Kill
) -> None:
    async def run(server: ServerProcess) -> int:
        async with watched_fleet(server.address, server.kubeconfig) as api:
            kills = Kills()
            async with asyncio.TaskGroup() as tasks:
                people = tasks.create_task(ask_people(api, trial, kills))
                tasks.create_task(kill(tmp_path, server, people, kills))
            await finish(tmp_path, server, api, trial)
            assert find_doubles(api.history) == []
            return kills.count

    with ServerProcess(tmp_path, *trial.server_flags) as server:
        kills = asyncio.run(run(server))
        assert "Traceback" not in server.told()
    assert kills >= LEAST_KILLS, "people were done before anything could go wrong; give them more time"
