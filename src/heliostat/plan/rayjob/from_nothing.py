"""Everything the operator would create for a RayJob if nothing existed yet, as if its cluster had become ready."""

from collections.abc import Callable

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.names import head_service_name
from heliostat.desired.rayjob.cluster import build_cluster_of_job
from heliostat.desired.rayjob.head_service import build_job_head_service, find_dashboard_url
from heliostat.desired.rayjob.names import (
    INTERACTIVE_MODE,
    K8S_JOB_MODE,
    AttemptNames,
    name_attempt,
    selected_cluster,
    submission_mode,
)
from heliostat.desired.rayjob.scheduling import build_job_pod_group, find_scheduler_problem
from heliostat.desired.rayjob.submitter import build_submitter_job
from heliostat.desired.slots import Impossible
from heliostat.plan.raycluster.from_nothing import FromNothing

RenderChild = Callable[[JsonObject | Impossible, Settings], FromNothing]

NO_DASHBOARD_PORT = "the head has no port named dashboard, where its jobs are submitted; name its port so"


def render_job(job: RayJob, tree: JsonObject, settings: Settings, render_child: RenderChild) -> FromNothing:
    """``render_child`` shows what becomes of the RayCluster."""
    blocked = find_scheduler_problem(job, settings)
    if blocked is not None:
        return FromNothing((), (f"nothing: {blocked.message}",))
    if selected_cluster(job) is not None:
        return FromNothing((), ("no RayCluster: spec.clusterSelector chooses one that exists",))
    if job.spec.suspend or job.spec.ray_cluster_spec is None:
        return FromNothing((), ("no RayCluster: spec.suspend is true",))
    group = build_job_pod_group(job, settings)
    if isinstance(group, Impossible):
        return FromNothing((), (f"nothing: {group.message}",))
    names = name_attempt(job, 0)
    cluster = build_cluster_of_job(job, tree, names.cluster, names.job_id, settings)
    made = render_child(cluster, settings)
    rest = _render_submission(job, job.spec.ray_cluster_spec, names, settings) if made.objects else FromNothing(())
    before = () if group is None else (group,)
    return FromNothing((*before, *made.objects, *rest.objects), (*made.notes, *rest.notes))


def _render_submission(job: RayJob, spec: RayClusterSpec, names: AttemptNames, settings: Settings) -> FromNothing:
    service = build_job_head_service(job, spec, names.cluster, settings)
    name = head_service_name(names.cluster, spec.head_group_spec)
    own = {"metadata": {"name": name, "namespace": job.metadata.namespace}, "spec": service["spec"]}
    url = find_dashboard_url(own, settings)
    if url is None:
        return FromNothing((), (f"no submission: {NO_DASHBOARD_PORT}",))
    if submission_mode(job) == INTERACTIVE_MODE:
        return FromNothing((service,), ("no submission: in InteractiveMode a person submits and sets spec.jobId",))
    if submission_mode(job) != K8S_JOB_MODE:
        return FromNothing((service,))
    submitter = build_submitter_job(job, spec, names.cluster, names.job_id, url, settings)
    if isinstance(submitter, Impossible):
        return FromNothing((service,), (f"no submitter Job: {submitter.message}",))
    return FromNothing((submitter, service))
