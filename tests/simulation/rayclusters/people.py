"""Who else writes to a RayCluster: its user, Ray's autoscaler, a steward. All see the truth and never fail."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.errors import ApiError, ConflictError, NotFoundError
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.world import World
from simulation.kubelet import MERGE
from simulation.rayclusters.manifests import NAMESPACE, NAMESPACES, clusters_in, pods_in
from simulation.rayclusters.reading import (
    asked_away,
    has_ended,
    is_live,
    is_terminating,
    name_of,
    pods_of,
    uid_of,
    workers_in,
)

JSON_PATCH = "application/json-patch+json"
STEWARD = "example.com/steward"  # a finalizer


class User:
    """Of one RayCluster."""

    def __init__(self, world: World, name: str, namespace: str = NAMESPACE) -> None:
        self.world = world
        self.name = name
        self.namespace = namespace
        self.clusters = clusters_in(namespace)
        self.path = f"{self.clusters}/{name}"
        self.chance = stream(world.seed, f"user/{name}")

    def cluster(self) -> JsonObject | None:
        return self.world.state.get("rayclusters", self.namespace, self.name)

    def pods(self, node_type: str = "") -> list[JsonObject]:
        cluster = self.cluster()
        return pods_of(self.world.state, uid_of(cluster), node_type) if cluster is not None else []

    async def create(self, tree: JsonObject) -> None:
        await self.world.request("POST", self.clusters, tree)

    async def pause(self, most: float = 8.0) -> None:
        await asyncio.sleep(self.chance.uniform(0.0, most))

    async def edit(self, change: Callable[[JsonObject], None]) -> None:
        while True:
            tree = await self.world.request("GET", self.path)
            change(tree)
            with suppress(ConflictError):  # the status was written in between
                await self.world.request("PUT", self.path, tree)
                return

    async def edit_spec(self, **fields: Any) -> None:
        await self.edit(lambda tree: tree["spec"].update(fields))

    async def edit_group(self, index: int = 0, **fields: Any) -> None:
        await self.edit(lambda tree: tree["spec"]["workerGroupSpecs"][index].update(fields))

    async def delete(self, policy: str = "Background") -> None:
        await self.world.request("DELETE", self.path, {"propagationPolicy": policy})

    async def until_gone(self) -> None:
        uid = uid_of(self.cluster() or {"metadata": {"uid": ""}})
        await self.world.until(
            f"C7: {self.name} is gone", lambda: (found := self.cluster()) is None or uid_of(found) != uid
        )

    async def delete_a_pod(self, node_type: str) -> None:
        pods = self.pods(node_type)
        if pods:
            with suppress(NotFoundError):
                await self.world.request("DELETE", f"{pods_in(self.namespace)}/{name_of(self.chance.choice(pods))}")

    async def make_namespace(self) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        await self.world.request("POST", NAMESPACES, namespace)

    async def end_namespace(self) -> None:
        await self.world.request("DELETE", f"{NAMESPACES}/{self.namespace}")

    async def until_homeless(self) -> None:
        state = self.world.state
        what = f"C7: namespace {self.namespace} is gone"
        await self.world.until(what, lambda: state.get("namespaces", "", self.namespace) is None)


class Autoscaler:
    """Edits replicas and workersToDelete of one group, as Ray's does, for as long as the world lives."""

    def __init__(self, user: User, group: str = "g", *, restless_until: float) -> None:
        self._user = user
        self._group = group
        self._restless_until = restless_until
        self._chance = stream(user.world.seed, f"autoscaler/{user.name}")

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(1.0, 5.0))
            cluster = self._user.cluster()
            if cluster is not None and not cluster["spec"].get("suspend"):
                with suppress(ApiError):  # deleted in between
                    await self._act(cluster)

    async def _act(self, cluster: JsonObject) -> None:
        groups = cluster["spec"]["workerGroupSpecs"]
        index = next(number for number, group in enumerate(groups) if group["groupName"] == self._group)
        named = sorted(asked_away(cluster["spec"]))
        replicas, asked = self._decide(groups[index]["replicas"], named)
        if (replicas, asked) == (groups[index]["replicas"], named):
            return
        path = f"/spec/workerGroupSpecs/{index}"
        operations: Any = [
            {"op": "replace", "path": f"{path}/replicas", "value": replicas},
            {"op": "add", "path": f"{path}/scaleStrategy", "value": {"workersToDelete": asked}},
        ]
        await self._user.world.request("PATCH", self._user.path, operations, JSON_PATCH)

    def _decide(self, replicas: int, named: list[str]) -> tuple[int, list[str]]:
        """Names stay until their Pods are gone; more Pods than wanted are named; else it wants more, or fewer."""
        pods = workers_in(self._user.pods(), self._group)
        here = {name_of(pod) for pod in pods}
        waiting = {name for name in named if name in here or name == "foreign"}
        free = [name_of(pod) for pod in pods if is_live(pod) and name_of(pod) not in named]
        if len(free) > replicas:
            return replicas, sorted({*waiting, *self._chance.sample(free, k=len(free) - replicas)})
        if self._user.world.time() > self._restless_until:
            return replicas, sorted(waiting)
        failed = [name_of(pod) for pod in pods if has_ended(pod) and not is_terminating(pod)]
        if failed and self._chance.random() < 0.7:
            return replicas, sorted({*waiting, *failed})
        return self._want_otherwise(replicas, free, waiting)

    def _want_otherwise(self, replicas: int, free: list[str], waiting: set[str]) -> tuple[int, list[str]]:
        if len(free) < replicas:
            return replicas, sorted(waiting)
        if self._chance.random() < 0.5:
            return min(6, replicas + self._chance.randint(1, 3)), sorted(waiting)
        going = self._chance.sample(free, k=min(len(free), self._chance.randint(1, 2)))
        bystander = ["foreign"] if self._chance.random() < 0.3 else []
        return replicas - len(going), sorted({*waiting, *going, *bystander})


class Steward:
    """Another controller with a finalizer of its own on one RayCluster: it lets go when ours has."""

    def __init__(self, user: User) -> None:
        self._user = user

    async def run(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            cluster = self._user.cluster()
            if cluster is not None and is_terminating(cluster) and cluster["metadata"].get("finalizers") == [STEWARD]:
                with suppress(NotFoundError):
                    await self._user.edit(lambda tree: tree["metadata"].pop("finalizers"))


class Meddler:
    """Writes to one RayCluster again and again: whoever decided from the version before is refused."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._chance = stream(user.world.seed, f"meddler/{user.name}")

    async def run(self, until: float) -> None:
        while self._user.world.time() < until:
            await asyncio.sleep(self._chance.uniform(0.05, 1.0))
            touched = {"metadata": {"annotations": {"example.com/touched": str(self._chance.random())}}}
            with suppress(NotFoundError):
                await self._user.world.request("PATCH", self._user.path, touched, MERGE)
