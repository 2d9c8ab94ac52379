# ruff: noqa: T201 - these are commands
"""``python -m conformance servers``: the operator on servers that differ in how they list: each brings a cluster up.

A server may stream lists or not: the feature is off, etcd is too old to tell its progress (Debian's 3.4.23 is), or the
server is older than the feature. kube-apiserver and etcd alone: nobody runs the Pods, but they have to be there.
"""

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from tools.kubernetes.build import KUBERNETES, OLDEST, BuildError, provide
from tools.kubernetes.run import ControlPlane, StartError

from conformance.operator.administrator import Administrator
from conformance.operator.worlds import DEFINITION, Pace, World
from heliostat.api.crds import all_crds
from heliostat.api.settings import Settings
from heliostat.kube.documents import read_documents
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.runtime.errors import NotFoundError, ThrottledError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.program import Clocks

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "raycluster.yaml"
NO_ACCOUNTS = "--disable-admission-plugins=ServiceAccount"  # nobody makes any
SECONDS = 120.0


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
    print(etcd.partition("\n")[0])
    chosen = [server for server in SERVERS if not names or server.name in names]
    verdicts = [_passes(server) for server in chosen]  # all of them, also after one that failed
    return 0 if all(verdicts) else 1


def _passes(server: Server) -> bool:
    label = f"{server.name}: Kubernetes {server.version} {' '.join(server.flags)}".rstrip()
    try:
        with ControlPlane.started(flags=(NO_ACCOUNTS, *server.flags), version=server.version) as cluster:
            seconds = asyncio.run(_bring_up(cluster))
    except (BuildError, StartError, TimeoutError) as error:
        print(f"{label}: {str(error) or 'no Pods in time'}")
        return False
    print(f"{label}: a RayCluster has its Pods after {seconds:.1f} s")
    return True


async def _bring_up(cluster: ControlPlane) -> float:
    connection = find_connection({}, cluster.kubeconfig)
    world = World(lambda user: HttpsTransport(connection, user), Pace(quiet=5.0, look=0.2, request=60.0), Clocks(), [])
    try:
        await _install(world)
        tree = read_documents(EXAMPLE.read_bytes())[0].tree
        clock = asyncio.get_running_loop().time
        async with world.operated(Settings()):
            begun = clock()
            await world.admin.create(RAY_CLUSTER, {**tree, "metadata": {"name": "demo", "namespace": "default"}})
            wanted = 1 + sum(group["replicas"] for group in tree["spec"]["workerGroupSpecs"])
            async with asyncio.timeout(SECONDS):
                await world.until(lambda: _has_pods(world.admin, wanted))
            return clock() - begun
    finally:
        await world.admin.close()


async def _install(world: World) -> None:
    for crd in all_crds():
        await world.admin.create(DEFINITION, crd)

    async def is_served() -> bool:
        try:
            await world.admin.items(RAY_CLUSTER)
        except (NotFoundError, ThrottledError):
            return False
        return True

    await world.until(is_served)


async def _has_pods(admin: Administrator, wanted: int) -> bool:
    return len(await admin.items(POD, "default")) == wanted
