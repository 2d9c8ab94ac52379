"""Play a scenario on a control plane and tell, masked, what came of it."""

import asyncio
import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from conformance.controllers.masking import Masker
from conformance.controllers.model import (
    KINDS,
    SHOWN_BY_DEFAULT,
    Change,
    Create,
    Json,
    Look,
    Pick,
    Remove,
    Scenario,
    Step,
    Until,
    fill,
)
from conformance.controllers.nodes import send, shared_node
from conformance.controllers.story import Story, Version
from conformance.controllers.trajectories import trajectories
from conformance.recording import Reply
from conformance.targets import Target

READY_SECONDS = 60.0
SEEN_SECONDS = 10.0
LONGEST_LOOK = 20.0  # until a cluster that never rests is looked at all the same
CLUSTER_WIDE = ("Node", "PersistentVolume", "StorageClass", "PriorityClass")
FURNITURE = {"ConfigMap": ("kube-root-ca.crt",), "ServiceAccount": ("default",)}


class Outcome(Struct, frozen=True):
    """What a scenario showed: answers of the server, views, events, ways; all of it masked."""

    digest: str
    answers: list[Json]
    looks: dict[str, Json]
    events: list[Json]
    ways: dict[str, list[list[str]]]


def digest_of(scenario: Scenario) -> str:
    return hashlib.sha256(msgspec.json.encode(scenario, order="sorted")).hexdigest()[:12]


async def play_all(scenarios: Sequence[Scenario], target: Target, abreast: int) -> dict[str, Outcome]:
    """Those that need the whole cluster come last, one after the other; the rest side by side, with a Node for all."""
    turns = asyncio.Semaphore(abreast)

    async def one(scenario: Scenario) -> Outcome:
        async with turns:
            return await play(scenario, target)

    together = [scenario for scenario in scenarios if not scenario.is_alone]
    async with shared_node(target):
        played = await asyncio.gather(*(one(scenario) for scenario in together))
    outcomes = {scenario.name: outcome for scenario, outcome in zip(together, played, strict=True)}
    for scenario in scenarios:
        if scenario.is_alone:
            outcomes[scenario.name] = await play(scenario, target)
    return outcomes


async def play(scenario: Scenario, target: Target) -> Outcome:
    return await _Play(scenario, target).run()


