"""What was seen of a RayJob and of everything around it: the view that a plan is decided from.

"Unknown" is a value here as everywhere. Whether an object is ours is told by its controller's UID: a cluster that
spec.clusterSelector chose is somebody else's, and nothing in this folder can delete or change it.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.api.kinds import RAY_CLUSTER_NAME
from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob
from heliostat.desired import labels
from heliostat.desired.rayjob.names import submitter_job_name
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import JOB, KINDS, SERVICE, Found, KindName, ListedObjects, Objects, kind_name
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.pods import PodView, is_terminal
from heliostat.plan.observing import read_typed, see_pod, take_in
from heliostat.plan.rayjob.answers import Answer

JOB_NAME_LABEL = "job-name"  # by which Pods of a Job name it, on every Kubernetes


class Remembered(Struct, frozen=True, kw_only=True):
    """What the operator knows beyond objects and Ray's answers.

    Forgetting it delays a decision and changes none, but one: an acceptance that nobody has seen since, and that goes
    with its head, is forgotten by all.
    """

    is_asked: bool = False  # Ray was asked about this job by this process, and the question has ended somehow
    is_accepted: bool = False  # Ray has taken this attempt from this process
    answered_alike: float = float("inf")  # seconds for which Ray's answers have all been the same
    submit_failure: str = ""  # why Ray did not take the job when it was last offered


class ObservedJob(Struct, frozen=True, kw_only=True):
    job: RayJob
    tree: JsonObject  # the RayJob as the API server keeps it
    objects: Objects
    pods: tuple[PodView, ...] | Unknown  # labelled with the name of the job's cluster
    answer: Answer = Unknown("Ray has not been asked")
    submitter_left: Unknown | None = None  # why Pods of a submitter Job that is gone may still be there

    @property
    def owner_kind(self) -> str:
        return "RayJob"

    @property
    def has_unknown(self) -> bool:
        return self.objects.has_unknown or isinstance(self.pods, Unknown)

    @property
    def status(self) -> JsonObject:
        return self.tree.get("status") or {}

    @property
    def cluster_name(self) -> str:
        return str(self.status.get("rayClusterName") or "")

    @property
    def job_id(self) -> str:
        return str(self.status.get("jobId") or "")

    def find(self, kind: KindName, name: str) -> Found:
        return self.objects.find(kind, name)

    def list_owned(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        return self.objects.list_owned(kind, self.job.metadata.uid)

    def owns(self, tree: JsonObject) -> bool:
        return is_controlled_by(tree, self.job.metadata.uid)

    def find_cluster(self) -> Found:
        return self.find(RAY_CLUSTER_NAME, self.cluster_name) if self.cluster_name else None

    def find_submitter(self) -> Found:
        return self.find(JOB, submitter_job_name(self.job.metadata.name))

    def find_service(self, name: str) -> Found:
        return self.find(SERVICE, name)

    def heads(self) -> tuple[PodView, ...] | Unknown:
        if isinstance(self.pods, Unknown):
            return self.pods
        return tuple(pod for pod in self.pods if pod.labels.get(labels.NODE_TYPE) == labels.HEAD)


def observe_job(tree: JsonObject, objects: Iterable[JsonObject], answer: Answer | None = None) -> ObservedJob:
    """The view that a complete list of objects gives: what is not in the list is not there."""
    job = read_typed(tree, RayJob)
    cluster = str((tree.get("status") or {}).get("rayClusterName") or "")
    kinds: dict[KindName, list[JsonObject]] = {kind: [] for kind in (*KINDS, RAY_CLUSTER_NAME)}
    pods: list[PodView] = []
    left: Unknown | None = None
    submitter = submitter_job_name(job.metadata.name)
    for each in map(take_in, objects):
        metadata, kind = each["metadata"], kind_name(each["apiVersion"], each["kind"])
        own_labels = metadata.get("labels") or {}
        if (metadata.get("namespace") or job.metadata.namespace) != job.metadata.namespace:
            continue
        if kind == "Pod" and cluster and own_labels.get(labels.CLUSTER) == cluster:
            pods.append(see_pod(each))
        elif kind == "Pod" and own_labels.get(JOB_NAME_LABEL) == submitter and not is_terminal(see_pod(each)):
            left = Unknown(f"Pods of {submitter} are still there")
        elif kind in kinds:
            kinds[kind].append(each)
    listed = ListedObjects({kind: tuple(found) for kind, found in kinds.items()})
    return ObservedJob(
        job=job,
        tree=tree,
        objects=listed,
        pods=tuple(pods),
        answer=answer or Unknown("Ray has not been asked"),
        submitter_left=left,
    )
