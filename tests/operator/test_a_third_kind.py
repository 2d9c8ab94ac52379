"""Another kind costs a builder, a plan, a reconciler of a few lines and sentences: shown with one that nobody needs.

A Sundial wants a Service in front of it. It is declared as a CustomResourceDefinition, planned by pure functions,
carried out on a server in this process by the same loop as RayClusters, and explained from its own plan.
"""

import asyncio
from typing import Any

import msgspec

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.in_process import InProcessTransport
from heliostat.explain.waits import tell_waits
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.lookups import ListedObjects, Objects
from heliostat.kube.objects import Key
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.plan import Plan, WriteStatus, ref_of
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RESOURCES, WholeObject
from heliostat.operator.scope import cache_dispensable, cache_needed
from heliostat.operator.understanding import Understanding
from heliostat.plan.draft import Draft
from heliostat.plan.ensure import create_unless_taken
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.caches import Caches
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.program import Program
from heliostat.testing import ApiServer

SUNDIAL = ResourceType("garden.example/v1", "Sundial", "sundials")
SERVICE = "Service"
PATH = "/apis/garden.example/v1/namespaces/default/sundials"
SERVICES = "/api/v1/namespaces/default/services"


def definition() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "sundials.garden.example"},
        "spec": {
            "group": "garden.example",
            "scope": "Namespaced",
            "names": {"plural": "sundials", "singular": "sundial", "kind": "Sundial"},
            "versions": [version | {"subresources": {"status": {}}}],
        },
    }


def sundial() -> JsonObject:
    return {"apiVersion": "garden.example/v1", "kind": "Sundial", "metadata": {"name": "s"}, "spec": {"port": 80}}


def build_gate(tree: JsonObject) -> JsonObject:
    """Desired."""
    metadata = tree["metadata"]
    owner = {"apiVersion": "garden.example/v1", "kind": "Sundial", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"{metadata['name']}-gate",
            "namespace": metadata["namespace"],
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {"ports": [{"port": tree["spec"]["port"]}]},
    }


class Garden:
    """What is around one Sundial."""

    owner_kind = "Sundial"

    def __init__(self, tree: JsonObject, objects: Objects) -> None:
        self.tree, self.objects = tree, objects
        self.find = objects.find

    def list_owned(self, kind: str) -> Any:
        return self.objects.list_owned(kind, self.tree["metadata"]["uid"])

    def owns(self, tree: JsonObject) -> bool:
        return is_controlled_by(tree, self.tree["metadata"]["uid"])


def plan_sundial(tree: JsonObject, garden: Garden) -> Plan:
    """Decided: pure, as all plans are."""
    draft, gate = Draft(), build_gate(tree)
    found = garden.find(SERVICE, gate["metadata"]["name"])
    is_ours = isinstance(found, dict) and garden.owns(found)
    if not is_ours:
        draft.add("gate", create_unless_taken(gate, garden))
    status, metadata = {"isOpen": is_ours}, tree["metadata"]
    if tree.get("status") == status:
        return draft.finish()
    write = WriteStatus(ref_of(tree), metadata["uid"], metadata["resourceVersion"], status, "StatusChanged")
    return draft.finish(status=write)


class NoMemory:
    def ended(self, _key: Key, _outcome: Outcome) -> bool:
        return False

    def forget(self, _key: Key) -> None:
        return


class SundialReconciler(KindReconciler[None, NoMemory]):
    name = "sundial-controller"

    def __init__(self, caches: Caches) -> None:
        around = {SERVICE: cache_dispensable(caches, CachedKind(RESOURCES[SERVICE], WholeObject), ())}
        understanding: Understanding[None] = Understanding(lambda _item: None, lambda meaning, _item: meaning)
        super().__init__(cache_needed(caches, CachedKind(SUNDIAL, WholeObject), ()), around, understanding, NoMemory())

    def plan_item(self, key: Key, item: WholeObject, meaning: None, now: float) -> Plan:
        tree = {
            "apiVersion": SUNDIAL.api_version,
            "kind": SUNDIAL.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "uid": item.metadata.uid,
                "resourceVersion": item.metadata.resource_version,
            },
            "spec": msgspec.json.decode(item.spec),
            "status": msgspec.json.decode(item.status),
        }
        return plan_sundial(tree, Garden(tree, self.objects_around(key, item.metadata.uid)))


async def until_open(server: ApiServer, *, is_open: bool) -> None:
    async with asyncio.timeout(30):
        while (await server.request("GET", f"{PATH}/s")).get("status") != {"isOpen": is_open}:
            await asyncio.sleep(0.01)


async def run_garden(server: ApiServer) -> None:
    """From nothing, and again after the Service was deleted: the loop is the one of RayClusters."""
    await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    await server.request("POST", PATH, sundial())
    problems: list[str] = []
    program = Program(
        InProcessTransport(server.handle, User("test", groups=(MASTERS,))),
        instance="test",
        on_problem=lambda what, error: problems.append(f"{what}: {error}"),
        types=ResourceTypes((SUNDIAL, *RESOURCES.values())),
    )
    program.host.add(SundialReconciler(program.host.caches))
    stop = asyncio.Event()
    running = asyncio.create_task(program.run(stop))
    await until_open(server, is_open=True)
    first = (await server.request("GET", f"{SERVICES}/s-gate"))["metadata"]["uid"]
    await server.request("DELETE", f"{SERVICES}/s-gate")
    async with asyncio.timeout(30):
        while await gate_uid(server) in ("", first):
            await asyncio.sleep(0.01)
    stop.set()
    await running
    assert problems == []


async def gate_uid(server: ApiServer) -> str:
    found = await server.request("GET", SERVICES)
    return next((str(item["metadata"]["uid"]) for item in found["items"] if item["metadata"]["name"] == "s-gate"), "")


def test_it_is_declared_planned_and_carried_out() -> None:
    async def scenario() -> None:
        async with ApiServer() as server:
            await run_garden(server)

    asyncio.run(scenario())


def test_it_is_explained_from_its_own_plan() -> None:
    tree = sundial()
    tree["metadata"] |= {"namespace": "default", "uid": "u", "resourceVersion": "1"}
    taken = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s-gate", "namespace": "default"}}
    plan = plan_sundial(tree, Garden(tree, ListedObjects({SERVICE: (taken,)})))
    (sentence,) = tell_waits(plan.waits)
    assert "taken" in sentence.what
    assert sentence.why == "Service default/s-gate exists and does not belong to this Sundial"
    assert "deleted or renamed" in sentence.fix
