"""One errand, done exactly once: the smallest program that calls something beyond the API server.

The id is persisted before it is used, the errand is sent when the office does not know it, and the office is less
forgiving than Ray: it takes the same id twice. So only the rules of effects keep it at one.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from heliostat.kube.facts import Fact, FactKey, Unknown
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Effect, Plan, Stage, Wait, WriteStatus
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.host import Host
from heliostat.runtime.pollers import FactCache
from heliostat.runtime.reconciler import Signal, Source, Subject, itself, signalled, subject_of
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing.simulation.exploration import Case
from heliostat.testing.simulation.world import World
from simulation.programs import REQUEST_SECONDS, host_program

PROGRAM = "errands"
API = "tests.heliostat.dev/v1"
ERRAND = ResourceType(API, "Errand", "errands")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ERRANDS = f"/apis/{API}/namespaces/default/errands"
OFFICE = "/api/v1/namespaces/default/services/office:http/proxy/errands"
SEND = "send-errand"
DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "errands.tests.heliostat.dev"},
    "spec": {
        "group": "tests.heliostat.dev",
        "scope": "Namespaced",
        "names": {"plural": "errands", "singular": "errand", "kind": "Errand", "listKind": "ErrandList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}


class Status(Struct, frozen=True):
    id: str = ""
    result: str = ""


class Errand(Object, frozen=True):
    status: Status = Status()


KIND = CachedKind(ERRAND, Errand)


class Office:
    """Done three seconds after it was taken in."""

    def __init__(self, world: World) -> None:
        self.taken: dict[str, float] = {}
        self._world = world

    async def send(self, call: Call, _seconds: float) -> Reply:
        now = self._world.time()
        if call.method == "POST":
            return self._take(msgspec.json.decode(call.body)["id"], now)
        found = self.taken.get(call.path.removeprefix(f"{OFFICE}/"))
        if found is None:
            return Reply(404, b"{}")
        return Reply(200, encode_json({"result": "DONE" if now - found > 3 else "UNDER WAY"}))

    def _take(self, name: str, now: float) -> Reply:
        if name in self.taken:
            self._world.report(f"{name} was sent twice")
        statuses = [tree.get("status", {}) for tree in self._world.state.all("errands")]
        if name not in [status.get("id") for status in statuses]:
            self._world.report(f"{name} was used before it was persisted")
        self.taken[name] = now
        return Reply(200, b"{}")

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""


class Errands:
    name = "errands"

    def __init__(self, host: Host, client: Client) -> None:
        self._client = client
        self._errands = host.caches.of(KIND)
        self._news = Signal()
        self._facts: FactCache[FactKey, str] = FactCache(
            lambda key: self._news.send(Key(*key.of.split("/")[:2])),
            clock=asyncio.get_running_loop().time,
            chance=lambda: 0.5,
        )
        host.beside.append(self._facts.run)
        host.effects.facts = self._facts
        host.effects[SEND] = self._send

    def sources(self) -> Sequence[Source]:
        return (Source(self._errands, itself), Source(self._news, signalled))

    def subject(self, key: Key) -> Subject | None:
        errand = self._errands.get(key)
        return None if errand is None else subject_of(errand, API, "Errand")

    def plan(self, key: Key, _now: float) -> Plan:
        errand = self._errands.get(key)
        if errand is None or errand.status.result == "DONE":
            return Plan()
        name = errand.status.id
        if not name:
            new = f"errand-{errand.metadata.uid[-4:]}"
            return Plan(status=_write(errand, {"id": new}, (new,)))
        fact = FactKey("errand", f"{key.namespace}/{key.name}/{name}")
        self._facts.watch(fact, lambda: self._read(name), 2.0, source="office")
        match self._facts.get(fact):
            case Unknown(why):
                return Plan(waits=(Wait("OfficeUnknown", why, "it answers"),))
            case Fact("MISSING"):
                effect = Effect(SEND, {"id": name}, name, "Missing", decided_on=(fact,), touches=(fact,))
                return Plan(stages=(Stage("send", (msgspec.structs.replace(effect, seconds=REQUEST_SECONDS),)),))
            case Fact(result):
                is_new = result != errand.status.result
                return Plan(status=_write(errand, {"id": name, "result": result}) if is_new else None)

    async def _read(self, name: str) -> str:
        try:
            body = await self._client.request(Call(method="GET", path=f"{OFFICE}/{name}"))
        except NotFoundError:
            return "MISSING"
        return str(msgspec.json.decode(body)["result"])

    async def _send(self, effect: Effect) -> None:
        await self._client.request(Call(method="POST", path=OFFICE, body=encode_json(effect.payload)))


def _write(errand: Errand, status: JsonObject, introduces: Iterable[str] = ()) -> WriteStatus:
    about = subject_of(errand, API, "Errand")
    return WriteStatus(about.ref, about.uid, about.resource_version, status, "Progress", tuple(introduces))


def errand_crew(host: Host, client: Client) -> None:
    host.types.add(ERRAND)
    host.add(Errands(host, client))


async def one_errand(world: World) -> None:
    office = Office(world)
    world.serve(office)
    await world.request("POST", CRDS, DEFINITION)
    world.start(PROGRAM, host_program(world, PROGRAM, errand_crew))
    await world.request("POST", ERRANDS, {"apiVersion": API, "kind": "Errand", "metadata": {"name": "milk"}})
    await world.until("it is done", lambda: _result(world) == "DONE", 900)
    await world.until_quiet(30)
    if len(office.taken) != 1:
        world.report(f"{len(office.taken)} errands were sent, one was wanted")


def _result(world: World) -> str:
    tree = world.state.get("errands", "default", "milk")
    return str((tree or {}).get("status", {}).get("result", ""))


ERRAND_CASE = Case(name="errands", scenario=one_errand, invariants=(), program=PROGRAM)
