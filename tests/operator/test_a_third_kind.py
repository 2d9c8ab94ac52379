"""Another kind costs a folder in desired, plan, explain and operator, and a row: shown with one that nobody needs.

A Sundial (``tests/garden``) wants a Service in front of it. It is declared as a CustomResourceDefinition; everything
else comes from its row: the operator carries it out on a server in this process, and it is explained from its own plan.
"""

import asyncio
from importlib import import_module
from typing import Any

import pytest

from garden.plan.sundial import SUNDIAL
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


def test_what_is_carried_out_is_the_plan_that_was_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody adds a write to a plan on its way, takes one away or changes one."""
    returned, planned, carried_out = list[Plan](), list[Action](), list[Action]()
    plan_of, carry_out, run_one = KindReconciler.plan, Executor.carry_out, Executor._run

    def plan(self: Any, key: Key, now: float) -> Plan:
        returned.append(plan_of(self, key, now))
        return returned[-1]

    async def carry(self: Executor, subject: Subject, given: Plan, *rest: Any) -> Outcome:
        assert any(given is each for each in returned)
        outcome = await carry_out(self, subject, given, *rest)
        assert outcome.succeeded
        planned.extend(given.actions())
        return outcome

    async def run(self: Executor, subject: Subject, action: Action) -> FailedAction | None:
        carried_out.append(action)
        return await run_one(self, subject, action)

    monkeypatch.setattr(KindReconciler, "plan", plan)
    monkeypatch.setattr(Executor, "carry_out", carry)
    monkeypatch.setattr(Executor, "_run", run)
    test_it_is_declared_planned_and_carried_out()
    assert len(planned) >= 4  # the gate and the status, twice
    assert sorted(map(id, planned)) == sorted(map(id, carried_out))


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
