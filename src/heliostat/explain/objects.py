"""Why an object of any kind but those of ray.io is not ready: its conditions, phase and counts, its warnings, its Pods.

Pods belong to it through owners, over as many steps as it takes (Deployment, ReplicaSet, Pod). A kind that has no row
in the table is as ready as its conditions and warnings let it seem.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from heliostat.explain.events import Warnings
from heliostat.explain.explanation import Explanation, Sentence, join_unique
from heliostat.explain.fixes import REFUSAL_FIXES, find_fix
from heliostat.explain.places import list_places
from heliostat.explain.pods import find_pod_trouble, tell_troubles, tell_versions
from heliostat.kube.conditions import condition_status, get_condition
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.owners import owner_references
from heliostat.kube.pods import PodError, PodView, is_ready, view_pod


class Good(Struct, frozen=True):
    """What says that an object of a kind is as it should be; empty parts say nothing."""

    condition: str = ""
    phases: tuple[str, ...] = ()
    word: str = "ready"


GOOD: dict[str, Good] = {
    "Pod": Good("Ready"),
    "Job": Good("Complete", word="complete"),
    "Deployment": Good("Available", word="available"),
    "Node": Good("Ready"),
    "CustomResourceDefinition": Good("Established", word="established"),
    "PersistentVolumeClaim": Good(phases=("Bound",), word="bound"),
    "PersistentVolume": Good(phases=("Bound", "Available"), word="available"),
    "Namespace": Good(phases=("Active",), word="active"),
}
_BAD_WHEN_TRUE = (
    "Failed", "ReplicaFailure", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
)  # fmt: skip
_MOST_WARNINGS = 3


def explain_object(tree: JsonObject, around: Sequence[JsonObject], events: Iterable[JsonObject]) -> Explanation:
    """``around`` are objects that may belong to it, Pods among them."""
    kind, metadata, warnings = str(tree.get("kind")), tree["metadata"], Warnings(events)
    pods = tuple(_view_pods([tree, *find_descendants(tree, around)]))
    sentences = join_unique(
        (
            *_tell_deletion(tree),
            *_tell_troubles(pods, warnings),  # where there are some, the conditions follow from them
            *_tell_conditions(tree),
            *_tell_neglect(tree),
            *_tell_phase(tree),
            *_tell_missing(tree),
            *_tell_warnings(tree, warnings),
        )
    )
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    is_good = _is_good(tree) and not metadata.get("deletionTimestamp")
    word = GOOD.get(kind, Good()).word
    return Explanation(
        title=f"{kind} {place}{metadata['name']}",
        verdict=_verdict(tree, word, is_good=is_good),
        is_ready=is_good,
        sentences=() if is_good else sentences or (_nothing_told(kind, word),),
        places=list_places(pods),
        notes=tuple(tell_versions(pods)),
    )


def _verdict(tree: JsonObject, word: str, *, is_good: bool) -> str:
    if tree["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    status = tree.get("status") or {}
    if tree.get("kind") == "Pod" and status.get("phase") == "Succeeded":
        return "has succeeded"
    if condition_status(status.get("conditions"), "Failed") == "True":
        return "has failed"
    return f"is {word}" if is_good else f"is not {word}"


def _nothing_told(kind: str, word: str) -> Sentence:
    return Sentence(f"the {kind} does not say why it is not {word}", "", "wait a moment and ask again")


def _is_good(tree: JsonObject) -> bool:
    good, status = GOOD.get(str(tree.get("kind"))), tree.get("status") or {}
    if tree.get("kind") == "Pod" and status.get("phase") == "Succeeded":
        return True
    if good is not None and good.condition:
        return condition_status(status.get("conditions"), good.condition) == "True"
    if good is not None and good.phases:
        return status.get("phase") in good.phases
    return not any((*_tell_conditions(tree), *_tell_missing(tree)))


def _tell_deletion(tree: JsonObject) -> Iterator[Sentence]:
    metadata = tree["metadata"]
    if metadata.get("deletionTimestamp") and metadata.get("finalizers"):
        finalizers = ", ".join(map(str, metadata["finalizers"]))
        yield Sentence(
            "its deletion is not complete",
            f"finalizers are left: {finalizers}",
            "start the controller that removes them; removing them by hand skips its clean-up",
        )


def _tell_conditions(tree: JsonObject) -> Iterator[Sentence]:
    if tree.get("kind") == "Pod":
        return  # its containers tell more
    conditions = (tree.get("status") or {}).get("conditions")
    good = GOOD.get(str(tree.get("kind")), Good("Ready")).condition
    for type_ in (good, *_BAD_WHEN_TRUE):
        found = get_condition(conditions, type_) if type_ else None
        is_bad = found is not None and (found.get("status") == "True") == (type_ in _BAD_WHEN_TRUE)
        if found is not None and is_bad:
            why = str(found.get("message") or "")
            fix = find_fix(REFUSAL_FIXES[:-1], "", why)
            yield Sentence(f"{type_} is {found.get('status')}: {found.get('reason') or 'no reason given'}", why, fix)


def _tell_phase(tree: JsonObject) -> Iterator[Sentence]:
    good, status = GOOD.get(str(tree.get("kind")), Good()), tree.get("status") or {}
    phase = status.get("phase")
    if good.phases and phase and phase not in good.phases:
        said = ": ".join(str(status[key]) for key in ("reason", "message") if status.get(key))
        yield Sentence(f"its phase is {phase}", said or f"it should be {' or '.join(good.phases)}")


def _tell_neglect(tree: JsonObject) -> Iterator[Sentence]:
    """Kinds that have a word for good get a status from whoever works on them."""
    if tree.get("kind") in GOOD and not tree.get("status"):
        fix = "wait a moment; if it stays so, start the controller of its kind: heliostat up has those that we know"
        yield Sentence(f"no controller has looked at the {tree['kind']} yet", "it has no status", fix)


def _tell_missing(tree: JsonObject) -> Iterator[Sentence]:
    wanted, status = (tree.get("spec") or {}).get("replicas"), tree.get("status") or {}
    ready = status.get("readyReplicas") or 0
    if tree.get("kind") in ("Deployment", "ReplicaSet", "StatefulSet") and isinstance(wanted, int) and ready < wanted:
        yield Sentence(f"{ready} of {wanted} Pods are ready")


def _tell_troubles(pods: Iterable[PodView], warnings: Warnings) -> tuple[Sentence, ...]:
    troubles = (find_pod_trouble(pod, warnings) for pod in pods if not is_ready(pod))
    return tell_troubles(trouble for trouble in troubles if trouble is not None)


def _tell_warnings(tree: JsonObject, warnings: Warnings) -> Iterator[Sentence]:
    """Not those of a Pod, which its own sentence quotes, nor what a condition says already."""
    metadata, conditions = tree["metadata"], (tree.get("status") or {}).get("conditions") or ()
    said = {condition.get("message") for condition in conditions}
    found = warnings.about(str(tree.get("kind")), metadata["name"], metadata.get("uid", ""))
    news = [warned for warned in found if warned.message not in said] if tree.get("kind") != "Pod" else []
    for warned in news[:_MOST_WARNINGS]:
        yield Sentence(f"warning: {warned.reason}", warned.message, find_fix(REFUSAL_FIXES[:-1], "", warned.message))


def find_descendants(tree: JsonObject, around: Sequence[JsonObject]) -> list[JsonObject]:
    """Everything whose owners lead to this object."""
    uids, found = {str(tree["metadata"].get("uid", ""))} - {""}, dict[str, JsonObject]()
    while uids:
        children = {
            str(each["metadata"].get("uid", "")): each
            for each in around
            if any(owner.get("uid") in uids for owner in owner_references(each))
        }
        uids = set(children) - set(found) - {""}
        found |= children
    return list(found.values())


def _view_pods(trees: Iterable[JsonObject]) -> Iterator[PodView]:
    for tree in trees:
        if tree.get("kind") != "Pod":
            continue
        try:
            yield view_pod(tree)
        except PodError:
            continue  # a Pod of another shape has nothing to say here
