"""Local mode as people meet it: how long a run takes, what we cost beside Ray, and how fast Pods come and go.

``run``: ``heliostat run`` with nothing running, of a RayCluster with a program and of a RayJob, against ``ray start
--head`` and ``ray job submit`` by hand, until the program's answer is seen, all in this run. ``memory``: all our
processes with two Pods that have been up for some seconds. ``start``: from the request until a Pod is seen running,
less what its program takes by itself. ``many``: tiny Pods from the first request until the last one has succeeded, was
deleted and has left nothing on the node. Needs root, as Pods do.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from load.local_machine import HELIOSTAT, LocalMachine, local_machine, run_heliostat
from load.pod_watch import PodWatch, watched
from load.targets import environment

ROOT = Path(__file__).resolve().parents[1]
ANSWER = "the answer is 42"
TRIVIAL = "import ray; ray.init(); print('the answer is', ray.get(ray.remote(lambda: 6 * 7).remote()), flush=True)"
LOOK_SECONDS = 0.005
SETTLE_SECONDS = 5.0  # what was needed to start Pods is let go


class Sizes(Struct, frozen=True):
    runs: int = 3
    starts: int = 20
    pods: int = 100


QUICK = Sizes(runs=1, starts=5, pods=30)


class Bar(Struct, frozen=True):
    name: str
    value: float
    limit: float
    unit: str = ""
    is_floor: bool = False  # at least, not at most
    counts: bool = True  # False: told for comparison

    @property
    def is_met(self) -> bool:
        return not self.counts or (self.value >= self.limit if self.is_floor else self.value <= self.limit)

    def __str__(self) -> str:
        shown = f"{self.name:<66} {self.value:>8.2f} {self.unit:<6}"
        words = "at least" if self.is_floor else "at most"
        return f"{shown} {words} {self.limit:>6g}: {'met' if self.is_met else 'MISSED'}" if self.counts else shown


def measure_runs(sizes: Sizes) -> Iterator[Bar]:
    """One after the other, in turn: what else the machine does falls on both."""
    theirs, ours, jobs = [], [], []
    for _ in range(sizes.runs):
        theirs.append(_in_fresh_directory(_run_by_hand))
        ours.append(_in_fresh_directory(_run_heliostat))
        jobs.append(_in_fresh_directory(_run_rayjob))
    by_hand, with_us, as_job = map(statistics.median, (theirs, ours, jobs))
    yield Bar("ray start --head, ray job submit: until the answer", by_hand, 0, "s", counts=False)
    yield Bar("heliostat run of a RayCluster, nothing running: until the answer", with_us, 0, "s", counts=False)
    yield Bar("  against the same by hand", with_us / by_hand, 2.0, "x")
    yield Bar("heliostat run of a RayJob, nothing running: until the answer", as_job, 0, "s", counts=False)
    yield Bar("  against the same by hand", as_job / by_hand, 1.5, "x")


def _in_fresh_directory(run: Callable[[Path], float]) -> float:
    with tempfile.TemporaryDirectory(prefix="hs") as folder:  # short: Ray's sockets lie beneath it
        work = Path(folder) / "work"
        work.mkdir()
        (work / "trivial.py").write_text(TRIVIAL)
        return run(Path(folder))


def _run_by_hand(folder: Path) -> float:
    program = str(ROOT / "bench" / "load" / "by_hand.py")
    return _until_answer([sys.executable, program, str(folder / "ray"), "python", "trivial.py"], folder / "work")


def _run_heliostat(folder: Path) -> float:
    return _run(folder, ROOT / "examples" / "raycluster.yaml", "--", "python", "trivial.py")


def _run_rayjob(folder: Path) -> float:
    """The head alone, as by hand."""
    file = folder / "rayjob.json"
    file.write_text(json.dumps(_rayjob(f'python -c "{TRIVIAL}"')))
    return _run(folder, file)


def _run(folder: Path, file: Path, *command: str) -> float:
    state = f"--state={folder / 'state'}"
    try:
        return _until_answer([HELIOSTAT, "run", str(file), state, *command], folder / "work")
    finally:
        run_heliostat("down", "--purge", state)


def _rayjob(entrypoint: str) -> JsonObject:
    container = {"name": "ray-head", "image": "rayproject/ray:2.60.0"}
    head = {"rayStartParams": {"num-cpus": "2"}, "template": {"spec": {"containers": [container]}}}
    spec = {"entrypoint": entrypoint, "submissionMode": "HTTPMode", "rayClusterSpec": {"headGroupSpec": head}}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "trivial"}, "spec": spec}


def _until_answer(command: list[str], directory: Path) -> float:
    """Seconds; it is waited for to its end, too."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    begun, seconds, words = time.perf_counter(), 0.0, []
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment() | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            words.append(line)
            if ANSWER in line and not seconds:
                seconds = time.perf_counter() - begun
    if process.returncode or not seconds:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{''.join(words[-20:])}")
    return seconds


