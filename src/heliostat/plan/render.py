"""Documents in, every object the operator would create for them out: the whole of ``heliostat render``, as a function.

Nothing is decided here: the plans of each document and of whatever they make are carried out on an imagined world,
until none has anything to write. What others would bring along is there (``imagined.py``; a kind's ``assume`` and
``imagine``). The notes are what the last plans wait for. A refused document yields nothing but what is made anyway.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from heliostat.api.documents import is_ray_document
from heliostat.api.markers import JsonObject
from heliostat.api.review import Review, review
from heliostat.api.settings import Settings
from heliostat.kube.documents import Document
from heliostat.kube.plan import Create, Plan, Wait
from heliostat.kube.problems import Problem
from heliostat.kube.timestamps import format_timestamp
from heliostat.kube.titles import title_of
from heliostat.plan.imagined import ImaginedWorld, invent_uid
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.kinds import KINDS
from heliostat.plan.reasons import Severity, waiting
from heliostat.plan.situation import Situation
from heliostat.plan.table import describe_random

_MOST_ROUNDS = 500  # each makes up to a thousand Pods


class Finding(Struct, frozen=True):
    """A problem and the document it was found in."""

    document: Document
    problem: Problem


class Rendering(Struct, frozen=True):
    objects: tuple[JsonObject, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  # why objects are missing that one might expect

    @property
    def has_errors(self) -> bool:
        return any(finding.problem.severity == "error" for finding in self.findings)


def render_documents(documents: Iterable[Document], namespace: str, settings: Settings, now: float = 0.0) -> Rendering:
    """``now`` says which ticks of a RayCronJob are the next ones."""
    objects: list[JsonObject] = []
    findings: list[Finding] = []
    notes: list[str] = []
    for document in documents:
        if not is_ray_document(document.tree):
            continue
        reviewed = review(place(document.tree, namespace, now), settings)
        findings += [Finding(document, problem) for problem in reviewed.problems]
        if reviewed.tree is None:
            continue
        imagination = Imagination(reviewed.tree, settings, now)
        made = imagination.run()
        objects += made
        if reviewed.refusal is None:
            notes += [f"{title_of(document.tree)}: {note}" for note in imagination.tell(has_made=bool(made))]
    return Rendering(tuple(describe_random(tree) for tree in objects), tuple(findings), tuple(notes))


def place(tree: JsonObject, namespace: str, now: float) -> JsonObject:
    """The object as if it had been created: in a namespace, with a UID and a time. What is there already stays."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return tree
    where = metadata.get("namespace") or namespace
    uid = metadata.get("uid") or invent_uid(str(where), str(metadata.get("name", "")))
    given = {"creationTimestamp": format_timestamp(now)}
    return {**tree, "metadata": {**given, **metadata, "namespace": where, "uid": uid}}


class Look(Struct, frozen=True):
    """The last look at one of the ray.io objects."""

    kind: Kind[Any, Any, Any]
    situation: Situation[Any, Any, Any]
    plan: Plan

    @property
    def held_up(self) -> list[Wait]:
        return [wait for wait in self.plan.waits if waiting(wait).severity is Severity.WAITS]


class Imagination:
    """One object and what comes of it, in a world where nothing else is."""

    def __init__(self, tree: JsonObject, settings: Settings, now: float) -> None:
        self._settings = settings
        self._world = ImaginedWorld(now=now).hold(tree)
        self._reviews: dict[str, Review] = {}  # of each ray.io object, by UID: the order in which they came
        self._looks: dict[str, Look] = {}

    def run(self) -> list[JsonObject]:
        """What is made, in this order: whatever belongs to a child comes before the rest of its owner's."""
        made: list[JsonObject] = []
        for _ in range(_MOST_ROUNDS):
            self._take_in()
            plan = self._find_work()
            if plan is None:
                break
            made += [action.object for action in plan.actions() if isinstance(action, Create)]
            self._world = self._world.carry_out(plan).settle()
        return made

    def _take_in(self) -> None:
        """What is new is stored as the API server would store it."""
        for tree in self._ray_objects():
            if tree["metadata"]["uid"] in self._reviews:
                continue
            reviewed = review(tree, self._settings)
            self._reviews[tree["metadata"]["uid"]] = reviewed
            if reviewed.tree is not None:
                self._world = self._world.hold({**reviewed.tree, "status": {}})

    def _ray_objects(self) -> list[JsonObject]:
        return [tree for tree in self._world.trees() if tree["kind"] in KINDS]

    def _find_work(self) -> Plan | None:
        """The next plan that writes something; the youngest object goes first."""
        for tree in reversed(self._ray_objects()):
            reviewed = self._reviews[tree["metadata"]["uid"]]
            plan = self._plan(tree, reviewed) if reviewed.object is not None else Plan()
            if not plan.is_empty:
                return plan
        return None

    def _plan(self, tree: JsonObject, reviewed: Review) -> Plan:
        kind, uid = KINDS[tree["kind"]], tree["metadata"]["uid"]
        meaning = kind.understand(reviewed.object, reviewed.problems, self._settings)
        if uid not in self._looks:
            self._world = self._world.create(*kind.assume(reviewed.object, meaning.desired))
        there = Surroundings(objects=tuple(each for each in self._world.trees() if each is not tree))
        observed = kind.imagine(kind.observe(tree, there))
        situation = kind.situate(observed, meaning, kind.remember(None), self._settings, self._world.now)
        self._looks[uid] = Look(kind, situation, kind.plan(situation))
        return self._looks[uid].plan

    def tell(self, *, has_made: bool) -> Iterator[str]:
        """What the last plans wait for, the document's own first; where nothing was made, also what comes later."""
        for number, (uid, reviewed) in enumerate(self._reviews.items()):
            if reviewed.refusal is not None or uid not in self._looks:
                yield f"what it makes is refused: {reviewed.refusal}"
                continue
            look = self._looks[uid]
            whose = f"its {look.kind.resource.kind}: " if number else ""
            for wait in look.held_up or (() if has_made else look.plan.waits):
                yield f"{whose}{waiting(wait).meaning}: {wait.message}"
            if not look.held_up and not has_made:
                yield from look.kind.tell(look.situation, None)
