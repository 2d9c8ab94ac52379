"""The embedded API server against a real kube-apiserver with etcd, both on this machine, in the same run.

wrk with 16 connections over TLS, HTTP/1.1, no compression: creates of a 2 kB ConfigMap, creates of a RayCluster
(CRD validation), gets, lists of 500 objects of 2 kB, each also as processor time; then time to ready and memory at rest
with the ray.io CRDs.
Without the real binaries (tools/kubernetes/build.py) or without wrk it says so and measures what it can. Bars:
creates 1x, CRD creates 1.5x, gets 1x, lists 5x.
"""

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from shutil import which
from typing import TypeAlias

from load.targets import MAPS, ROOT, Target, environment, ours, processor_seconds, real

SECONDS = 4
TURNS = 3  # of each server with each question, one after the other, so that both meet the same machine
CONNECTIONS = 16
STARTS = 5
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ASKED_AGAIN = "lists of 500/s"  # the same list each time, as clients do that come back or poll
BARS = {"ConfigMap creates/s": 1.0, "RayCluster creates/s": 1.5, "gets/s": 1.0, ASKED_AGAIN: 5.0}

Ask: TypeAlias = Callable[[Target, int], float]  # requests per second in one of the turns

# Each has a parameter of its own that means nothing to a list, so no server can have the answer at hand.
LISTS_NOT_ASKED_BEFORE = f"""
local n = 0
request = function()
  n = n + 1
  return wrk.format("GET", "{MAPS}?limit=500&timeoutSeconds=" .. (1000 + n))
end
"""


def report_start() -> None:
    """``heliostat apiserver --memory`` until it says that it is ready: the time and the processor's part of it.

    On a busy machine the second is the one that means something.
    """
    seen, processor = [], []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "heliostat.cli", "apiserver", "--memory", "--port", "0"]
        for _ in range(STARTS):
            start = time.perf_counter()
            server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment())
            assert server.stdout is not None
            if not server.stdout.readline().startswith("ready"):
                raise SystemExit("heliostat apiserver did not become ready")
            seen.append(time.perf_counter() - start)
            processor.append(processor_seconds(server.pid))
            server.terminate()
            server.wait()
    print(
        f"ready in {statistics.median(seen):.2f} s (best {min(seen):.2f}), of which the processor"
        f" {statistics.median(processor):.2f} s (best {min(processor):.2f}); bar 1 s; {STARTS} starts, load"
        f" {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        flush=True,
    )


def wrk(target: Target, path: str, script: str = "") -> float:
    """Requests per second; a reply that is no success ends the benchmark."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as lua:
        lua.write(script)
        lua.flush()
        command = [
            "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-H", f"Authorization: Bearer {target.token}",
            *(["-s", lua.name] if script else []), target.url + path,
        ]  # fmt: skip
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output:
        raise SystemExit(f"{target.name} refused requests:\n{output}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert rate is not None, output
    return float(rate[1])


def creates(target: Target, path: str, tree: dict[str, object], prefix: str) -> float:
    """Each request has a name of its own."""
    body = json.dumps({**tree, "metadata": {"name": "NAME"}}).replace("\\", "\\\\").replace("'", "\\'")
    script = f"""
local n = 0
local body = '{body}'
request = function()
  n = n + 1
  local headers = {{ ["Content-Type"] = "application/json", ["Authorization"] = "Bearer {target.token}" }}
  return wrk.format("POST", nil, headers, (body:gsub("NAME", "{prefix}" .. n)))
end
"""
    return wrk(target, path, script)


def config_map() -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "data": {"payload": "x" * 1900}}


def prepare(target: Target) -> dict[str, float]:
    """The figures of a server that is not asked anything yet."""
    from heliostat.api.crds import all_crds

    for crd in all_crds():
        target.call("POST", CRDS, crd)
    _wait_served(target)
    time.sleep(2)  # at rest: the memory figure is taken when nothing runs
    figures = {"ready, s": target.ready_seconds, "memory with the ray.io CRDs, MB": target.memory_mb()}
    target.call("POST", MAPS, {**config_map(), "metadata": {"name": "one"}})
    return figures


def questions() -> dict[str, Ask]:
    from heliostat.kube.documents import read_documents

    cluster = read_documents((ROOT / "examples" / "raycluster.yaml").read_bytes())[0].tree
    return {
        "ConfigMap creates/s": lambda target, turn: creates(target, MAPS, config_map(), f"bench-{turn}-"),
        "RayCluster creates/s": lambda target, turn: creates(target, CLUSTERS, cluster, f"rc-{turn}-"),
        "gets/s": lambda target, _: wrk(target, f"{MAPS}/one"),
        ASKED_AGAIN: lambda target, _: wrk(target, f"{MAPS}?limit=500"),
        "lists of 500 not asked before/s": lambda target, _: wrk(target, MAPS, LISTS_NOT_ASKED_BEFORE),
    }


def measure(targets: list[Target]) -> list[dict[str, float]]:
    figures = [prepare(target) for target in targets]
    for name, ask in questions().items():
        rates: list[list[float]] = [[] for _ in targets]
        costs: list[list[float]] = [[] for _ in targets]
        for turn, (at, target) in itertools.product(range(TURNS), enumerate(targets)):
            before = target.processor_seconds()
            rates[at].append(ask(target, turn))
            costs[at].append((target.processor_seconds() - before) / (rates[at][-1] * SECONDS) * 1000)
        for at, of_target in enumerate(figures):
            of_target[name] = statistics.median(rates[at])
            of_target[cost_of(name)] = statistics.median(costs[at])
    return figures


def cost_of(rate: str) -> str:
    """The server's processor time for one of them, which a busy machine changes less than the rate."""
    return f"  {rate.removesuffix('/s')}, ms of the processor"


def _wait_served(target: Target) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            target.call("GET", CLUSTERS)
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"{target.name} does not serve RayClusters")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alone", action="store_true", help="do not start the real kube-apiserver")
    options = parser.parse_args()
    if which("wrk") is None:
        print("wrk is not installed (Debian's package wrk): nothing measured")
        return 0
    report_start()
    with ExitStack() as stack:
        targets = [stack.enter_context(ours())]
        if not options.alone:
            targets += start_real(stack)
        mine, *others = measure(targets)
    return report(mine, others[0] if others else {})


def start_real(stack: ExitStack) -> list[Target]:
    try:
        return [stack.enter_context(real())]
    except Exception as error:  # noqa: BLE001 - whatever keeps the real one from running is told, not hidden
        print(f"no real kube-apiserver to compare with: {error}")
        return []


def report(mine: dict[str, float], theirs: dict[str, float]) -> int:
    failed = False
    for name, figure in mine.items():
        other = theirs.get(name)
        ratio = f"{other:>10,.2f}  {figure / other:6.2f}x" if other else ""
        failed |= bool(other) and figure / (other or 1) < BARS.get(name, 0)
        print(f"{name:<54} {figure:>10,.2f}  {ratio}  {f'(bar {BARS[name]}x)' if name in BARS else ''}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
