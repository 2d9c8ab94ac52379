"""Which RayJobs go because newer ones are kept: the history limits of a RayCronJob.

Only a run whose tick the status shows may go: the name of one that is gone would be free, and its tick would run again.
"""

from collections.abc import Iterable

from heliostat.api.markers import JsonObject
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Delete, delete_of, ref_of
from heliostat.plan.draft import NOTHING, Part
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.raycronjob.observed import ObservedCron, is_leaving, is_over, tick_of
from heliostat.plan.raycronjob.reasons import Because
from heliostat.plan.raycronjob.reports import report_delete


def plan_history(observed: ObservedCron) -> Part:
    policy = observed.policy
    if policy.keep_successful is None and policy.keep_failed is None:
        return NOTHING
    jobs = observed.list_jobs()
    if isinstance(jobs, Unknown):
        return wait_for_knowledge("the RayJobs of earlier ticks", jobs)
    over = [job for job in jobs if is_over(job) and not is_leaving(job) and tick_of(job) <= observed.since]
    surplus = (
        *_beyond((job for job in over if _has_succeeded(job)), policy.keep_successful),
        *_beyond((job for job in over if not _has_succeeded(job)), policy.keep_failed),
    )
    return Part(actions=tuple(delete_job(job, Because.TOO_OLD) for job in surplus))


def delete_job(job: JsonObject, because: Because) -> Delete:
    return delete_of(job, because, report_delete(ref_of(job)), "Background")


def _beyond(jobs: Iterable[JsonObject], limit: int | None) -> list[JsonObject]:
    newest_first = sorted(jobs, key=lambda job: (tick_of(job), job["metadata"]["name"]), reverse=True)
    return [] if limit is None else newest_first[limit:]


def _has_succeeded(job: JsonObject) -> bool:
    return bool(job["status"].get("jobStatus") == "SUCCEEDED")
