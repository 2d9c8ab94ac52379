"""What users do to RayServices, one peculiarity each. Every workload ends where the service can come to rest."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.errors import ApiError, ConflictError, NotFoundError
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.world import Violation, World
from simulation.kubelet import MERGE
from simulation.rayclusters.manifests import CLUSTERS, NAMESPACE, PODS, group, template
from simulation.rayclusters.reading import name_of
from simulation.rayclusters.town import Town
from simulation.rayservices.reading import ACTIVE, PENDING, clusters_of, condition, named, version_of
from simulation.rayservices.rest import find_unrest_of
from simulation.rayservices.serves import Serves, serves_of

SERVICES = f"/apis/ray.io/v1/namespaces/{NAMESPACE}/rayservices"
SETTLING_SECONDS = 900.0
DELAY = 10  # seconds that a former cluster stays

Workload: TypeAlias = Callable[[Town, str], Awaitable[None]]


def serve_config(version: int) -> str:
    return f"applications: [{{name: app, import_path: 'app:v{version}', route_prefix: /}}]"


def cluster_config(image: int, *groups: JsonObject) -> JsonObject:
    head = {"rayStartParams": {}, "template": template("ray-head", f"ray:{image}")}
    return {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": list(groups)}


def ray_service(name: str, *groups: JsonObject, annotations: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {
            "serveConfigV2": serve_config(1),
            "rayClusterConfig": cluster_config(1, *groups),
            "rayClusterDeletionDelaySeconds": DELAY,
            **spec,
        },
    }


class Owner:
    """The user of one RayService."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.path = f"{SERVICES}/{name}"
        self.chance = stream(world.seed, f"service/{name}")

    @property
    def serves(self) -> Serves:
        return serves_of(self.world.state)

    def service(self) -> JsonObject | None:
        return self.world.state.get("rayservices", NAMESPACE, self.name)

    def named(self, slot: str) -> str:
        return named(self.service() or {}, slot)

    async def create(self, *groups: JsonObject, **fields: Any) -> None:
        await self.world.request("POST", SERVICES, ray_service(self.name, *groups, **fields))

    async def pause(self, most: float = 20.0) -> None:
        await asyncio.sleep(self.chance.uniform(0.0, most))

    async def edit(self, **spec: Any) -> None:
        with suppress(ConflictError):
            await self.world.request("PATCH", self.path, {"spec": spec}, MERGE)

    async def delete(self) -> None:
        await self.world.request("DELETE", self.path, {"propagationPolicy": "Background"})

    async def until_gone(self) -> None:
        await self.world.until(f"C7: {self.name} is gone", lambda: self.service() is None, SETTLING_SECONDS)

    async def until(self, what: str, test: Callable[[], bool]) -> None:
        await self.world.until(f"L1: {self.name} {what}", test, SETTLING_SECONDS)

    async def until_served(self) -> None:
        """As its spec asks for, with nothing left to do."""

        deadline = self.world.time() + SETTLING_SECONDS
        while unrest := next(find_unrest_of(self.world.state, self.service() or {}), None):
            if self.world.time() > deadline + self.world.state.skew:
                raise Violation(f"L1: {self.name} does not serve what is asked for: {unrest}")
            await asyncio.sleep(0.5)

    async def until_condition(self, type_: str, *wanted: str) -> None:
        """By its reason."""
        await self.until(f"has {type_} {wanted}", lambda: condition(self.service() or {}, type_)[1] in wanted)

    async def lose_head(self, slot: str = ACTIVE) -> None:
        for pod in self.serves.heads_of(self.named(slot)):
            with suppress(NotFoundError):
                await self.world.request("DELETE", f"{PODS}/{name_of(pod)}", {"gracePeriodSeconds": 0})


async def in_place(town: Town, name: str) -> None:
    """Another configuration goes to the cluster that serves."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.until_served()
    await owner.edit(serveConfigV2=serve_config(2))
    if owner.chance.random() < 0.5:
        await owner.pause(5.0)
        await owner.edit(serveConfigV2=serve_config(owner.chance.choice((1, 3))))
    await owner.until_served()


async def upgrade(town: Town, name: str) -> None:
    """Another cluster takes over, sometimes with another configuration."""
    owner = Owner(town.world, name)
    await owner.create(*owner.chance.choice(((), (group("g", 1),))))
    await owner.until_served()
    config = {"serveConfigV2": serve_config(2)} if owner.chance.random() < 0.5 else {}
    await owner.edit(rayClusterConfig=cluster_config(2), **config)
    await owner.until_served()


async def third_spec(town: Town, name: str) -> None:
    """A new spec, or the first one again, while the second one gets ready."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.until_served()
    for image in (2, owner.chance.choice((1, 3))):
        await owner.edit(rayClusterConfig=cluster_config(image), serveConfigV2=serve_config(image))
        await owner.pause(25.0)
    await owner.until_served()


