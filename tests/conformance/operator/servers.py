# ruff: noqa: T201 - these are commands
"""``python -m conformance servers``: the operator on servers that differ in how they list, and in age.

A server may stream lists or not: the feature is off, etcd is too old to tell its progress (Debian's 3.4.23 is), or the
server is older than the feature. On each a RayCluster becomes ready, and RayJobs of two modes come to Complete. Of
Kubernetes there are kube-apiserver and etcd alone, as nothing else differs by how it lists: the controllers and the
simulated nodes are ours, and so is a Ray that follows a script.
"""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from tools.kubernetes.build import KUBERNETES, OLDEST, provide
from tools.kubernetes.generated import BuildError
from tools.kubernetes.run import ControlPlane as RealControlPlane
from tools.kubernetes.run import StartError

from conformance.controllers.planes import CERTIFICATE as ROOT_CERTIFICATE
from conformance.operator.own_world import STAGES, build_simulation
from conformance.operator.real_world import PACE
from conformance.operator.worlds import World
from heliostat.api.settings import Settings
from heliostat.embedded.control_plane import ControlPlane, ControlPlaneOptions
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import RAY_CLUSTER, RAY_JOB
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.program import Clocks
from heliostat.testing.scripted_ray import ScriptedRay

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "raycluster.yaml"
MODES = ("HTTPMode", "K8sJobMode")
NAMESPACE = "served"
NODES = 2
SECONDS = 240.0  # for all of it


class Server(Struct, frozen=True):
    name: str
    version: str = KUBERNETES
    flags: tuple[str, ...] = ()


SERVERS = (
    Server("usual"),
    Server("no-watch-list", flags=("--feature-gates=WatchList=false",)),
    Server("oldest", OLDEST),
)


def run_servers(names: Sequence[str]) -> int:
    """``names`` of SERVERS; all by default."""
    etcd = subprocess.run([str(provide("etcd")), "--version"], capture_output=True, text=True, check=True).stdout
    print(etcd.partition("\n")[0], flush=True)
    chosen = [server for server in SERVERS if not names or server.name in names]
    verdicts = [_passes(server) for server in chosen]  # all of them, also after one that failed
    return 0 if all(verdicts) else 1


def _passes(server: Server) -> bool:
    label = f"{server.name}: Kubernetes {server.version} {' '.join(server.flags)}".rstrip()
    try:
        told = asyncio.run(_bring_up(server))
    except (BuildError, StartError, TimeoutError) as error:
        print(f"{label}: {str(error) or f'not done after {SECONDS:g} s'}", flush=True)
        return False
    print(f"{label}: {told}", flush=True)
    return True


async def _bring_up(server: Server) -> str:
    async with _served(server) as world, _controlled(world), asyncio.timeout(SECONDS):
        await world.install_kinds()
        await world.make_namespace(NAMESPACE)
        async with world.operated(Settings()):
            told = await _live(world)
    if world.problems:
        raise StartError("\n".join(world.problems))
    return told


@asynccontextmanager
async def _served(server: Server) -> AsyncIterator[World]:
    with RealControlPlane.started(flags=server.flags, version=server.version) as cluster:
        connection = find_connection({}, cluster.kubeconfig)
        connect = partial(HttpsTransport, connection)
        world = World(connect, PACE, Clocks(), [], ray=ScriptedRay(time.time))
        try:
            yield world
        finally:
            await world.admin.close()


@asynccontextmanager
async def _controlled(world: World) -> AsyncIterator[None]:
    """With our own controllers and nodes."""
    transport = world.connect("controllers")
    options = ControlPlaneOptions(
        root_certificate=ROOT_CERTIFICATE,
        simulation=build_simulation(NODES, STAGES),
        request_seconds=PACE.request,
    )
    plane, stop = ControlPlane(transport, options, on_problem=world.note), asyncio.Event()
    running = asyncio.create_task(plane.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running
        await transport.close()


async def _live(world: World) -> str:
    spec, begun = read_documents(EXAMPLE.read_bytes())[0].tree["spec"], time.monotonic()
    await world.admin.create(RAY_CLUSTER, _build(RAY_CLUSTER, "demo", spec))
    await _until(world, RAY_CLUSTER, "demo", "state", "ready")
    ready = time.monotonic() - begun
    for mode in MODES:
        job = {"entrypoint": "python x.py", "submissionMode": mode, "rayClusterSpec": spec}
        await world.admin.create(RAY_JOB, _build(RAY_JOB, mode.lower(), job))
    for mode in MODES:
        await _until(world, RAY_JOB, mode.lower(), "jobDeploymentStatus", "Complete")
    whole = time.monotonic() - begun
    return f"a RayCluster is ready after {ready:.1f} s, RayJobs ({', '.join(MODES)}) Complete after {whole:.1f} s"


def _build(kind: ResourceType, name: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


async def _until(world: World, kind: ResourceType, name: str, key: str, value: str) -> None:
    async def is_so() -> bool:
        found = await world.admin.get(kind, NAMESPACE, name)
        return bool((found.get("status") or {}).get(key) == value)

    await world.until(is_so)
