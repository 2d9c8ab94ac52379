"""What a Sundial's plan is made from, the plan, and the row that everybody takes both from."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from garden.desired.sundial import Sundial, SundialSpec, build_gate
from heliostat.api.review import Review
from heliostat.api.settings import Settings
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.lookups import SERVICE, Found, KindName, ListedObjects, Objects
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.plan import Plan, WriteStatus, ref_of
from heliostat.kube.problems import Problem
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.draft import Draft
from heliostat.plan.ensure import create_unless_taken
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.situation import Situation


class ObservedSundial(Struct, frozen=True):
    tree: JsonObject
    objects: Objects
    owner_kind: str = "Sundial"

    @property
    def has_unknown(self) -> bool:
        return self.objects.has_unknown

    def find(self, kind: KindName, name: str) -> Found:
        return self.objects.find(kind, name)

    def list_owned(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        return self.objects.list_owned(kind, self.tree["metadata"]["uid"])

    def owns(self, tree: JsonObject) -> bool:
        return is_controlled_by(tree, self.tree["metadata"]["uid"])


def observe(tree: JsonObject, there: Surroundings) -> ObservedSundial:
    services = tuple(each for each in there.objects if each["kind"] == "Service")
    return ObservedSundial(tree, there.hide_from(ListedObjects({SERVICE: services})))


def plan_sundial(situation: Situation[ObservedSundial, JsonObject, None]) -> Plan:
    observed, gate, draft = situation.observed, situation.parts, Draft()
    found = observed.find(SERVICE, gate["metadata"]["name"])
    is_ours = isinstance(found, dict) and observed.owns(found)
    if not is_ours:
        draft.add("gate", create_unless_taken(gate, observed))
    status, metadata = {"isOpen": is_ours}, observed.tree["metadata"]
    if observed.tree.get("status") == status:
        return draft.finish()
    ref = ref_of(observed.tree)
    return draft.finish(status=WriteStatus(ref, metadata["uid"], metadata["resourceVersion"], status, "StatusChanged"))


def review(tree: Any, _settings: Settings) -> Review:
    return Review((), msgspec.convert(tree, Sundial), tree)  # type: ignore[arg-type]


def find_problems(sundial: Sundial, _settings: Settings) -> Iterator[Problem]:
    if sundial.spec.port < 1:
        yield Problem(path=("spec", "port"), problem="is no port", fix="give one from 1 on")


SUNDIAL = Kind[ObservedSundial, JsonObject, None](
    resource=ResourceType("garden.example/v1", "Sundial", "sundials"),
    struct=Sundial,
    spec=SundialSpec,
    review=review,
    find_problems=find_problems,
    observe=observe,
    build=lambda sundial, _settings: build_gate(sundial),
    plan=plan_sundial,
    remember=lambda _live: None,
    home="garden",
)
