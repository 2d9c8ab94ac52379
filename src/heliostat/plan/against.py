"""What would happen if these documents were applied to those objects: all of ``heliostat plan``, as a function."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from heliostat.api.documents import is_ray_document
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.review import Review, review
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.desired.raycluster.spec_hash import hash_spec
from heliostat.kube.documents import Document
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import KindName
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.kube.titles import name_in, text_in_metadata
from heliostat.plan.draft import Draft
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.raycluster.cluster import plan_cluster
from heliostat.plan.raycluster.observed import ObservedCluster, observe_objects
from heliostat.plan.raycluster.remembered import Remembered
from heliostat.plan.raycluster.situation import Situation
from heliostat.plan.raycluster.unapplied import find_unapplied, has_own_stamp, tell_unfollowed
from heliostat.plan.raycronjob import against as raycronjob
from heliostat.plan.rayjob.against import observe_known, plan_known, tell_schedule
from heliostat.plan.rayservice.against import observe_known as observe_known_service
from heliostat.plan.rayservice.against import plan_known as plan_known_service
from heliostat.plan.rayservice.against import tell_edit
from heliostat.plan.render import place
from heliostat.plan.unread import RAY_CLUSTER, hide_unread

_KEPT_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "finalizers",
                   "ownerReferences")  # fmt: skip


class Surroundings(Struct, frozen=True, kw_only=True):
    """What is there, as far as it was read. ``unread`` are kinds that were not, and why."""

    objects: tuple[JsonObject, ...] = ()
    unread: Mapping[KindName, str] = {}


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
    wanted = place(document.tree, namespace)
    live = _find_live(wanted, there, namespace)
    reviewed = review(apply_to_live(wanted, live) if live else wanted, settings)
    if reviewed.tree is not None and isinstance(reviewed.object, RayJob):
        seen = observe_known(reviewed.tree, there.objects, there.unread)
        plan = plan_known(seen, settings, now, reviewed.refusal)
        return Planned(document, reviewed.problems, plan, tuple(tell_schedule(reviewed.object, settings)))
    if reviewed.tree is not None and isinstance(reviewed.object, RayService):
        return _plan_service(document, reviewed, live, there, settings, now)
    if reviewed.tree is not None and isinstance(reviewed.object, RayCronJob):
        cron = raycronjob.observe_known(reviewed.tree, there.objects, there.unread, now)
        plan = raycronjob.plan_known(cron, settings, now, reviewed.refusal)
        notes = tuple(raycronjob.tell_known(cron, settings, now, reviewed.refusal))
        return Planned(document, reviewed.problems, plan, notes)
    if reviewed.tree is None or not isinstance(reviewed.object, RayCluster):
        return Planned(document, reviewed.problems, None)
    observed = hide_unread(observe_objects(reviewed.tree, there.objects), there.unread)
    if live is None and RAY_CLUSTER in there.unread:
        return Planned(document, reviewed.problems, _plan_unknown(reviewed.object, there.unread[RAY_CLUSTER]))
    refusal = reviewed.refusal
    desired = build_desired(reviewed.object, settings) if refusal is None else None
    warnings = tuple(problem for problem in reviewed.problems if problem.severity == "warning")
    remembered = Remembered(groups_seen=_group_names(live))
    plan = plan_cluster(
        Situation(
            observed=observed,
            desired=desired,
            settings=settings,
            remembered=remembered,
            now=now,
            refusal=refusal,
            warnings=warnings,
        )
    )
    notes = tuple(_tell_unfollowed(observed, desired, live, settings)) if desired is not None else ()
    return Planned(document, reviewed.problems, plan, notes)


def _plan_service(
    document: Document, reviewed: Review, live: JsonObject | None, there: Surroundings, settings: Settings, now: float
) -> Planned:
    seen = observe_known_service(reviewed.tree or {}, there.objects, there.unread)
    plan = plan_known_service(seen, settings, now, reviewed.refusal)
    notes = tuple(tell_edit(seen, live, settings)) if reviewed.refusal is None else ()
    return Planned(document, reviewed.problems, plan, notes)


def _plan_unknown(cluster: RayCluster, why: str) -> Plan:
    """Whether it is there decides whose everything around it is."""
    draft = Draft()
    which = f"RayCluster {cluster.metadata.namespace}/{cluster.metadata.name}"
    draft.add("cluster", wait_for_knowledge(which, Unknown(why)))
    return draft.finish()


def _tell_unfollowed(
    observed: ObservedCluster, desired: DesiredCluster, live: JsonObject | None, settings: Settings
) -> Iterator[str]:
    """By the head's own stamp where it is ours; else by the spec that is in force now."""
    found = find_unapplied(observed, desired.hashes_in_force, settings.operator_version)
    text = str(found["message"]) if found is not None else ""
    if not text and live is not None and not has_own_stamp(observed, settings.operator_version):
        before = review(live, settings)
        if before.refusal is None and isinstance(before.object, RayCluster):
            made_from = hash_spec(before.object.spec).text
            text = tell_unfollowed(observed, made_from, desired.hashes_in_force)
    if text:
        yield f"the running Pods will not follow: {text}"


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


def _group_names(live: JsonObject | None) -> frozenset[str]:
    spec = (live or {}).get("spec")
    groups = spec.get("workerGroupSpecs") if isinstance(spec, dict) else None
    listed = groups if isinstance(groups, list) else ()
    names = (group.get("groupName") for group in listed if isinstance(group, dict))
    return frozenset(map(str, names))
