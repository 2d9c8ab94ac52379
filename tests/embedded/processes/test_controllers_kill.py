"""Controllers may die at any moment: kill -9, again and again, while Jobs run; every Job gets exactly its Pods.

The API server is a process of its own and lives on. Alone or elected, each life of the controllers is killed one second
after it has begun to work (and not before it has done some work: the machine may be busy), and the next begins at once.
Alone, whoever comes after very many is spared: on a busy machine a life does little more than start. On the clock,
whoever has the turn dies at every full second, whether or not it came to do anything. After each of the first kills
more Jobs come, so that however fast the machine is there is work left for the lives that follow.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import msgspec
import pytest

from embedded.processes.running import PATIENCE, ControllersProcess, ServerProcess
from embedded.processes.stand_bys import StandBys
from testing.test_apiserver import client_context

JOBS = 200
DOOMED_EVERY = 20  # of so many Jobs one fails, for ever, at its first Pod
LIFE_SECONDS = 1.0
MOST_KILLS = 40  # of one after the other; a quiet machine is done after six of them
PORTIONS = 4  # in which the Jobs come
JOBS_PATH = "/apis/batch/v1/namespaces/default/jobs"
PODS_PATH = "/api/v1/namespaces/default/pods"
FLAGS = ("--simulated-nodes=3", "--log-level=error")
# Alone: the start waits out what the dead one sent. Elected: three stand in line, and a killed leader's lease expires.
ALONE = ("--no-leader-elect", "--request-seconds=1")
ELECTED = ("--lease-seconds=4", "--renew-seconds=3", "--retry-seconds=0.4", "--request-seconds=0.9")
# On the clock: six stand by. The next waits the deadline and fills its caches; what is left of the second is work.
STANDING_BY = ("--no-leader-elect", "--request-seconds=0.3")
STAND_BYS = 6
CLOCK_SECONDS = 300  # until when all must be done

Kill: TypeAlias = "Callable[[Path, ServerProcess, Observed, Work], Awaitable[int]]"


def is_doomed(number: int) -> bool:
    return number % DOOMED_EVERY == 0


def pods_of(number: int) -> int:
    """How many Pods it takes."""
    return 1 if is_doomed(number) else 1 + number % 2


def job(number: int) -> dict[str, Any]:
    simulate = f"{'fail' if is_doomed(number) else 'succeed'}-after={number % 5}s"
    template = {
        "metadata": {"annotations": {"heliostat.dev/simulate": simulate}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]},
    }
    pods = pods_of(number)
    spec = {"completions": pods, "parallelism": pods, "backoffLimit": 0, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name_of(number)}, "spec": spec}


def name_of(number: int) -> str:
    return f"job-{number}"


class Observed:
    """What a watch from the very beginning has seen."""

    def __init__(self) -> None:
        self.pods: dict[str, set[str]] = {}  # the UIDs of all Pods that a Job ever had
        self.finished: set[str] = set()
        self.changes = 0  # that only controllers make
        self.all_finished = asyncio.Event()

    async def watch_pods(self, session: aiohttp.ClientSession) -> None:
        async for event in watch(session, PODS_PATH):
            self.changes += 1
            metadata = event["object"]["metadata"]
            self.pods.setdefault(metadata["labels"]["job-name"], set()).add(metadata["uid"])

    async def watch_jobs(self, session: aiohttp.ClientSession) -> None:
        async for event in watch(session, JOBS_PATH):
            conditions = event["object"]["status"].get("conditions", [])
            if any(found["type"] in ("Complete", "Failed") and found["status"] == "True" for found in conditions):
                self.changes += 1
                self.finished.add(event["object"]["metadata"]["name"])
            if len(self.finished) == JOBS:
                self.all_finished.set()


async def watch(session: aiohttp.ClientSession, path: str) -> AsyncIterator[dict[str, Any]]:
    query = {"watch": "1", "timeoutSeconds": "3000"}
    async with session.get(path, params=query, timeout=aiohttp.ClientTimeout(total=None)) as answer:
        rest = b""
        try:
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield msgspec.json.decode(line)
        finally:
            # A polite end waits for the server's; the loop may be closed before that comes.
            if answer.connection is not None and answer.connection.transport is not None:
                answer.connection.transport.abort()


class Work:
    """The Jobs, a portion at a time."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._portions = [range(first, JOBS, PORTIONS) for first in range(PORTIONS)]

    async def bring_more(self) -> None:
        """Nothing, when all have come."""
        if self._portions:
            await asyncio.gather(*map(self._create, self._portions.pop()))

    async def _create(self, number: int) -> None:
        async with self._session.post(JOBS_PATH, json=job(number)) as answer:
            assert answer.status == 201, await answer.text()


async def outlives(controllers: ControllersProcess, observed: Observed, life: float = LIFE_SECONDS) -> bool:
    """Whether every Job has finished before its time is over."""
    loop = asyncio.get_running_loop()
    begun, seen = loop.time(), observed.changes
    while loop.time() < begun + life or observed.changes == seen:
        if controllers.exit_code is not None:
            assert "leadership lost" in controllers.told()  # the machine was too busy to renew in time
            return False
        assert loop.time() < begun + life + PATIENCE, controllers.told()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await observed.all_finished.wait()
                return True
    return False


