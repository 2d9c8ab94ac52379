"""Whether the control plane answers while Pods burn every processor: p99 of a GET, beside its value when all is quiet.

Four Pods of the Ray image burn as many processors as the machine has, each, as Ray's workers would, or rest, as a file
tells them: quiet and busy rounds take turns, so that both see the same machine. The same GETs are sent one after the
other by the same client. What else happens on a machine only adds to a round, so the quietest of the quiet rounds is
what the median of the busy ones is held against. The first GETs of all do not count: connections, caches and the
start of the control plane are theirs. The client is weighed with the control plane, as what it measures is not how
long it waits for a processor itself. Needs root, as Pods with weights do.
"""

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from heliostat.kube.jsontree import JsonObject
from heliostat.local import own_group
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.transport import Call
from load.local_machine import local_machine
from load.pod_watch import PODS, watched

LIMIT = 5.0
BUSY_PODS = 4
ROUNDS = 5  # of each kind
SETTLE_SECONDS = 2.0
PAUSE_SECONDS = 0.005  # between two GETs: a client that never sleeps is never woken late
ORDERS = "/orders"  # where Pods look whether to burn
BURN = f"""
import os, time
for _ in range(os.cpu_count() - 1):
    if not os.fork():
        break
while True:
    if os.path.exists("{ORDERS}/burn"):
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
    else:
        time.sleep(0.05)
"""


class Measured:
    """Of each round: p50 and p99 in milliseconds, and how much of the machine was idle."""

    def __init__(self) -> None:
        self.p50: list[float] = []
        self.p99: list[float] = []
        self.idle: list[float] = []

    async def add(self, transport: HttpsTransport, count: int) -> None:
        before = _read_ticks()
        ordered = sorted(await _get_often(transport, count))
        idle, total = (after - earlier for after, earlier in zip(_read_ticks(), before, strict=True))
        self.idle.append(idle / max(1, total))
        self.p50.append(statistics.median(ordered))
        self.p99.append(ordered[int(len(ordered) * 0.99)])


def run_client(kubeconfig: Path, orders: Path, count: int) -> tuple[Measured, Measured]:
    return asyncio.run(measure(kubeconfig, orders, count))


async def measure(kubeconfig: Path, orders: Path, count: int) -> tuple[Measured, Measured]:
    quiet, busy = Measured(), Measured()
    async with watched(kubeconfig) as watch:
        transport = HttpsTransport(find_connection(os.environ, kubeconfig, ""), "bench")
        try:
            await watch.make([_pod(f"busy-{number}", orders) for number in range(BUSY_PODS)], "Running")
            await _get_often(transport, count)
            for _ in range(ROUNDS):
                (orders / "burn").unlink(missing_ok=True)
                await asyncio.sleep(SETTLE_SECONDS)
                await quiet.add(transport, count)
                (orders / "burn").touch()
                await asyncio.sleep(SETTLE_SECONDS)
                await busy.add(transport, count)
            return quiet, busy
        finally:
            await transport.close()


def _read_ticks() -> tuple[int, int]:
    """Idle, and all, since the machine was started."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


async def _get_often(transport: HttpsTransport, count: int) -> list[float]:
    """Milliseconds."""
    call, found = Call(method="GET", path=f"{PODS}/busy-0"), []
    for _ in range(count):
        begun = time.perf_counter()
        reply = await transport.send(call, 60.0)
        found.append((time.perf_counter() - begun) * 1e3)
        if reply.status != 200:
            raise SystemExit(f"{call}: {reply.status}")
        await asyncio.sleep(PAUSE_SECONDS)
    return found


def _pod(name: str, orders: Path) -> JsonObject:
    container = {
        "name": "c",
        "image": "rayproject/ray:2.52.0",
        "command": ["python", "-c", BURN],
        "resources": {"requests": {"cpu": "1", "memory": "1Mi"}},
        "volumeMounts": [{"name": "orders", "mountPath": ORDERS}],
    }
    volume = {"name": "orders", "hostPath": {"path": str(orders)}}
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [volume],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _tell(name: str, found: Measured) -> None:
    p50, idle = statistics.median(found.p50), statistics.median(found.idle)
    rounds = " ".join(f"{each:.2f}" for each in found.p99)
    print(f"{name:<20} idle {idle:4.0%}   p50 {p50:6.2f} ms   p99 by round {rounds} ms", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gets", type=int, default=1000, help=f"in each of {ROUNDS} rounds of both kinds")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("not measured: Pods as processes need root")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, also when time is up
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    with (
        tempfile.TemporaryDirectory() as orders,
        local_machine() as machine,
        ProcessPoolExecutor(1, initializer=own_group.join) as client,
    ):
        quiet, busy = client.submit(run_client, machine.state.kubeconfig, Path(orders), options.gets).result()
    _tell("Pods rest: GET", quiet)
    _tell(f"{BUSY_PODS} Pods burn: GET", busy)
    ratio = statistics.median(busy.p99) / min(quiet.p99)
    is_met = ratio <= LIMIT
    print(f"  p99, busy against the quietest {ratio:.2f} x, at most {LIMIT:g}: {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
