"""A Kubernetes in virtual time in which things go wrong around RayClusters: rights, quotas, namespaces, definitions."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from conformance.operator.administrator import EVENT
from conformance.operator.own_world import own_world
from conformance.operator.worlds import Operated
from fleet.lives import Shape, build_cluster
from heliostat.api.settings import Settings
from heliostat.embedded.access.attributes import Attributes, build_forbidden
from heliostat.embedded.access.users import User
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.operator.raycluster.reconciler import NAME as CONTROLLER
from heliostat.runtime.errors import NotFoundError, ThrottledError

Tree: TypeAlias = dict[str, Any]

QUOTA = ResourceType("v1", "ResourceQuota", "resourcequotas")
SERVICE = ResourceType("v1", "Service", "services")
RESULTS = ("written", "quiet", "failed", "stale", "unavailable", "bug", "gone")


class Rights:
    """Everything is allowed but what the operator is denied: verb and resource, in one namespace or in all ("")."""

    def __init__(self) -> None:
        self.denied: set[tuple[str, str, str]] = set()

    def authorize(self, user: User, asked: Attributes) -> None:
        wanted = asked.verb, asked.full_resource
        if user.name == "operator" and {(*wanted, asked.namespace), (*wanted, "")} & self.denied:
            raise build_forbidden(user, asked)


class Troubled:
    """The administrator's hands and eyes."""

    def __init__(self, operated: Operated, rights: Rights) -> None:
        self.rights = rights
        self.world = operated.world
        self.admin = operated.admin
        self.rest = operated.rest
        self._operated = operated

    @property
    def looks(self) -> int:
        counter = self._operated.program.metrics.looks
        return int(sum(counter.value(CONTROLLER, result) for result in RESULTS))

    @property
    def writes(self) -> int:
        """Events too, and those that were refused."""
        return self._operated.log.count

    async def make_namespace(self, name: str) -> None:
        await self.world.make_namespace(name)

    async def make_cluster(self, namespace: str, name: str = "demo", **spec: Any) -> Tree:
        tree = build_cluster(0, Shape(1, 0))
        tree["metadata"] = {"name": name, "namespace": namespace}
        tree["spec"] |= spec
        made: Tree = await self.admin.create(RAY_CLUSTER, tree)
        return made

    async def set_quota(self, namespace: str, **hard: int) -> None:
        spec = {"hard": {key: str(value) for key, value in hard.items()}}
        metadata = {"name": "quota", "namespace": namespace}
        await self.admin.create(
            QUOTA, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}
        )

    async def status(self, namespace: str, name: str = "demo") -> Tree:
        status: Tree = (await self.admin.get(RAY_CLUSTER, namespace, name)).get("status") or {}
        return status

    async def condition(self, type_: str, namespace: str, name: str = "demo") -> Tree | None:
        conditions = (await self.status(namespace, name)).get("conditions") or []
        return next((one for one in conditions if one["type"] == type_), None)

    async def pods(self, namespace: str) -> list[Tree]:
        return await self.admin.items(POD, namespace)

    async def told(self, namespace: str) -> dict[str, str]:
        """The notes of events by their reasons."""
        return {event["reason"]: event["note"] for event in await self.admin.items(EVENT, namespace)}

    async def until_condition(self, type_: str, namespace: str, test: Callable[[Tree | None], bool]) -> Tree | None:
        async def holds() -> bool:
            return test(await self.condition(type_, namespace))

        await self.world.until(holds)
        return await self.condition(type_, namespace)

    async def until_ready(self, namespace: str, name: str = "demo") -> None:
        async def is_ready() -> bool:
            return (await self.status(namespace, name)).get("state") == "ready"

        await self.world.until(is_ready)

    async def until_gone(self, resource: ResourceType, namespace: str, name: str) -> None:
        async def is_gone() -> bool:
            try:
                await self.admin.get(resource, namespace, name)
            except NotFoundError:
                return True
            return False

        await self.world.until(is_gone)

    async def until_served(self, resource: ResourceType) -> None:
        async def is_served() -> bool:
            try:
                await self.admin.items(resource)
            except (NotFoundError, ThrottledError):
                return False
            return True

        await self.world.until(is_served)

    async def count_looks(self, seconds: float) -> int:
        """How often the operator looks at anything in so many seconds."""
        before = self.looks
        await asyncio.sleep(seconds)
        return self.looks - before


@asynccontextmanager
async def troubled(rights: Rights | None = None, settings: Settings | None = None) -> AsyncIterator[Troubled]:
    rights = rights or Rights()
    async with own_world(rights.authorize) as world, world.operated(settings or Settings()) as operated:
        yield Troubled(operated, rights)