async def stuck_upgrade(town: Town, name: str) -> None:
    """The applications of the next cluster do not start: the former one serves on, until it is mended or undone."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.until_served()
    owner.serves.keep_stuck(True)
    owner.serves.set_script(owner.named(ACTIVE), owner.serves.healthy)
    await owner.edit(rayClusterConfig=cluster_config(2))
    await owner.pause(60.0)
    if owner.chance.random() < 0.5:
        await owner.edit(rayClusterConfig=cluster_config(3))
        await owner.pause(20.0)
    owner.serves.keep_stuck(False)
    await owner.until_served()


async def grow(town: Town, name: str) -> None:
    """Worker groups behind those that are there need no other cluster."""
    owner = Owner(town.world, name)
    await owner.create(group("g", 1))
    await owner.until_served()
    first = owner.named(ACTIVE)
    await owner.edit(rayClusterConfig=cluster_config(1, group("g", 2), group("h", 1)))
    await owner.until_served()
    if owner.named(ACTIVE) != first:
        town.world.report(f"V5: {owner.named(ACTIVE)} follows {first} for a group that was added")


async def workers_only(town: Town, name: str) -> None:
    """The head takes no requests."""
    owner = Owner(town.world, name)
    await owner.create(group("g", 1), excludeHeadPodFromServeSvc=True)
    await owner.pause(25.0)
    await owner.edit(rayClusterConfig=cluster_config(2, group("g", 1)))
    await owner.until_served()


async def suspend(town: Town, name: str) -> None:
    """Whatever goes on, also an upgrade; sometimes with another spec when it is resumed."""
    owner = Owner(town.world, name)
    await owner.create()
    if town.branch == "upgrade" or (not town.branch and owner.chance.random() < 0.5):
        await owner.until_served()
        await owner.edit(rayClusterConfig=cluster_config(2))
        await owner.pause(25.0)
    await owner.pause(20.0)
    await owner.edit(suspend=True)
    await owner.until_condition("Suspended", "SuspendComplete")
    await owner.pause(5.0)
    await owner.edit(suspend=False, rayClusterConfig=cluster_config(owner.chance.choice((2, 3))))
    await owner.until_served()


async def suspend_and_change_ones_mind(town: Town, name: str) -> None:
    """Resumed before it was suspended."""
    owner = Owner(town.world, name)
    await owner.create()
    for _ in range(2):
        await owner.pause(20.0)
        await owner.edit(suspend=True)
        await owner.pause(3.0)
        await owner.edit(suspend=False)
    await owner.until_served()


async def delete(town: Town, name: str) -> None:
    """At any moment, also during an upgrade."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.pause(30.0)
    await owner.edit(rayClusterConfig=cluster_config(2))
    await owner.pause(20.0)
    await owner.delete()
    await owner.until_gone()


async def delete_and_create_again(town: Town, name: str) -> None:
    await delete(town, name)
    await in_place(town, name)


async def lose_head(town: Town, name: str) -> None:
    """Its Serve forgets everything: the configuration has to be sent again."""
    owner = Owner(town.world, name)
    await owner.create(*owner.chance.choice(((), (group("g", 1),))))
    await owner.until_served()
    if owner.chance.random() < 0.5:
        await owner.edit(rayClusterConfig=cluster_config(2))
        await owner.pause(25.0)
    await owner.lose_head(owner.chance.choice((ACTIVE, PENDING)) if owner.named(PENDING) else ACTIVE)
    await owner.pause(20.0)
    await owner.until_served()


