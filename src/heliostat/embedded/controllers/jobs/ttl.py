"""When a Job that is over is removed: so many seconds after its end as ``ttlSecondsAfterFinished`` says.

Its Pods go first (foreground), and only the very version that was looked at is removed: a changed time counts.
"""

from heliostat.embedded.controllers.jobs.actions import job_ref
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.kube.plan import Delete, Plan, Stage, Wait
from heliostat.kube.timestamps import moment_of


def plan_ttl(job: Job, now: float) -> Plan:
    end, seconds = job.end, job.spec.ttl_seconds_after_finished
    if end is None or seconds is None or job.metadata.is_terminating:
        return Plan()
    ended = moment_of(end.last_transition_time)
    if ended is None:
        return Plan(
            waits=(Wait("UnknownEnd", f"{end.type} has no transition time", "the condition says when it ended"),)
        )
    remaining = ended + seconds - now
    if remaining > 0:
        return Plan(wake_after=remaining)
    metadata = job.metadata
    delete = Delete(
        job_ref(job),
        metadata.uid,
        f"it has been over for {seconds} s",
        resource_version=metadata.resource_version,
        propagation="Foreground",
    )
    return Plan((Stage("delete", (delete,)),))
