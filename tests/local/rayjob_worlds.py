"""A RayJob on a real server whose operator is played, with a scripted Ray behind the service proxy."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliostat.api.crds import all_crds
from heliostat.local.job_following import Followed, JobFollower
from heliostat.local.running import Show, apply_all
from heliostat.local.session import Session, open_session
from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.ways import ProxiedWays
from heliostat.testing import ApiServer
from heliostat.testing.scripted_ray import RayScript, RayTransport, ScriptedRay
from heliostat.testing.simulation.service_proxy import ServiceProxy
from plan.rayjob.job_worlds import cluster_spec

if TYPE_CHECKING:
    from heliostat.local.taking_down import Made

Tree = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JOBS, CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayjobs", "/apis/ray.io/v1/namespaces/default/rayclusters"
QUICK = RayScript(pending_seconds=0.1, ends_after=0.6, appears_when_asked=False)
LONG = RayScript(pending_seconds=0.1, ends_after=600.0, appears_when_asked=False)
ID = "hello-x7k2p"


class World:
    def __init__(self, server: ApiServer, session: Session, ray: ScriptedRay) -> None:
        self.server = server
        self.ray = ray
        self.transport = ServiceProxy(session.transport, [RayTransport(ray)])
        self.session = Session(self.transport, session.client)
        self.block: list[str] = []
        self.words: list[str] = []

    async def begin(self) -> JobFollower:
        made: list[Made] = []
        spec = {"entrypoint": "python x.py", "submissionMode": "HTTPMode", "rayClusterSpec": cluster_spec()}
        tree = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "hello"}, "spec": spec}
        await apply_all(self.session, [tree], "default", made, lambda _words: None)
        followed = Followed(job=made[0].tree, trees=[made[0].tree], deadline=time.monotonic() + 60)
        return JobFollower(self.session, followed, self._keep, Show(words=self.words.append, note=self.words.append))

    def _keep(self, lines: Sequence[str]) -> None:
        self.block += lines

    async def write(self, phase: str, **status: Any) -> None:
        found = await self.server.request("GET", f"{JOBS}/hello")
        told = {**found.get("status", {}), "jobDeploymentStatus": phase, **status}
        await self.server.request("PUT", f"{JOBS}/hello/status", {**found, "status": told})

    async def make_cluster(self) -> None:
        tree = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "hello-c1"},
            "spec": cluster_spec(),
        }
        made = await self.server.request("POST", CLUSTERS, tree)
        status = {"state": "ready", "head": {"serviceName": "hello-c1-head-svc"}}
        await self.server.request("PUT", f"{CLUSTERS}/hello-c1/status", {**made, "status": status})

    async def submit(self, entrypoint: str = "python x.py") -> None:
        way = ProxiedWays(self.transport).to_dashboard("default", "hello-c1-head-svc", "")
        await RayDashboard(way).submit_job(Submission(submission_id=ID, entrypoint=entrypoint))

    async def until(self, is_there: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not is_there():
                await asyncio.sleep(0.02)


def play(folder: Path, scene: Callable[[World], Awaitable[None]], script: RayScript = QUICK) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            (folder / "kubeconfig").write_text(server.build_kubeconfig("tester", ("system:masters",)))
            for tree in all_crds(slim=True):
                if tree["spec"]["names"]["kind"] in ("RayCluster", "RayJob"):
                    await server.request("POST", DEFINITIONS, tree)
            async with open_session(folder / "kubeconfig", patience=5.0) as session:
                await scene(World(server, session, ScriptedRay(time.time, script)))

    asyncio.run(run())
