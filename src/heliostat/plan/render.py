"""Documents in, every object the operator would create for them out: the whole of ``heliostat render``, as a function.

Each ray.io document is reviewed first. A refused one yields nothing but what separate controllers make anyway. For
a RayJob and a RayService the RayCluster they make is shown, with everything that belongs to it; for a RayJob also what
submits its program and the Service at its head, for a RayService also its head and serve Services.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.api.cluster_features import is_managed_here
from heliostat.api.documents import is_ray_document
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.review import Review, review
from heliostat.api.settings import Settings
from heliostat.desired.slots import Impossible
from heliostat.kube.documents import Document
from heliostat.kube.problems import Problem
from heliostat.kube.titles import title_of
from heliostat.plan.imagined import invent_uid
from heliostat.plan.raycluster.from_nothing import FromNothing, create_cluster, describe_random
from heliostat.plan.raycronjob.observed import read_timetable
from heliostat.plan.raycronjob.upcoming import tell_upcoming
from heliostat.plan.rayjob.from_nothing import render_job
from heliostat.plan.rayservice.from_nothing import render_service


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
        reviewed = review(place(document.tree, namespace), settings)
        findings += [Finding(document, problem) for problem in reviewed.problems]
        made = render_object(reviewed, settings)
        objects += made.objects
        told = (*made.notes, *_tell_ticks(reviewed, now))
        notes += [f"{title_of(document.tree)}: {note}" for note in told]
    return Rendering(tuple(describe_random(tree) for tree in objects), tuple(findings), tuple(notes))


def place(tree: JsonObject, namespace: str) -> JsonObject:
    """The object as if it had been created: in a namespace and with a UID. What is there already stays."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return tree
    where = metadata.get("namespace") or namespace
    uid = metadata.get("uid") or invent_uid(str(where), str(metadata.get("name", "")))
    return {**tree, "metadata": {**metadata, "namespace": where, "uid": uid}}


def render_object(reviewed: Review, settings: Settings) -> FromNothing:
    value, tree = reviewed.object, reviewed.tree
    if value is None or tree is None:
        return FromNothing(())
    if not is_managed_here(getattr(value.spec, "managed_by", None)):
        return FromNothing((), ("nothing: spec.managedBy names another controller",))
    if isinstance(value, RayCluster):
        return create_cluster(reviewed, value, settings)
    if reviewed.refusal is not None:
        return FromNothing(())
    if isinstance(value, RayJob):
        return render_job(value, tree, settings, render_child)
    if isinstance(value, RayService):
        return render_service(value, tree, settings, render_child)
    return FromNothing((), ("nothing yet: a RayCronJob creates a RayJob at each tick of its schedule",))


def _tell_ticks(reviewed: Review, now: float) -> Iterable[str]:
    cron = reviewed.object
    if not isinstance(cron, RayCronJob) or reviewed.refusal is not None:
        return ()
    timetable = read_timetable(cron)
    return tell_upcoming(timetable, now) if timetable is not None else ()


def render_child(cluster: JsonObject | Impossible, settings: Settings) -> FromNothing:
    """The RayCluster and what its own controller makes of it, which may refuse it (raycluster.md V-U2)."""
    if isinstance(cluster, Impossible):
        return FromNothing((), (f"no RayCluster: {cluster.message}",))
    reviewed = review(place(cluster, ""), settings)
    made = render_object(reviewed, settings)
    refused = reviewed.refusal
    notes = made.notes if refused is None else (*made.notes, f"its RayCluster is refused: {refused}")
    return FromNothing((cluster, *made.objects), notes)