class _Play:
    def __init__(self, scenario: Scenario, target: Target) -> None:
        self._scenario = scenario
        self._target = target
        self._story = Story(scenario, target)
        self._answers: list[tuple[str, Json]] = []
        self._looks: dict[str, dict[str, list[Json]]] = {}
        self._uids: dict[str, str] = {}  # of what the scenario made, by "Kind/name"

    async def run(self) -> Outcome:
        await self._furnish()
        await self._story.open()
        try:
            for step in self._scenario.steps:
                await self._step(self._fill(step))
            await self._story.catch_up()
            told = list(self._story.versions)
        finally:
            await self._clean_up()
        return self._tell(told)

    async def _furnish(self) -> None:
        """A namespace with what every namespace gets."""
        name = self._scenario.name
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        made = await send(self._target, "POST", KINDS["Namespace"].path(""), namespace)
        if made.status != 201:
            raise RuntimeError(f"{self._target.name}: no namespace {name}: {made}")
        deadline = asyncio.get_running_loop().time() + READY_SECONDS
        for kind, names in FURNITURE.items():
            while (await send(self._target, "GET", KINDS[kind].path(name, names[0]))).status != 200:
                if asyncio.get_running_loop().time() > deadline:
                    raise RuntimeError(f"{self._target.name}: {name} has no {kind} {names[0]}")
                await asyncio.sleep(0.1)

    async def _step(self, step: Step) -> None:
        match step:
            case Create():
                self._answer(
                    f"create {step.object['kind']} {step.object['metadata']['name']}", await self._create(step.object)
                )
            case Change():
                await self._each(step.pick, "change", step.subresource, step.changes)
            case Remove():
                await self._each(step.pick, "remove", "", _deletion(step))
            case Until():
                if not await self._story.until(step.pick, step.count, step.seconds):
                    there = len(self._story.picked(step.pick))
                    self._answers.append((f"until {step.pick}", f"{there} instead of {step.count}"))
            case Look():
                await self._story.until_quiet(step.quiet_seconds, LONGEST_LOOK)
                self._looks[step.name] = {kind: self._bare(kind) for kind in self._shown()}

    async def _create(self, tree: Json) -> Reply:
        kind = KINDS[tree["kind"]]
        metadata = tree["metadata"]
        body = {"apiVersion": kind.api_version, **tree}
        made = await send(self._target, "POST", kind.path(metadata.get("namespace", self._scenario.name)), body)
        if made.status == 201:
            self._uids[f"{tree['kind']}/{metadata['name']}"] = made.body["metadata"]["uid"]
        if made.status == 201 and tree.get("status"):
            status = {"status": tree["status"]}
            path = kind.path(metadata.get("namespace", self._scenario.name), made.body["metadata"]["name"], "status")
            made = await send(self._target, "PATCH", path, status)
        if metadata.get("namespace", self._scenario.name) == self._scenario.name:
            await self._see(tree["kind"], made)
        return made

    async def _see(self, kind: str, reply: Reply) -> None:
        """The next step must not act on what was before this one."""
        written = reply.body.get("metadata", {}) if reply.status < 300 and isinstance(reply.body, dict) else {}
        if written.get("uid"):
            await self._story.until_seen(kind, written["resourceVersion"], SEEN_SECONDS)

    async def _each(self, pick: Pick, verb: str, subresource: str, body: Json) -> None:
        """To each of the picked objects; that there is none is an answer, too."""
        await self._story.catch_up()
        picked = self._story.picked(pick)
        if not picked:
            self._answers.append((f"{verb} {pick}", "nothing is there"))
        for tree in picked:
            path = _path(pick.kind, tree, subresource)
            reply = await send(self._target, "PATCH" if verb == "change" else "DELETE", path, body)
            self._answer(f"{verb} {pick.kind} {tree['metadata']['name']}", reply)
            await self._see(pick.kind, reply)

    def _fill(self, step: Step) -> Step:
        """With the namespace's name, and ``{uid Kind/name}`` as the uid of what an earlier step made."""
        tree = fill(msgspec.to_builtins(step), "{ns}", self._scenario.name)
        for name, uid in self._uids.items():
            tree = fill(tree, f"{{uid {name}}}", uid)
        filled: Step = msgspec.convert(tree, type=Step)
        return filled

    def _answer(self, what: str, reply: Reply) -> None:
        if reply.status >= 400:
            self._answers.append((what, {"code": reply.status, "body": reply.body}))

    def _shown(self) -> tuple[str, ...]:
        return self._scenario.shows or SHOWN_BY_DEFAULT

    async def _clean_up(self) -> None:
        """Nodes are for the next scenario, and what only this one holds would stay for ever."""
        await self._story.catch_up()
        for tree in self._story.current("Pod"):
            await send(self._target, "DELETE", _path("Pod", tree), {"gracePeriodSeconds": 0})
        if self._scenario.is_alone:
            await self._story.until(Pick(), 0, READY_SECONDS)
        for kind in (*CLUSTER_WIDE, *(kind for kind in KINDS if KINDS[kind].is_namespaced)):
            for tree in self._story.current(kind):
                if kind in CLUSTER_WIDE or tree["metadata"].get("finalizers"):
                    await send(self._target, "DELETE", _path(kind, tree))
                    await send(self._target, "PATCH", _path(kind, tree), {"metadata": {"finalizers": None}})
        await send(self._target, "DELETE", KINDS["Namespace"].path("", self._scenario.name))
        await self._story.close()

    def _tell(self, versions: Sequence[Version]) -> Outcome:
        masker = Masker(self._scenario, versions)
        looks = {
            name: {kind: masker.objects(kind, trees) for kind, trees in look.items() if trees}
            for name, look in self._looks.items()
        }
        events = {one.tree["metadata"]["uid"]: one.tree for one in versions if one.kind == "Event"}
        return Outcome(
            digest_of(self._scenario),
            [{"step": masker.text(what), "answer": masker.tree(answer)} for what, answer in self._answers],
            looks,
            masker.events(events.values()),
            trajectories(masker, versions),
        )

    def _bare(self, kind: str) -> list[Json]:
        there = self._story.current(kind)
        if self._scenario.keeps_furniture:
            return there
        return [tree for tree in there if tree["metadata"]["name"] not in FURNITURE.get(kind, ())]


def _path(kind: str, tree: Json, subresource: str = "") -> str:
    metadata = tree["metadata"]
    return KINDS[kind].path(metadata.get("namespace", ""), metadata["name"], subresource)


def _deletion(step: Remove) -> Json:
    body: dict[str, Json] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if step.propagation:
        body["propagationPolicy"] = step.propagation
    if step.grace_seconds is not None:
        body["gracePeriodSeconds"] = step.grace_seconds
    return body
