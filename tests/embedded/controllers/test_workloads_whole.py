"""Deployments, StatefulSets, endpoints, accounts and volumes on the real loop and handlers, with simulated nodes."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import Any

from embedded.controllers.workloads import LABELS, template
from heliostat.embedded.controllers.deployments.reconciler import DeploymentReconciler
from heliostat.embedded.controllers.endpoints.reconcilers import EndpointSliceReconciler, EndpointsReconciler
from heliostat.embedded.controllers.node_lifecycle.node_health import NodeHealth
from heliostat.embedded.controllers.nodes.machines import build_machines
from heliostat.embedded.controllers.nodes.node_agents import SimulatedNodeAgents
from heliostat.embedded.controllers.nodes.pod_agents import SimulatedPodAgents
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.replicasets.reconciler import ReplicaSetReconciler
from heliostat.embedded.controllers.scheduler.controller import Scheduler
from heliostat.embedded.controllers.service_accounts.reconcilers import (
    RootCertificateReconciler,
    ServiceAccountReconciler,
)
from heliostat.embedded.controllers.statefulsets.reconciler import StatefulSetReconciler
from heliostat.embedded.controllers.views.deployments import DEPLOYMENT
from heliostat.embedded.controllers.views.endpoint_slices import ENDPOINT_SLICE
from heliostat.embedded.controllers.views.endpoints import ENDPOINTS_TYPE
from heliostat.embedded.controllers.views.leases import LEASE
from heliostat.embedded.controllers.views.nodes import NODE
from heliostat.embedded.controllers.views.pods import BINDING, POD
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET
from heliostat.embedded.controllers.views.root_certificates import CONFIG_MAP
from heliostat.embedded.controllers.views.service_accounts import SERVICE_ACCOUNT
from heliostat.embedded.controllers.views.services import SERVICE
from heliostat.embedded.controllers.views.statefulsets import STATEFUL_SET
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASS
from heliostat.embedded.controllers.views.volume_claims import CLAIM
from heliostat.embedded.controllers.views.volumes import VOLUME
from heliostat.embedded.controllers.volumes.directories import build_default_class
from heliostat.embedded.controllers.volumes.reconcilers import (
    ClaimProtectionReconciler,
    ClaimReconciler,
    DirectoryReconciler,
    DirectoryRemovalReconciler,
    VolumeProtectionReconciler,
    VolumeReconciler,
)
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Event, Plan
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.errors import ConflictError
from heliostat.runtime.host import Host, Surroundings
from heliostat.runtime.reconciler import Subject
from heliostat.testing.virtual_time import run_virtual
from runtime.small_api import NOON, SmallApi, small_api

TYPES = (
    *(POD, BINDING, NODE, LEASE, DEPLOYMENT, REPLICA_SET, SERVICE, ENDPOINT_SLICE, ENDPOINTS_TYPE),
    *(STATEFUL_SET, SERVICE_ACCOUNT, CONFIG_MAP, CLAIM, VOLUME, STORAGE_CLASS),
)
ROOT = PurePath("/volumes")


class Ear:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.writes: Counter[str] = Counter()

    def record(self, subject: Subject, event: Event) -> None:
        self.notes.append(event.note)

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        pass

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        self.writes[controller] += len(list(plan.actions()))

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        if not isinstance(error, ConflictError):  # somebody else was faster: the next look decides anew
            self.failures.append(f"{controller} {key}: {error!r}")


class Whole:
    def __init__(self, api: SmallApi, ear: Ear) -> None:
        self.api = api
        self.ear = ear
        self.user = api.client()
        self.directories: set[str] = set()

    async def carry_out(self, effect: Effect) -> None:
        path = effect.payload["path"]
        (self.directories.add if effect.payload["operation"] == "create" else self.directories.discard)(path)

    async def until(
        self, kind: ResourceType, test: Callable[[list[JsonObject]], bool], seconds: float = 60.0
    ) -> list[JsonObject]:
        deadline = asyncio.get_running_loop().time() + seconds
        while not test(found := await self.api.list(kind, "default" if kind.is_namespaced else "")):
            assert asyncio.get_running_loop().time() < deadline, (found, self.ear.failures)
            await asyncio.sleep(0.5)
        return found

    async def patch(self, kind: ResourceType, name: str, **changes: Any) -> None:
        await self.user.patch(kind, "default", name, changes)

    async def delete(self, kind: ResourceType, name: str) -> None:
        uid = (await self.api.read(kind, "default", name))["metadata"]["uid"]
        await self.user.delete(kind, "default", name, uid=uid)


@asynccontextmanager
async def whole() -> AsyncIterator[Whole]:
    async with small_api() as api:
        chance, ear, loop = random.Random(1), Ear(), asyncio.get_running_loop()  # noqa: S311
        world = Whole(api, ear)
        around = Surroundings(
            now=lambda: NOON + loop.time(),
            chance=chance.random,
            random_bytes=chance.randbytes,
            recorder_of=lambda _name: ear,
            observer=ear,
            on_problem=lambda what, error: ear.failures.append(f"{what}: {error!r}"),
        )
        host = Host(api.client(), ResourceTypes(TYPES), around)
        host.effects["local-directory"] = world.carry_out
        _add_controllers(host)
        await world.user.create(STORAGE_CLASS, build_default_class())
        stop = asyncio.Event()
        running = asyncio.create_task(host.run(stop))
        await world.until(SERVICE_ACCOUNT, bool)
        yield world
        stop.set()
        await running
        assert ear.failures == []


def _add_controllers(host: Host) -> None:
    caches = host.caches
    simulation = Simulation(build_machines(3, {"cpu": "8", "memory": "64Gi", "pods": "110"}))
    host.add(SimulatedPodAgents(caches, simulation))
    host.add(SimulatedNodeAgents(caches, simulation))
    host.add(Scheduler(caches))
    host.add(NodeHealth(caches))
    for owner in (ReplicaSetReconciler(caches), DeploymentReconciler(caches)):
        host.add(owner, after=owner.after)
    host.add(RootCertificateReconciler(caches, "PEM"))
    for directory in (DirectoryReconciler, DirectoryRemovalReconciler):
        host.add(directory(caches, ROOT))
    for plain in (
        StatefulSetReconciler,
        EndpointSliceReconciler,
        EndpointsReconciler,
        ServiceAccountReconciler,
        ClaimReconciler,
        VolumeReconciler,
        ClaimProtectionReconciler,
        VolumeProtectionReconciler,
    ):
        host.add(plain(caches))


def scenario(play: Callable[[Whole], Awaitable[None]]) -> None:
    async def run() -> None:
        async with whole() as world:
            await play(world)

    run_virtual(run())


def deployment(replicas: int = 3, image: str = "a") -> JsonObject:
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template(image)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


def is_rolled_out(generation: int, replicas: int) -> Callable[[list[JsonObject]], bool]:
    def test(found: list[JsonObject]) -> bool:
        status = found[0].get("status", {})
        counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
        return bool(status.get("observedGeneration") == generation and counts == [replicas] * 3)

    return test


def test_a_deployment_with_a_service_is_rolled_out_updated_scaled_and_quiet() -> None:
    async def play(world: Whole) -> None:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": LABELS, "ports": [{"port": 80, "targetPort": 8080}]},
        }
        await world.user.create(SERVICE, service)
        await world.user.create(DEPLOYMENT, deployment())
        (found,) = await world.until(DEPLOYMENT, is_rolled_out(1, 3))
        assert found["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
        assert [item["reason"] for item in found["status"]["conditions"]] == [
            "MinimumReplicasAvailable",
            "NewReplicaSetAvailable",
        ]
        await world.until(ENDPOINT_SLICE, lambda items: _ready(items) == 3)

        await world.patch(DEPLOYMENT, "web", spec={"template": template("b")})
        (found,) = await world.until(DEPLOYMENT, is_rolled_out(2, 3))
        assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
        sets = await world.until(REPLICA_SET, lambda items: len(items) == 2)
        assert sorted(item["spec"]["replicas"] for item in sets) == [0, 3]
        assert all(item["metadata"]["ownerReferences"][0]["name"] == "web" for item in sets)

        await world.patch(DEPLOYMENT, "web", spec={"replicas": 6})
        await world.until(DEPLOYMENT, is_rolled_out(3, 6))
        pods = await world.until(POD, lambda items: len(items) == 6)
        await world.until(ENDPOINT_SLICE, lambda items: _ready(items) == 6)
        (older,) = [
            item for item in await world.api.list(ENDPOINTS_TYPE, "default") if item["metadata"]["name"] == "web"
        ]
        addresses = {address["ip"] for address in older["subsets"][0]["addresses"]}
        assert addresses == {item["status"]["podIP"] for item in pods}

        world.ear.writes.clear()
        await asyncio.sleep(600)
        ours = ("replicaset-controller", "deployment-controller", "endpoint-slice-controller", "endpoint-controller")
        assert {name: world.ear.writes[name] for name in ours} == dict.fromkeys(ours, 0)

        await world.delete(SERVICE, "web")
        await world.until(ENDPOINTS_TYPE, lambda items: all(item["metadata"]["name"] != "web" for item in items))

    scenario(play)


def _ready(slices: list[JsonObject]) -> int:
    mine = (item for item in slices if item["metadata"]["name"].startswith("web-"))
    return sum(endpoint["conditions"]["ready"] for item in mine for endpoint in item["endpoints"] or ())


def test_every_namespace_has_its_account_and_certificate() -> None:
    async def play(world: Whole) -> None:
        namespaces = {"default", "kube-system", "kube-public", "kube-node-lease"}
        accounts = await world.api.list(SERVICE_ACCOUNT)
        assert {item["metadata"]["namespace"] for item in accounts} == namespaces
        certificates = await world.api.list(CONFIG_MAP)
        found = {item["metadata"]["namespace"]: item["data"] for item in certificates}
        assert found == {namespace: {"ca.crt": "PEM"} for namespace in namespaces}

    scenario(play)


def test_a_pod_gets_the_directory_it_claims_and_the_directory_goes_with_the_claim() -> None:
    async def play(world: Whole) -> None:
        spec: JsonObject = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        metadata = {"name": "data", "namespace": "default"}
        await world.user.create(
            CLAIM, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        )
        (claim,) = await world.until(CLAIM, lambda items: items[0]["status"]["phase"] == "Bound")
        assert claim["spec"]["storageClassName"] == "standard"
        (volume,) = await world.until(VOLUME, lambda items: items[0]["status"]["phase"] == "Bound")
        assert world.directories == {volume["spec"]["hostPath"]["path"]}

        tree = deployment(replicas=1)
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        tree["spec"]["template"]["spec"]["volumes"] = volumes
        await world.user.create(DEPLOYMENT, tree)
        await world.until(DEPLOYMENT, is_rolled_out(1, 1))
        await world.delete(CLAIM, "data")
        await asyncio.sleep(30)
        assert len(await world.api.list(CLAIM, "default")) == 1
        await world.patch(DEPLOYMENT, "web", spec={"replicas": 0})
        await world.until(CLAIM, lambda items: not items)
        await world.until(VOLUME, lambda items: not items)
        assert world.directories == set()

    scenario(play)


def test_a_stateful_set_keeps_names_and_volumes_through_an_update_and_a_lost_pod() -> None:
    async def play(world: Whole) -> None:
        storage: JsonObject = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        tree = deployment(replicas=3)
        tree["kind"] = "StatefulSet"
        tree["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": storage}]
        await world.user.create(STATEFUL_SET, tree)
        await world.until(STATEFUL_SET, is_rolled_out(1, 3))
        pods = await world.api.list(POD, "default")
        assert sorted(item["metadata"]["name"] for item in pods) == ["web-0", "web-1", "web-2"]
        claims = {item["metadata"]["name"]: item["metadata"]["uid"] for item in await world.api.list(CLAIM, "default")}
        assert sorted(claims) == ["data-web-0", "data-web-1", "data-web-2"]

        await world.patch(STATEFUL_SET, "web", spec={"template": template("b")})
        (found,) = await world.until(STATEFUL_SET, is_rolled_out(2, 3))
        assert found["status"]["currentRevision"] == found["status"]["updateRevision"]
        await world.delete(POD, "web-1")
        await asyncio.sleep(60)
        await world.until(STATEFUL_SET, is_rolled_out(2, 3))
        assert claims == {
            item["metadata"]["name"]: item["metadata"]["uid"] for item in await world.api.list(CLAIM, "default")
        }

        world.ear.writes.clear()
        await asyncio.sleep(600)
        assert world.ear.writes["statefulset-controller"] == 0

    scenario(play)
