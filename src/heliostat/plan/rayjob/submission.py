"""How a RayJob's program comes to Ray: by the submitter Job, or by a call of the operator's own (rayjob.md §3.2, §8).

A job is offered to Ray only under the id that the status holds and only while a fresh answer says that Ray knows no
such job. The call is remembered by its fact: until Ray was asked anew, nobody offers it again.
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.head_service import build_job_head_service
from heliostat.desired.rayjob.names import selected_cluster
from heliostat.desired.rayjob.request import build_submission, token_secret
from heliostat.desired.rayjob.submitter import build_submitter_job
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import FactKey, Unknown
from heliostat.kube.plan import Create, Effect, patch_of, ref_of
from heliostat.plan.draft import NOTHING, Part, wait_for
from heliostat.plan.ensure import name_taken, wait_for_knowledge
from heliostat.plan.moving_services import changes_of_move
from heliostat.plan.observing import read_cluster_spec
from heliostat.plan.rayjob.answers import PENDING, RUNNING
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.phase_inputs import Submitter
from heliostat.plan.rayjob.phases import Reason
from heliostat.plan.rayjob.reasons import Because, Hold
from heliostat.plan.rayjob.reports import report_service_create, report_service_update, report_submitter_create
from heliostat.plan.rayjob.submitter import Progress

SUBMIT, STOP = "ray-job-submit", "ray-job-stop"
SUBMIT_SECONDS = 10.0  # a runtime environment is looked at before Ray answers
STOP_SECONDS = 5.0


def fact_key(observed: ObservedJob) -> FactKey:
    """One fact for each attempt: another cluster's answer is about another job."""
    return FactKey("ray-job", f"{observed.job.metadata.uid}/{observed.cluster_name}/{observed.job_id}")


def ensure_submitter_job(observed: ObservedJob, spec: RayClusterSpec, url: str, settings: Settings) -> Part:
    found = observed.find_submitter()
    if isinstance(found, Unknown):
        return wait_for_knowledge("the submitter Job", found)
    if found is not None:
        return NOTHING if observed.owns(found) else name_taken(ref_of(found), observed.owner_kind)
    job = build_submitter_job(observed.job, spec, observed.cluster_name, observed.job_id, url, settings)
    if isinstance(job, Impossible):
        return wait_for(Hold.SUBMITTER_IMPOSSIBLE, job.message, "the spec is changed")
    report = report_submitter_create(ref_of(job))
    return Part(actions=(Create(job, Because.TO_BE_SUBMITTED, report, exists_is_fine=False),))


def hold_submitter(observed: ObservedJob, progress: Progress) -> Part:
    """A submitter that outlives a lost head would find a new one without the job, and submit it again.

    Only a job that Ray no longer knows ends with AppFailed while its status still says that it runs. The log of a
    submitter that only followed is not worth a program that runs twice.
    """
    status = observed.status
    is_lost = status.get("reason") == Reason.APP_FAILED and status.get("jobStatus") in (PENDING, RUNNING)
    found = observed.find_submitter()
    if not is_lost or progress.at is not Submitter.AT_WORK or not isinstance(found, dict):
        return NOTHING
    if found["spec"].get("suspend") or found["metadata"].get("deletionTimestamp"):
        return NOTHING
    return Part(actions=(patch_of(found, {"spec": {"suspend": True}}, Because.HEAD_LOST),))


def submit_effect(observed: ObservedJob) -> Effect | Impossible:
    body = build_submission(observed.job, observed.job_id)
    if isinstance(body, Impossible):
        return body
    key = fact_key(observed)
    return Effect(
        SUBMIT, _where(observed) | {"body": body}, observed.job_id, Because.TO_BE_SUBMITTED,
        decided_on=(key,), touches=(key,), seconds=SUBMIT_SECONDS,
    )  # fmt: skip


def stop_effect(observed: ObservedJob, address: str) -> Effect:
    key = fact_key(observed)
    return Effect(
        STOP,
        _where(observed) | {"url": address},
        f"stop {observed.job_id}",
        Because.DELETED,
        touches=(key,),
        seconds=STOP_SECONDS,
    )


def _where(observed: ObservedJob) -> JsonObject:
    return {
        "namespace": observed.job.metadata.namespace,
        "name": observed.job.metadata.name,
        "cluster": observed.cluster_name,
        "url": observed.status.get("dashboardURL") or "",
        "jobId": observed.job_id,
        "secret": find_token_secret(observed),
    }


def find_token_secret(observed: ObservedJob) -> str:
    """The Secret with the token of the job's cluster; empty without one."""
    cluster = observed.find_cluster()
    if not isinstance(cluster, dict):
        return ""
    return token_secret(read_cluster_spec(cluster), observed.cluster_name)


def ensure_head_service(observed: ObservedJob, cluster: JsonObject | None, settings: Settings) -> Part:
    """With the ports of the cluster that it leads to, whatever was edited since.

    Differs from KubeRay: rayjob-name-taken, a Service of somebody else's under the name is left alone.
    """
    spec = observed.job.spec.ray_cluster_spec
    if spec is None or selected_cluster(observed.job) is not None:
        return NOTHING
    if cluster is not None:
        spec = read_cluster_spec(cluster)
    wanted = build_job_head_service(observed.job, spec, observed.cluster_name, settings)
    ref = ref_of(wanted)
    found = observed.find_service(ref.name)
    if isinstance(found, Unknown):
        return wait_for_knowledge(str(ref), found)
    if found is None:
        return Part(actions=(Create(wanted, Because.TO_BE_SUBMITTED, report_service_create(ref)),))
    if not observed.owns(found):
        return replace(name_taken(ref, observed.owner_kind), is_blocked=False)  # the job itself does not need it
    selector = found["spec"].get("selector") or {}
    if found["metadata"].get("deletionTimestamp") or selector.get("ray.io/cluster") == observed.cluster_name:
        return NOTHING
    changes = {"spec": changes_of_move(found["spec"], wanted["spec"])}
    return Part(actions=(patch_of(found, changes, Because.HEAD_MOVED, report_service_update(ref)),))