async def lose_cluster(town: Town, name: str) -> None:
    """Somebody deletes the cluster that serves, or the one that gets ready."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.until_served()
    if town.branch == "pending" or (not town.branch and owner.chance.random() < 0.5):
        await owner.edit(rayClusterConfig=cluster_config(2))
        await owner.pause(20.0)
    lost = owner.chance.choice(clusters_of(town.world.state, owner.service() or {}))
    with suppress(NotFoundError):
        await town.world.request("DELETE", f"{CLUSTERS}/{name_of(lost)}", {"propagationPolicy": "Background"})
    await owner.until_served()


async def timeout(town: Town, name: str) -> None:
    """It does not become ready in time, is given up, and comes back when it is resumed."""
    owner = Owner(town.world, name)
    owner.serves.keep_stuck(True)
    await owner.create(annotations={"ray.io/initializing-timeout": owner.chance.choice(("25s", "40"))})
    # A Serve that misbehaves may be stuck no longer: then it is ready instead.
    await owner.until_condition("Ready", "InitializingTimeout", "NonZeroServeEndpoints")
    owner.serves.keep_stuck(False)
    await owner.pause(20.0)
    await owner.edit(suspend=True)
    await owner.until_condition("Suspended", "SuspendComplete")
    with suppress(ApiError):
        note = {"metadata": {"annotations": {"ray.io/initializing-timeout": None}}}
        await town.world.request("PATCH", owner.path, note, MERGE)
    await owner.edit(suspend=False)
    await owner.until_served()


async def bad_config(town: Town, name: str) -> None:
    """What nobody can read is sent to nobody: what runs stays. V1: the running service is not touched."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.until_served()
    bad = owner.chance.choice(("applications: [", "applications: nonsense", "42"))
    first = owner.named(ACTIVE)
    await owner.edit(serveConfigV2=bad)
    await owner.pause(25.0)
    if owner.named(ACTIVE) != first or owner.named(PENDING):
        town.world.report(f"V1: a configuration that cannot be read has moved {name}")
    await owner.edit(serveConfigV2=serve_config(2))
    await owner.until_served()


async def refused(town: Town, name: str) -> None:
    """A spec that is not accepted touches nothing either."""
    owner = Owner(town.world, name)
    await owner.create()
    await owner.until_served()
    spoilt = group("g", 1, minReplicas=5, maxReplicas=1)
    await owner.edit(rayClusterConfig=cluster_config(2, spoilt), serveConfigV2=serve_config(2))
    await owner.until_condition("Ready", "ValidationFailed")
    await owner.pause(20.0)
    if any(owner.serves.version_at(head) != "app:v1" for head in owner.serves.heads_of(owner.named(ACTIVE))):
        town.world.report(f"V1: a spec that is refused has reached the Serve of {name}")
    await owner.edit(rayClusterConfig=cluster_config(2))
    await owner.until_served()


async def upgrades_off(town: Town, name: str) -> None:
    """Then only the configuration follows."""
    owner = Owner(town.world, name)
    await owner.create(upgradeStrategy={"type": "None"})
    await owner.until_served()
    first = owner.named(ACTIVE)
    await owner.edit(rayClusterConfig=cluster_config(2), serveConfigV2=serve_config(2))
    await owner.until(
        "follows the configuration", lambda: version_of(owner.service() or {}) in owner.serves.ready[first]
    )
    if owner.named(ACTIVE) != first or owner.named(PENDING):
        town.world.report(f"V5: {name} rolls, and upgrades are off")


async def incremental(town: Town, name: str) -> None:
    """Step by step, there, and sometimes back again or on to a third spec in the middle."""
    owner = Owner(town.world, name)
    surge, step = owner.chance.choice(((100, 100), (50, 25), (40, 20)))
    pace = {"maxSurgePercent": surge, "stepSizePercent": step, "intervalSeconds": 5, "gatewayClassName": "sim"}
    strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": pace}

    def config(image: int) -> JsonObject:
        return cluster_config(image, group("g", 1, minReplicas=1)) | {"enableInTreeAutoscaling": True}

    await owner.create(upgradeStrategy=strategy, rayClusterConfig=config(1))
    await owner.until_served()
    for image in WAYS[town.branch or owner.chance.choice([*WAYS])]:
        await owner.edit(rayClusterConfig=config(image))
        await owner.pause(40.0)
    await owner.until_served()


WAYS = {"there": (2,), "back": (2, 1), "third": (2, 3)}  # images, one after the other

WORKLOADS: dict[str, Workload] = {
    "in-place": in_place,
    "upgrade": upgrade,
    "third-spec": third_spec,
    "stuck-upgrade": stuck_upgrade,
    "grow": grow,
    "workers-only": workers_only,
    "suspend": suspend,
    "suspend-and-change-ones-mind": suspend_and_change_ones_mind,
    "delete": delete,
    "delete-and-create-again": delete_and_create_again,
    "lose-head": lose_head,
    "lose-cluster": lose_cluster,
    "timeout": timeout,
    "bad-config": bad_config,
    "refused": refused,
    "upgrades-off": upgrades_off,
    "incremental": incremental,
}
BRANCHES: dict[str, tuple[str, ...]] = {
    "suspend": ("first", "upgrade"),
    "lose-cluster": ("active", "pending"),
    "incremental": tuple(WAYS),
}
# Nothing goes wrong there but what happens to the operator, so every request is answered.
GENTLE = (
    "in-place",
    "upgrade",
    "third-spec",
    "stuck-upgrade",
    "grow",
    "suspend",
    "bad-config",
    "refused",
    "upgrades-off",
)
