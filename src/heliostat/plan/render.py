"""Documents in, every object the operator would create for them out: the whole of ``heliostat render``, as a function.

Each ray.io document is reviewed first. A refused one yields nothing but what separate controllers make anyway. For
a RayJob and a RayService the RayCluster they make is shown, with everything that belongs to it.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.api.cluster_features import is_managed_here
from heliostat.api.documents import is_ray_document
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.review import Review, review
from heliostat.api.settings import Settings
from heliostat.desired.model import Impossible
from heliostat.desired.origin import build_cluster_of_job, build_cluster_of_service
from heliostat.kube.documents import Document
from heliostat.kube.problems import Problem
from heliostat.kube.suffixes import derive_suffix
from heliostat.plan.from_nothing import (
    FromNothing,
    create_cluster,
    create_for_refused_cluster,
    describe_random,
    invent_uid,
)


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


def render_documents(documents: Iterable[Document], namespace: str, settings: Settings) -> Rendering:
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
        notes += [f"{_title(document.tree)}: {note}" for note in made.notes]
    return Rendering(tuple(describe_random(tree) for tree in objects), tuple(findings), tuple(notes))


def place(tree: JsonObject, namespace: str) -> JsonObject:
    """The object as if it had been created: in a namespace and with a UID. What is there already stays."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return tree
    where = metadata.get("namespace") or namespace
    uid = metadata.get("uid") or invent_uid(str(where), str(metadata.get("name", "")))
    return {**tree, "metadata": {**metadata, "namespace": where, "uid": uid}}


def _title(tree: JsonObject) -> str:
    return f"{tree.get('kind')} {(tree.get('metadata') or {}).get('name', '')}"


def render_object(reviewed: Review, settings: Settings) -> FromNothing:
    value, tree = reviewed.object, reviewed.tree
    if value is None or tree is None:
        return FromNothing(())
    if not is_managed_here(getattr(value.spec, "managed_by", None)):
        return FromNothing((), ("nothing: spec.managedBy names another controller",))
    if isinstance(value, RayCluster):
        if reviewed.refusal is not None:
            return create_for_refused_cluster(value, settings)
        return create_cluster(value, settings)
    if reviewed.refusal is not None:
        return FromNothing(())
    if isinstance(value, RayJob):
        return _render_job(value, tree, settings)
    if isinstance(value, RayService):
        return _render_service(value, tree, settings)
    return FromNothing((), ("nothing yet: a RayCronJob creates a RayJob at each tick of its schedule",))


def _render_job(job: RayJob, tree: JsonObject, settings: Settings) -> FromNothing:
    if job.spec.cluster_selector:
        return FromNothing((), ("no RayCluster: spec.clusterSelector chooses one that exists",))
    if job.spec.suspend:
        return FromNothing((), ("no RayCluster: spec.suspend is true",))
    name = job.metadata.name
    job_id = job.spec.job_id or f"{name}-{derive_suffix(job.metadata.uid, 'job', '0')}"
    cluster_name = f"{name}-{derive_suffix(job.metadata.uid, 'cluster', '0')}"
    return _render_child(build_cluster_of_job(job, tree, cluster_name, job_id, settings), settings)


def _render_service(service: RayService, tree: JsonObject, settings: Settings) -> FromNothing:
    if service.spec.suspend:
        return FromNothing((), ("no RayCluster: spec.suspend is true",))
    name = f"{service.metadata.name}-{derive_suffix(service.metadata.uid, 'cluster', '0')}"
    return _render_child(build_cluster_of_service(service, tree, name, settings), settings)


def _render_child(cluster: JsonObject | Impossible, settings: Settings) -> FromNothing:
    """The RayCluster and what its own controller makes of it, which may refuse it (raycluster.md V-U2)."""
    if isinstance(cluster, Impossible):
        return FromNothing((), (f"no RayCluster: {cluster.message}",))
    reviewed = review(place(cluster, ""), settings)
    made = render_object(reviewed, settings)
    refused = reviewed.refusal
    notes = made.notes if refused is None else (*made.notes, f"its RayCluster is refused: {refused}")
    return FromNothing((cluster, *made.objects), notes)
