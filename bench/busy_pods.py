"""Whether the control plane answers while Pods burn every processor: p99 of a GET, beside its value when all is quiet.

Four Pods of the Ray image burn as many processors as the machine has, each, as Ray's workers would; the same GETs are
sent one after the other by the same client before and meanwhile, in one run. The client is weighed with the control
plane, as what it measures is not how long it waits for a processor itself. Needs root, as Pods with weights do.
"""

import argparse
import asyncio
import os
import signal
import statistics
import sys
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
SETTLE_SECONDS = 2.0
PAUSE_SECONDS = 0.005  # between two GETs: a client that never sleeps is never woken late
BURN = "import os\nfor _ in range(os.cpu_count() - 1): os.fork() or [None for _ in iter(int, 1)]\nwhile True: pass"


def run_client(kubeconfig: Path, count: int) -> tuple[list[float], list[float]]:
    return asyncio.run(measure(kubeconfig, count))


async def measure(kubeconfig: Path, count: int) -> tuple[list[float], list[float]]:
    async with watched(kubeconfig) as watch:
        transport = HttpsTransport(find_connection(os.environ, kubeconfig, ""), "bench")
        try:
            await watch.make([_pod("quiet", "import time\ntime.sleep(10_000)")], "Running")
            await asyncio.sleep(SETTLE_SECONDS)
            quiet = await _get_often(transport, count)
            await watch.make([_pod(f"busy-{number}", BURN) for number in range(BUSY_PODS)], "Running")
            await asyncio.sleep(SETTLE_SECONDS)
            return quiet, await _get_often(transport, count)
        finally:
            await transport.close()


async def _get_often(transport: HttpsTransport, count: int) -> list[float]:
    """Milliseconds, in order of size."""
    call, found = Call(method="GET", path=f"{PODS}/quiet"), []
    for _ in range(count):
        begun = time.perf_counter()
        reply = await transport.send(call, 60.0)
        found.append((time.perf_counter() - begun) * 1e3)
        if reply.status != 200:
            raise SystemExit(f"{call}: {reply.status}")
        await asyncio.sleep(PAUSE_SECONDS)
    return sorted(found)


def _pod(name: str, program: str) -> JsonObject:
    container = {
        "name": "c",
        "image": "rayproject/ray:2.52.0",
        "command": ["python", "-c", program],
        "resources": {"requests": {"cpu": "1", "memory": "1Mi"}},
    }
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _tell(name: str, found: list[float]) -> float:
    p99 = found[int(len(found) * 0.99)]
    print(f"{name:<44} p50 {statistics.median(found):7.2f} ms   p99 {p99:7.2f} ms", flush=True)
    return p99


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gets", type=int, default=1000, help="in each of the two halves")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("not measured: Pods as processes need root")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, also when time is up
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    with local_machine() as machine, ProcessPoolExecutor(1, initializer=own_group.join) as client:
        quiet, busy = client.submit(run_client, machine.state.kubeconfig, options.gets).result()
    ratio = _tell(f"{BUSY_PODS} Pods burn every processor: GET", busy) / _tell("one quiet Pod: GET", quiet)
    is_met = ratio <= LIMIT
    print(f"  p99 against the quiet one {ratio:.2f} x, at most {LIMIT:g}: {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
