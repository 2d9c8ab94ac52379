"""What would happen if these documents were applied to those objects: all of ``heliostat plan``, as a function."""

from typing import Any

from msgspec import Struct, structs

from heliostat.api.documents import is_ray_document
from heliostat.api.kinds import RayObject
from heliostat.api.markers import JsonObject
from heliostat.api.review import Review, review
from heliostat.api.settings import Settings
from heliostat.kube.documents import Document
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import drop_empty
from heliostat.kube.lookups import kind_name
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.kube.titles import name_in, text_in_metadata
from heliostat.plan.draft import Draft
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.kind import Surroundings
from heliostat.plan.kinds import KINDS
from heliostat.plan.render import place

_KEPT_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "finalizers",
                   "ownerReferences")  # fmt: skip


class Planned(Struct, frozen=True):
    """One document: its findings, its plan when there is one, and what the plan alone does not tell."""

    document: Document
    problems: tuple[Problem, ...]
    plan: Plan | None
    notes: tuple[str, ...] = ()


def plan_document(
    document: Document, there: Surroundings, namespace: str, settings: Settings, now: float
) -> Planned | None:
    """None: the document is not of ray.io."""
    if not is_ray_document(document.tree):
        return None
    wanted = place(document.tree, namespace, now)
    live = _find_live(wanted, there, namespace)
    reviewed = review(wanted, settings) if live is None else _review_edit(wanted, live, settings)
    if reviewed.object is None:
        return Planned(document, reviewed.problems, None)
    kind = KINDS[reviewed.object.kind]
    own = kind_name(kind.resource.api_version, kind.resource.kind)
    situation = kind.situate_reviewed(reviewed, there, live, settings, now)
    if live is None and own in there.unread:
        return Planned(document, reviewed.problems, _plan_unknown(reviewed.object, there.unread[own]))
    return Planned(document, reviewed.problems, kind.plan(situation), tuple(kind.tell(situation, live)))


def _review_edit(wanted: JsonObject, live: JsonObject, settings: Settings) -> Review:
    """With the generation that the API server gives it: another spec is one more."""
    reviewed = review(apply_to_live(wanted, live), settings)
    value, tree = reviewed.object, reviewed.tree
    if value is None or tree is None or drop_empty(tree.get("spec")) == drop_empty(live.get("spec")):
        return reviewed
    generation = value.metadata.generation + 1
    metadata = structs.replace(value.metadata, generation=generation)
    edited = {**tree, "metadata": {**tree["metadata"], "generation": generation}}
    return structs.replace(reviewed, object=structs.replace(value, metadata=metadata), tree=edited)


def _plan_unknown(value: RayObject, why: str) -> Plan:
    """Whether it is there decides whose everything around it is."""
    draft = Draft()
    which = f"{value.kind} {value.metadata.namespace}/{value.metadata.name}"
    draft.add(value.kind.lower(), wait_for_knowledge(which, Unknown(why)))
    return draft.finish()


def _find_live(wanted: JsonObject, there: Surroundings, namespace: str) -> JsonObject | None:
    identity = _identity(wanted, namespace)
    return next((tree for tree in there.objects if _identity(tree, namespace) == identity), None)


def _identity(tree: JsonObject, namespace: str) -> tuple[str, str, str, str]:
    group = str(tree.get("apiVersion", "")).partition("/")[0]
    return group, str(tree.get("kind")), text_in_metadata(tree, "namespace") or namespace, name_in(tree)


def apply_to_live(wanted: JsonObject, live: JsonObject) -> JsonObject:
    """The live object after the document was applied: its identity and status, the document's spec and labels."""
    metadata, server = wanted["metadata"], live["metadata"]
    kept = {key: server[key] for key in _KEPT_BY_SERVER if key in server}
    merged = {
        **metadata,
        **kept,
        "labels": _merge(server.get("labels"), metadata.get("labels")),
        "annotations": _merge(server.get("annotations"), metadata.get("annotations")),
    }
    result = {**wanted, "metadata": merged}
    if "status" in live:
        result["status"] = live["status"]
    return result


def _merge(live: Any, wanted: Any) -> Any:
    """What is no map stays, to be refused by its name."""
    before, after = live or {}, wanted or {}
    return {**before, **after} if isinstance(before, dict) and isinstance(after, dict) else after
