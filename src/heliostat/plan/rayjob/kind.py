"""RayJob's row: how one is observed and planned, and what goes when, once the job is over."""

from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob, RayJobSpec, RayJobStatus
from heliostat.api.settings import Settings
from heliostat.api.validation import job_problems, refusal
from heliostat.api.validation.job import job_status_problems
from heliostat.api.validation.job_scope import JOB_SPEC_REASON, SPEC_PREFIX
from heliostat.desired.rayjob.names import selected_cluster
from heliostat.kube.facts import Fact, Unknown
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.misfits import MisfitRule
from heliostat.plan.rayjob.answers import RUNNING, JobInfo
from heliostat.plan.rayjob.cleanup import describe_schedule
from heliostat.plan.rayjob.deletion import release
from heliostat.plan.rayjob.job import plan_job
from heliostat.plan.rayjob.observed import ObservedJob, Remembered, observe_job
from heliostat.plan.situation import Situation

_POD = "Pod"


def _observe(tree: JsonObject, there: Surroundings) -> ObservedJob:
    """Nobody asks Ray here: what it would say is unknown, and nothing is decided by it."""
    observed = observe_job(tree, there.objects)
    pods = Unknown(there.unread[_POD]) if _POD in there.unread else observed.pods
    return replace(observed, objects=there.hide_from(observed.objects), pods=pods)


def _plan(situation: Situation[ObservedJob, None, Remembered]) -> Plan:
    return plan_job(situation)


def _refuse(observed: ObservedJob) -> Problem | None:
    """What the spec may not say in the phase that the job is in."""
    shown = RayJobStatus(job_deployment_status=str(observed.status.get("jobDeploymentStatus") or ""))
    return refusal(job_status_problems(replace(observed.job, status=shown)))


def _tell(situation: Situation[ObservedJob, None, Remembered], _live: JsonObject | None) -> Iterator[str]:
    return tell_schedule(situation.observed.job, situation.settings)


def tell_schedule(job: RayJob, settings: Settings) -> Iterator[str]:
    """What goes when, once the job is over."""
    if selected_cluster(job) is not None:
        yield "clean-up: nothing goes, the cluster was chosen by spec.clusterSelector"
        return
    said = describe_schedule(job, settings)
    for words in dict.fromkeys(words for _end, words in said):
        ends = [end for end, own in said if own == words]
        after = "the end" if len(ends) == len(said) else " or ".join(ends)
        yield f"clean-up after {after}: {words}"


def _imagine(observed: ObservedJob) -> ObservedJob:
    return replace(observed, answer=Fact(JobInfo(RUNNING)))


# Ray cannot be asked to stop the job. On a cluster of its own that ends with the cluster, on a chosen one it goes on.
_MISFIT = MisfitRule(reason=JOB_SPEC_REASON, prefix=SPEC_PREFIX, release=lambda metadata, _now: release(metadata))

RAY_JOB = Kind[ObservedJob, None, Remembered](
    resource=ResourceType("ray.io/v1", "RayJob", "rayjobs"),
    struct=RayJob,
    spec=RayJobSpec,
    find_problems=job_problems,
    observe=_observe,
    build=lambda _job, _settings: None,  # its parts depend on names that the status holds
    plan=_plan,
    plan_misfit=_MISFIT.plan,
    remember=lambda _live: Remembered(),
    refuse=_refuse,
    tell=_tell,
    imagine=_imagine,
)
