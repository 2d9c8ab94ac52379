"""Whole control planes for the benchmarks: ours in one process, and the real one with kwok's nodes; both have the same.

Both serve over HTTPS with the admission that controllers need, keep their state in files without waiting for the disk,
and have nodes that exist only as objects: a Pod that is bound is reported ready, a Pod that must go is removed.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from load.targets import ROOT, Target, children, own_process

OURS = """
import asyncio, sys, uvloop
from pathlib import Path
from heliostat.kube.hidden import Hidden
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.control_plane import ControlPlane, ControlPlaneOptions
from heliostat.embedded.controllers.nodes.machines import build_machines
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.nodes.stages import FAST_STAGES
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.serving import EmbeddedServer, ServerOptions

async def main():
    token, data, nodes = sys.argv[1:]
    tell = lambda *what: print(*map(repr, what), file=sys.stderr, flush=True)
    options = ServerOptions(
        data=Path(data), synchronous="NORMAL",
        admission=AdmissionOptions(service_accounts=True, storage_protection=True),
        tokens=((Hidden(token), User("admin", groups=(MASTERS, "system:authenticated"))),),
    )
    async with EmbeddedServer(options, on_bug=tell) as server:
        transport = InProcessTransport(server.core.handle, User("system:kube-controller-manager", groups=(MASTERS,)))
        simulation = Simulation(build_machines(int(nodes)), FAST_STAGES)
        wanted = ControlPlaneOptions(root_certificate="a certificate", simulation=simulation)
        plane = ControlPlane(transport, wanted, on_problem=tell)
        print("ready", server.address, flush=True)
        await plane.run(asyncio.Event())

uvloop.run(main())
"""
PARTS = ("kube-controller-manager", "kube-scheduler", "kwok")
NODES = "/api/v1/nodes"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
READY_SECONDS = 120.0


@contextmanager
def own_plane(nodes: int) -> Iterator[Target]:
    with own_process(OURS, str(nodes)) as target:
        _wait_until_settled(target, nodes)
        yield target


def find_hindrance() -> str:
    """Why the real one cannot be measured here, with the command that mends it; or nothing."""
    sys.path.insert(0, str(ROOT))
    from tools.kubernetes.build import find

    missing = [part for part in ("etcd", "kube-apiserver", *PARTS) if find(part) is None]
    if missing:
        return f"not built: {', '.join(missing)} (python -m tools.kubernetes.build {' '.join(missing)})"
    told = subprocess.run([str(find("etcd")), "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"etcd Version: (\d+)\.(\d+)\.(\d+)", told)[0]))
    if version >= (3, 5, 8) or (3, 4, 25) <= version < (3, 5):
        return ""
    # It cannot tell how far a watch is: Pods are bound at once and reported ready 16 to 40 s later, whoever made them.
    shown = ".".join(map(str, version))
    return f"kwok's nodes stall with etcd {shown} (python -m tools.kubernetes.build --own etcd)"


@contextmanager
def real_plane(nodes: int) -> Iterator[tuple[Target, tuple[int, ...]]]:
    """With the processes that stand for nodes apart: kwok is no part of a control plane."""
    sys.path.insert(0, str(ROOT))
    from tools.kubernetes.run import ControlPlane

    before = children()
    start = time.perf_counter()
    with ControlPlane.started(PARTS) as cluster:
        ready = time.perf_counter() - start
        found = children() - before
        simulating = tuple(pid for pid in found if Path(f"/proc/{pid}/comm").read_text().strip() == "kwok")
        pids = tuple(found - set(simulating))
        target = Target("real", cluster.url, cluster.token, pids, ready)
        for number in range(nodes):
            target.call("POST", NODES, _build_node(number))
        _wait_until_settled(target, nodes)
        yield target, simulating


def _build_node(number: int) -> dict[str, object]:
    capacity = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}", "labels": {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
        "spec": {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def _wait_until_settled(target: Target, nodes: int) -> None:
    """Until every node takes Pods, and Pods have an account to run under."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            target.call("GET", ACCOUNT)
            items = msgspec.json.decode(target.call("GET", NODES))["items"]
        except OSError:
            items = []
        if sum(map(_takes_pods, items)) == nodes:
            return
        time.sleep(0.2)
    raise SystemExit(f"{target.name}: {nodes} nodes did not become ready within {READY_SECONDS:.0f} s")


def _takes_pods(node: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    conditions = node["status"].get("conditions") or []
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return is_ready and not node["spec"].get("taints")
