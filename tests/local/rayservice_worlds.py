"""A RayService on a real server whose operator is played."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from heliostat.api.crds import all_crds
from heliostat.local.running import apply_all
from heliostat.local.service_following import Followed, ServiceFollower
from heliostat.local.service_progress import ServicePicture, plain_lines
from heliostat.local.session import Session, open_session
from heliostat.local.taking_down import Made  # noqa: TC001
from heliostat.testing import ApiServer
from plan.rayjob.job_worlds import cluster_spec

Tree = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES, CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayservices", "/apis/ray.io/v1/namespaces/default/rayclusters"
EVENTS = "/api/v1/namespaces/default/events"
READY = {"type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints", "message": ""}
ORIGIN = {"ray.io/originated-from-cr-name": "stand", "ray.io/originated-from-crd": "RayService"}


def slot(cluster: str, message: str = "", **states: str) -> Tree:
    applications = {name: {"status": state, "message": message} for name, state in states.items()}
    return {"rayClusterName": cluster, "applicationStatuses": applications}


class ServiceScene:
    def __init__(self, server: ApiServer, session: Session) -> None:
        self.server = server
        self.session = session
        self.lines: list[str] = []

    async def begin(self, seconds: float = 60.0, **spec: Any) -> ServiceFollower:
        made: list[Made] = []
        tree = {
            "apiVersion": "ray.io/v1",
            "kind": "RayService",
            "metadata": {"name": "stand"},
            "spec": {"rayClusterConfig": cluster_spec(), **spec},
        }
        await apply_all(self.session, [tree], "default", made, lambda _words: None)
        followed = Followed(service=made[0].tree, trees=[made[0].tree], deadline=time.monotonic() + seconds)
        return ServiceFollower(self.session, followed, self._keep)

    def _keep(self, picture: ServicePicture) -> None:
        self.lines += plain_lines(picture)

    async def make_cluster(self, name: str, **conditions: str) -> None:
        metadata = {"name": name, "labels": ORIGIN}
        tree = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": cluster_spec()}
        made = await self.server.request("POST", CLUSTERS, tree)
        when = {"lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Played", "message": ""}
        shown = [{"type": type_, "status": status, **when} for type_, status in conditions.items()]
        status = {"state": "ready", "conditions": shown}
        await self.server.request("PUT", f"{CLUSTERS}/{name}/status", {**made, "status": status})

    async def tell(self, reason: str, message: str) -> None:
        """A warning about the service."""
        found = await self.server.request("GET", f"{SERVICES}/stand")
        about = {"kind": "RayService", "name": "stand", "namespace": "default", "uid": found["metadata"]["uid"]}
        event = {"type": "Warning", "reason": reason, "message": message, "involvedObject": about}
        metadata = {"name": "told", "namespace": "default"}
        await self.server.request("POST", EVENTS, {"apiVersion": "v1", "kind": "Event", "metadata": metadata, **event})

    async def write(self, active: Tree, pending: Tree, *conditions: Tree, is_current: bool = True) -> None:
        found = await self.server.request("GET", f"{SERVICES}/stand")
        generation = found["metadata"]["generation"]
        status = {
            "observedGeneration": generation if is_current else generation - 1,
            "activeServiceStatus": active,
            "pendingServiceStatus": pending,
            "conditions": [{**each, "lastTransitionTime": "2026-01-01T00:00:00Z"} for each in conditions],
            "numServeEndpoints": 1,
        }
        await self.server.request("PUT", f"{SERVICES}/stand/status", {**found, "status": status})

    async def until(self, words: str) -> None:
        async with asyncio.timeout(10):
            while not any(words in line for line in self.lines):
                await asyncio.sleep(0.02)


def play(folder: Path, scene: Callable[[ServiceScene], Awaitable[None]]) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            (folder / "kubeconfig").write_text(server.build_kubeconfig("tester", ("system:masters",)))
            for tree in all_crds(slim=True):
                if tree["spec"]["names"]["kind"] in ("RayCluster", "RayService"):
                    await server.request("POST", DEFINITIONS, tree)
            async with open_session(folder / "kubeconfig", patience=5.0) as session:
                await scene(ServiceScene(server, session))

    asyncio.run(run())
