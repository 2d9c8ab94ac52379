"""What would happen if these documents were applied to those objects: all of ``heliostat plan``, as a function."""

from collections.abc import Sequence

from msgspec import Struct

from heliostat.api.documents import is_ray_document
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.desired.cluster import build_desired
from heliostat.kube.documents import Document
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.plan.cluster import plan_cluster
from heliostat.plan.observed import Facts, observe_objects
from heliostat.plan.render import place

_KEPT_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "finalizers",
                   "ownerReferences")  # fmt: skip


class Planned(Struct, frozen=True):
    """One document: its findings, and its plan when there is one."""

    document: Document
    problems: tuple[Problem, ...]
    plan: Plan | None


def plan_documents(
    documents: Sequence[Document], objects: Sequence[JsonObject], namespace: str, settings: Settings, now: float
) -> list[Planned]:
    planned = (document for document in documents if is_ray_document(document.tree))
    return [_plan_document(document, objects, namespace, settings, now) for document in planned]


def _plan_document(
    document: Document, objects: Sequence[JsonObject], namespace: str, settings: Settings, now: float
) -> Planned:
    wanted = place(document.tree, namespace)
    live = _find_live(wanted, objects, namespace)
    reviewed = review(apply_to_live(wanted, live) if live else wanted, settings)
    if reviewed.tree is None or not isinstance(reviewed.object, RayCluster):
        return Planned(document, reviewed.problems, None)
    refusal = reviewed.refusal
    desired = build_desired(reviewed.object, settings) if refusal is None else None
    warnings = tuple(problem for problem in reviewed.problems if problem.severity == "warning")
    facts = Facts(groups_seen=_group_names(live))
    observed = observe_objects(reviewed.tree, objects)
    plan = plan_cluster(observed, desired, settings, facts, now, refusal=refusal, warnings=warnings)
    return Planned(document, reviewed.problems, plan)


def _find_live(wanted: JsonObject, objects: Sequence[JsonObject], namespace: str) -> JsonObject | None:
    identity = _identity(wanted, namespace)
    return next((tree for tree in objects if _identity(tree, namespace) == identity), None)


def _identity(tree: JsonObject, namespace: str) -> tuple[str, str, str, str]:
    metadata = tree.get("metadata") or {}
    group = str(tree.get("apiVersion", "")).partition("/")[0]
    return group, str(tree.get("kind")), metadata.get("namespace") or namespace, str(metadata.get("name"))


def apply_to_live(wanted: JsonObject, live: JsonObject) -> JsonObject:
    """The live object after the document was applied: its identity and status, the document's spec and labels."""
    metadata, server = wanted["metadata"], live["metadata"]
    kept = {key: server[key] for key in _KEPT_BY_SERVER if key in server}
    merged = {
        **metadata,
        **kept,
        "labels": {**(server.get("labels") or {}), **(metadata.get("labels") or {})},
        "annotations": {**(server.get("annotations") or {}), **(metadata.get("annotations") or {})},
    }
    result = {**wanted, "metadata": merged}
    if "status" in live:
        result["status"] = live["status"]
    return result


def _group_names(live: JsonObject | None) -> frozenset[str]:
    groups = ((live or {}).get("spec") or {}).get("workerGroupSpecs") or []
    return frozenset(str(group.get("groupName")) for group in groups)
