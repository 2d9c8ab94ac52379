"""Another kind costs a folder in desired, plan, explain and operator, and a row: shown with one that nobody needs.

A Sundial (``tests/garden``) wants a Service in front of it. It is declared as a CustomResourceDefinition; everything
else comes from its row: the operator carries it out on a server in this process, and it is explained from its own plan.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from garden.plan.sundial import SUNDIAL
from heliostat.api.crds import all_crds
from heliostat.api.settings import Settings
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.in_process import InProcessTransport
from heliostat.explain.scene import Scene, explain
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Action, Plan
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.options import OperatorOptions
from heliostat.operator.program import RayOperator
from heliostat.plan.kind import Kind
from heliostat.plan.kinds import KINDS
from heliostat.runtime.executor import Executor
from heliostat.runtime.outcome import FailedAction, Outcome
from heliostat.runtime.reconciler import Subject
from heliostat.testing import ApiServer
from plan.worlds import cluster_tree, group

PATH = "/apis/garden.example/v1/namespaces/default/sundials"
SERVICES = "/api/v1/namespaces/default/services"
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"


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


async def until_open(server: ApiServer, *, is_open: bool) -> None:
    async with asyncio.timeout(30):
        while (await server.request("GET", f"{PATH}/s")).get("status") != {"isOpen": is_open}:
            await asyncio.sleep(0.01)


async def run_garden(server: ApiServer) -> None:
    """From nothing, and again after the Service was deleted: the loop is the one of RayClusters."""
    await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    await server.request("POST", PATH, sundial())
    problems: list[str] = []
    program = RayOperator(
        InProcessTransport(server.handle, User("test", groups=(MASTERS,))),
        OperatorOptions(instance="test"),
        on_problem=lambda what, error: problems.append(f"{what}: {error}"),
        kinds=(SUNDIAL,),
    )
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


async def run_ray_cluster(server: ApiServer) -> None:
    """Until its Pods are there, and its status tells of them: that is held back for a moment."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await server.request("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    for crd in all_crds(slim=True):
        await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    transport = InProcessTransport(server.handle, User("test", groups=(MASTERS,)))
    program = RayOperator(transport, OperatorOptions(instance="test"), on_problem=lambda _what, _error: None)
    stop = asyncio.Event()
    running = asyncio.create_task(program.run(stop))
    tree = cluster_tree(group(replicas=3), metadata={"namespace": "default"})
    fresh = {key: tree["metadata"][key] for key in ("name", "namespace")}
    await server.request("POST", CLUSTERS, tree | {"metadata": fresh})
    async with asyncio.timeout(60):
        while (await server.request("GET", f"{CLUSTERS}/demo")).get("status", {}).get("desiredWorkerReplicas") != 3:
            await asyncio.sleep(0.05)
    stop.set()
    await running


def test_the_plans_of_a_ray_cluster_are_carried_out_as_they_were_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with ApiServer() as server:
            await run_ray_cluster(server)

    check_plans_on_their_way(monkeypatch, lambda: asyncio.run(scenario()))


def test_what_is_carried_out_is_the_plan_that_was_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    check_plans_on_their_way(monkeypatch, test_it_is_declared_planned_and_carried_out)


def check_plans_on_their_way(monkeypatch: pytest.MonkeyPatch, life: Callable[[], None]) -> None:
    """Nobody adds a write to a plan on its way, takes one away or changes one; what needs a failed one is left out."""
    returned, complete, carried_out = list[Plan](), list[Plan](), list[Action]()
    plan_of, carry_out, run_one = KindReconciler.plan, Executor.carry_out, Executor._run

    def plan(self: Any, key: Key, now: float) -> Plan:
        returned.append(plan_of(self, key, now))
        return returned[-1]

    async def carry(self: Executor, subject: Subject, given: Plan, *rest: Any) -> Outcome:
        assert any(given is each for each in returned)
        outcome = await carry_out(self, subject, given, *rest)
        complete.extend([given] if outcome.has_asked_for_all else [])
        return outcome

    async def run(self: Executor, subject: Subject, action: Action) -> FailedAction | None:
        carried_out.append(action)
        return await run_one(self, subject, action)

    monkeypatch.setattr(KindReconciler, "plan", plan)
    monkeypatch.setattr(Executor, "carry_out", carry)
    monkeypatch.setattr(Executor, "_run", run)
    life()
    sent = Counter(map(id, carried_out))
    planned = Counter(id(action) for plan in returned for action in plan.actions())
    assert sent <= planned
    assert Counter(id(action) for plan in complete for action in plan.actions()) <= sent
    assert len({id(action) for plan in complete for action in plan.actions()}) >= 4


def scene(*around: JsonObject) -> Scene:
    tree = sundial()
    tree["metadata"] |= {"namespace": "default", "uid": "u", "resourceVersion": "1"}
    return Scene(tree=tree, objects=around, now=0.0)


def test_it_is_explained_from_its_own_plan() -> None:
    taken = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s-gate", "namespace": "default"}}
    explained = explain(SUNDIAL, scene(taken), Settings())
    assert (explained.title, explained.verdict) == ("Sundial default/s", "is shut")
    (sentence,) = explained.sentences
    assert "taken" in sentence.what
    assert sentence.why == "Service default/s-gate exists and does not belong to this Sundial"
    assert "deleted or renamed" in sentence.fix


def test_with_nobody_in_its_way_it_is_open() -> None:
    assert explain(SUNDIAL, scene(), Settings()).is_ready


@pytest.mark.parametrize("kind", [*KINDS.values(), SUNDIAL], ids=lambda kind: str(kind.resource))
def test_every_row_has_a_room_in_each_package(kind: Kind[Any, Any, Any]) -> None:
    for package in ("desired", "plan", "explain", "operator"):
        import_module(kind.name_room(package))
    assert callable(import_module(kind.name_room("explain")).explain)
    assert callable(import_module(kind.name_room("operator")).add_controller)
