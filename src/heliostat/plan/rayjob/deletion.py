"""Before a RayJob may go, Ray is asked to stop its job; whatever Ray says, the RayJob goes (rayjob.md §14)."""

from heliostat.api.raycluster import ObjectMeta
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import SIDECAR_MODE, SUBMITTING_MODES, selected_cluster, submission_mode
from heliostat.kube.facts import Unknown
from heliostat.plan.draft import NOTHING, Part
from heliostat.plan.itself import Finalizer
from heliostat.plan.rayjob.answers import OVER
from heliostat.plan.rayjob.cluster import look_at_cluster
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.reasons import Because
from heliostat.plan.rayjob.submission import stop_effect
from heliostat.plan.rayjob.submitter import judge_submitter
from heliostat.plan.rayjob.teardown import delete_submitter

FINALIZER = "ray.io/rayjob-finalizer"
_PLEDGE = Finalizer("RayJob", FINALIZER)


def has_finalizer(metadata: ObjectMeta) -> bool:
    return _PLEDGE.is_on(metadata)


def plan_finalizer(job: RayJob) -> Part:
    if has_finalizer(job.metadata):
        return NOTHING
    return Part(actions=(_PLEDGE.put_on(job.metadata, Because.PLEDGED),))


def withdraw_submitter(observed: ObservedJob, settings: Settings) -> Part:
    """On a cluster that somebody else owns a submitter could still submit after the stop, and nobody would end that.

    Differs from KubeRay: rayjob-submitter-withdrawn. One that cannot be seen holds nothing up, and one that has ended
    submits nothing.
    """
    is_ours_to_end = selected_cluster(observed.job) is None or not has_finalizer(observed.job.metadata)
    has_ended = judge_submitter(observed, settings).ended is not None
    if is_ours_to_end or has_ended or isinstance(observed.find_submitter(), Unknown):
        return NOTHING
    return delete_submitter(observed, Because.DELETED)


def ask_to_stop(observed: ObservedJob, settings: Settings) -> Part:
    """Nobody is asked when Ray has told of the end, or when nobody can have submitted."""
    status = observed.status
    if not has_finalizer(observed.job.metadata) or status.get("jobStatus") in OVER:
        return NOTHING
    address = str(status.get("dashboardURL") or _find_address(observed, settings))
    if not address or not status.get("jobId") or observed.find_cluster() is None:
        return NOTHING
    return Part(actions=(stop_effect(observed, address),))


def _find_address(observed: ObservedJob, settings: Settings) -> str:
    """A submitter knows it before the status does, and may have used it already.

    One beside the head needs no address, and waits for Ray alone, not for a cluster that is ready.
    """
    mode = submission_mode(observed.job)
    if mode not in SUBMITTING_MODES:
        return ""
    return look_at_cluster(observed, settings, has_submitted=mode == SIDECAR_MODE).dashboard_url or ""


def release(metadata: ObjectMeta) -> Part:
    """It may go, as far as we are concerned."""
    if not has_finalizer(metadata):
        return NOTHING
    return Part(actions=(_PLEDGE.take_off(metadata, Because.DELETED),))