def measure_memory(_sizes: Sizes) -> Iterator[Bar]:
    with local_machine() as machine:

        async def bring_up(watch: PodWatch) -> None:
            await watch.make([_pod(name, "sleep", "1000") for name in ("head", "worker")], "Running")

        _watch(machine, bring_up)
        time.sleep(SETTLE_SECONDS)
        found = machine.memory()
    resident = sum(each.resident for each in found.values())
    yield Bar("all our processes with two Pods up: resident", resident, 220.0, "MB")
    proportional = sum(each.proportional for each in found.values())
    yield Bar("  with what they share counted once", proportional, 0, "MB", counts=False)
    for name, each in found.items():
        label = f"  {name} ({each.processes}), {each.proportional:.0f} MB with its part of what is shared"
        yield Bar(label, each.resident, 0, "MB", counts=False)


def measure_starts(sizes: Sizes) -> Iterator[Bar]:
    with local_machine() as machine:
        bare = statistics.median(_start_bare() for _ in range(sizes.starts))
        seconds: list[float] = []

        async def start_one_by_one(watch: PodWatch) -> None:
            for number in range(sizes.starts + 1):
                made = await watch.make([_pod(f"one-{number}", "sleep", "1000")], "Running")
                await watch.remove(made)
                seconds.extend(made.values())

        _watch(machine, start_one_by_one)
    found = statistics.median(seconds[1:])  # the first one finds everything cold
    yield Bar("the first Pod of a node: from the request until it runs", seconds[0] * 1e3, 0, "ms", counts=False)
    yield Bar("a Pod: from the request until it runs, p50", found * 1e3, 0, "ms", counts=False)
    yield Bar(f"  over the bare process ({bare * 1e3:.1f} ms)", (found - bare) * 1e3, 200.0, "ms")


def _start_bare() -> float:
    begun = time.perf_counter()
    subprocess.run(["true"], check=True)
    return time.perf_counter() - begun


def measure_many(sizes: Sizes) -> Iterator[Bar]:
    with local_machine() as machine:
        seconds: list[float] = []

        async def come_and_go(watch: PodWatch) -> None:
            await watch.remove(await watch.make([_pod("first", "true")], "Succeeded"))
            begun = time.perf_counter()
            made = await watch.make([_pod(f"tiny-{number}", "true") for number in range(sizes.pods)], "Succeeded")
            seconds.append(max(made.values()))
            await watch.remove(made)
            while machine.waiting_pods():
                await asyncio.sleep(LOOK_SECONDS)
            seconds.append(time.perf_counter() - begun)

        _watch(machine, come_and_go)
    succeeded, gone = seconds
    yield Bar(
        f"{sizes.pods} tiny Pods at once, until all have succeeded", sizes.pods / succeeded, 0, "/s", counts=False
    )
    yield Bar("  and were deleted and left nothing", sizes.pods / gone, 10.0, "/s", is_floor=True)


def _watch(machine: LocalMachine, work: Callable[[PodWatch], Awaitable[None]]) -> None:
    async def run() -> None:
        async with watched(machine.state.kubeconfig) as watch:
            await work(watch)

    asyncio.run(run())


def _pod(name: str, *command: str) -> JsonObject:
    container = {
        "name": "c",
        "image": "busybox",
        "command": list(command),
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
    }
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


PARTS: dict[str, Callable[[Sizes], Iterator[Bar]]] = {
    "run": measure_runs,
    "memory": measure_memory,
    "start": measure_starts,
    "many": measure_many,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be given more than once")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("not measured: Pods as processes need root")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, also when time is up
    are_met = True
    for part in options.part or [*PARTS]:
        print(f"{part}, load {os.getloadavg()[0]:.1f}", flush=True)
        for bar in PARTS[part](QUICK if options.quick else Sizes()):
            print(bar, flush=True)
            are_met &= bar.is_met
    return 0 if are_met else 1


if __name__ == "__main__":
    sys.exit(main())