async def kill_one_after_the_other(folder: Path, server: ServerProcess, observed: Observed, work: Work) -> int:
    kills = 0
    while True:
        with ControllersProcess(folder, server.kubeconfig, *FLAGS, *ALONE) as controllers:
            await asyncio.to_thread(controllers.wait_answer, "/readyz", 200)
            if await outlives(controllers, observed, LIFE_SECONDS if kills < MOST_KILLS else PATIENCE):
                assert controllers.stop() == 0
                return kills
            assert kills < MOST_KILLS, f"{len(observed.finished)} of {JOBS} Jobs finished, and nobody was killed"
            controllers.kill()
            kills += 1
        await work.bring_more()


async def kill_the_leader(folder: Path, server: ServerProcess, observed: Observed, work: Work) -> int:
    """Of three; whoever ends, by us or because its lease was lost, is started again."""
    kills = 0
    with contextlib.ExitStack() as ends:
        line = Line(folder, server, ends)
        while True:
            leader = await line.find_leader()
            if await outlives(leader, observed):
                return kills
            leader.kill()
            kills += 1
            await work.bring_more()


async def kill_at_every_full_second(folder: Path, server: ServerProcess, observed: Observed, work: Work) -> int:
    """By the clock alone: a second begins when it begins, however late the kill before was."""
    kills = 0
    flags = (*FLAGS, *STANDING_BY, f"--turn-file={folder / 'turn'}")

    def start(name: str) -> ControllersProcess:
        return ControllersProcess(folder, server.kubeconfig, *flags, name=name)

    with StandBys(folder / "turn", start, size=STAND_BYS) as stand_bys:
        begun = asyncio.get_running_loop().time()
        for second in range(1, CLOCK_SECONDS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(begun + second):
                    await observed.all_finished.wait()
                    assert kills > second / 2, f"in {second - kills} of {second} seconds there was nobody to kill"
                    return kills
            if stand_bys.kill_holder() is not None:
                kills += 1
                await work.bring_more()
    raise AssertionError(f"{len(observed.finished)} of {JOBS} Jobs finished in {CLOCK_SECONDS} s")


class Line:
    """Three processes, one of which leads."""

    def __init__(self, folder: Path, server: ServerProcess, ends: contextlib.ExitStack) -> None:
        self._folder = folder
        self._server = server
        self._ends = ends
        self._started = 0
        self._places = [self._start() for _ in range(3)]

    def _start(self) -> ControllersProcess:
        self._started += 1
        name = f"controllers-{self._started}"
        process = ControllersProcess(self._folder, self._server.kubeconfig, *FLAGS, *ELECTED, name=name)
        return self._ends.enter_context(process)

    async def find_leader(self) -> ControllersProcess:
        async with asyncio.timeout(PATIENCE):
            while True:
                self._places = [self._start() if one.exit_code is not None else one for one in self._places]
                for process in self._places:
                    if await asyncio.to_thread(process.leads):
                        return process
                await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kill",
    [
        pytest.param(kill_one_after_the_other, id="alone"),
        pytest.param(kill_the_leader, id="elected", marks=pytest.mark.soak),
        pytest.param(kill_at_every_full_second, id="on-the-clock", marks=pytest.mark.soak),
    ],
)
def test_every_job_gets_exactly_its_pods_though_controllers_die_every_second(tmp_path: Path, kill: Kill) -> None:
    async def run(server: ServerProcess) -> int:
        connector = aiohttp.TCPConnector(ssl=client_context(server.kubeconfig), limit=32)
        async with aiohttp.ClientSession(server.address, connector=connector) as session:
            observed = Observed()
            watches = [
                asyncio.create_task(watching(session)) for watching in (observed.watch_pods, observed.watch_jobs)
            ]
            work = Work(session)
            await work.bring_more()
            kills = await kill(tmp_path, server, observed, work)
            await verify(session, observed)
            for task in watches:
                task.cancel()
            await asyncio.gather(*watches, return_exceptions=True)
            return kills

    with ServerProcess(tmp_path, "--memory") as server:
        kills = asyncio.run(run(server))
        assert "Traceback" not in server.told()
    assert kills >= PORTIONS - 1, "the Jobs were done although some had not come yet"


async def verify(session: aiohttp.ClientSession, observed: Observed) -> None:
    expected = {name_of(number): pods_of(number) for number in range(JOBS)}
    async with session.get(JOBS_PATH) as answer:
        jobs = (await answer.json())["items"]
    told = {found["metadata"]["name"]: found["status"] for found in jobs}
    assert {name: status.get("succeeded", 0) + status.get("failed", 0) for name, status in told.items()} == expected
    async with session.get(PODS_PATH) as answer:
        pods = (await answer.json())["items"]
    assert Counter(pod["metadata"]["labels"]["job-name"] for pod in pods) == expected
    doomed = sum(map(is_doomed, range(JOBS)))
    phases = Counter(pod["status"]["phase"] for pod in pods)
    assert phases == {"Failed": doomed, "Succeeded": sum(expected.values()) - doomed}
    assert {name: len(uids) for name, uids in observed.pods.items()} == expected, "Pods were made twice"
