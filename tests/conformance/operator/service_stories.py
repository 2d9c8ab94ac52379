"""A RayService, ``svc``, with the running operator, simulated nodes and a scripted Ray: what stories are told with."""

from typing import Any

from conformance.controllers.planes import now
from conformance.operator.foreign_kinds import GATEWAY, HTTP_ROUTE
from conformance.operator.stories import Stage, Tree
from heliostat.api.settings import Settings
from heliostat.explain.explanation import format_explanation
from heliostat.explain.rayservice import explain
from heliostat.explain.scene import OperatorPresence, Scene
from heliostat.kube import lookups
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_SERVICE, RESOURCES
from heliostat.testing.scripted_ray import ScriptedCluster
from plan.rayjob.job_worlds import cluster_spec
from plan.rayservice.service_worlds import CONFIG

NAME = "svc"
SERVICE = ResourceType("v1", "Service", "services")
GATEWAY_CLASS = RESOURCES[lookups.GATEWAY_CLASS]
_AROUND = (RAY_CLUSTER, POD, SERVICE, GATEWAY, HTTP_ROUTE, GATEWAY_CLASS)


class ServiceScene(Stage, frozen=True):
    async def create(self, **spec: Any) -> None:
        wanted = {"serveConfigV2": CONFIG, "rayClusterConfig": cluster_spec(), **spec}
        metadata = {"name": NAME, "namespace": self.namespace}
        await self.admin.create(
            RAY_SERVICE, {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": metadata, "spec": wanted}
        )

    async def edit(self, **spec: Any) -> None:
        await self.admin.merge(RAY_SERVICE, self.namespace, NAME, {"spec": spec})

    async def get(self) -> Tree:
        tree: Tree = await self.admin.get(RAY_SERVICE, self.namespace, NAME)
        return tree

    async def status(self) -> Tree:
        return (await self.get()).get("status") or {}

    async def slot(self, name: str) -> Tree:
        """``active`` or ``pending``."""
        return (await self.status()).get(f"{name}ServiceStatus") or {}

    async def named(self, name: str) -> str:
        """The cluster in that slot."""
        return str((await self.slot(name)).get("rayClusterName", ""))

    async def condition(self, type_: str) -> Tree:
        found = [each for each in (await self.status()).get("conditions") or () if each["type"] == type_]
        return found[0] if found else {}

    async def until_condition(self, type_: str, status: str, reason: str = "") -> None:
        async def is_so() -> bool:
            found = await self.condition(type_)
            return found.get("status") == status and reason in ("", found.get("reason"))

        await self.until(is_so)

    async def until_served(self, *, beyond: str = "") -> str:
        """By one cluster, and not by the one ``beyond``: which it is."""

        async def is_so() -> bool:
            is_ready = (await self.condition("Ready")).get("status") == "True"
            return is_ready and await self.named("active") not in ("", beyond) and not await self.named("pending")

        await self.until(is_so)
        return await self.named("active")

    def serve(self, cluster: str) -> ScriptedCluster:
        """Serve on this RayCluster."""
        return self.ray.cluster(f"{self.namespace}/{cluster}-head-svc")

    async def explain(self) -> str:
        """As ``heliostat explain`` tells it."""
        found = [
            {"apiVersion": kind.api_version, "kind": kind.kind, **each}
            for kind in _AROUND
            for each in await self.admin.items(kind, self.namespace)
        ]
        wanted = await self.named("pending") or await self.named("active")
        clusters = [each for each in found if (each["kind"], each["metadata"]["name"]) == (RAY_CLUSTER.kind, wanted)]
        scene = Scene(
            tree=await self.get(),
            cluster=clusters[0] if clusters else {},
            objects=tuple(found),
            operator=OperatorPresence.RUNNING,
            now=now(),
        )
        return format_explanation(explain(scene, Settings()))
