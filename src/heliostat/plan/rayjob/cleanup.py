"""What goes after the end of a job, and when: all generations of KubeRay's settings as one list (rayjob.md §15).

``shutdownAfterJobFinishes``, ``onSuccess``/``onFailure`` and ``deletionRules`` become the same thing: "this much goes,
so long after the end". Of the rules that are due only the one that removes most is carried out, and only while there
is something left to remove. A cluster that was chosen by a selector is never part of it.
"""

from collections.abc import Iterator

from msgspec import Struct

from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import selected_cluster
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Delete
from heliostat.kube.timestamps import moment_of
from heliostat.plan.draft import NOTHING, Part, join, wait_beside
from heliostat.plan.itself import ref_of_itself
from heliostat.plan.rayjob.answers import FAILED, SUCCEEDED
from heliostat.plan.rayjob.cluster import are_workers_suspended, delete_cluster, suspend_workers
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.phases import Phase
from heliostat.plan.rayjob.reasons import Because, Hold

DELETE_SELF, DELETE_CLUSTER, DELETE_WORKERS, DELETE_NONE = "DeleteSelf", "DeleteCluster", "DeleteWorkers", "DeleteNone"
_IMPACT = {DELETE_SELF: 4, DELETE_CLUSTER: 3, DELETE_WORKERS: 2, DELETE_NONE: 1}
GOES = {DELETE_SELF: "the RayJob", DELETE_CLUSTER: "cluster", DELETE_WORKERS: "workers", DELETE_NONE: "nothing"}


class Rule(Struct, frozen=True):
    policy: str
    after: int  # seconds after the end


def list_rules(job: RayJob, phase: Phase, ray: str, settings: Settings) -> tuple[Rule, ...]:
    """What counts for this end, whichever way the spec says it."""
    if selected_cluster(job) is not None:
        return ()
    strategy = job.spec.deletion_strategy if settings.gate("RayJobDeletionPolicy") else None
    ttl = job.spec.ttl_seconds_after_finished or 0
    if strategy is not None and strategy.deletion_rules is not None:
        return tuple(_matching_rules(job, phase, ray))
    if strategy is not None:
        side = {SUCCEEDED: strategy.on_success, FAILED: strategy.on_failure}.get(ray)
        return (Rule(side.policy, ttl),) if side is not None and side.policy else ()
    if job.spec.shutdown_after_job_finishes:
        return (Rule(DELETE_SELF if settings.delete_rayjob_after_finish else DELETE_CLUSTER, ttl),)
    return ()


def _matching_rules(job: RayJob, phase: Phase, ray: str) -> Iterator[Rule]:
    strategy = job.spec.deletion_strategy
    for rule in (strategy.deletion_rules if strategy is not None else None) or ():
        condition = rule.condition
        if condition.job_status == ray or condition.job_deployment_status == phase:
            yield Rule(rule.policy, condition.ttl_seconds or 0)


def plan_cleanup(observed: ObservedJob, phase: Phase, settings: Settings, now: float) -> Part:
    ended = moment_of(observed.status.get("endTime"))
    if ended is None:
        return NOTHING  # KubeRay: without a time of its end nothing is ever due
    rules = list_rules(observed.job, phase, str(observed.status.get("jobStatus") or ""), settings)
    pending = sorted((rule for rule in rules if now < ended + rule.after), key=lambda rule: rule.after)
    due = [rule for rule in rules if now >= ended + rule.after and not _is_achieved(observed, rule)]
    part = _carry_out(observed, max(due, key=lambda rule: _IMPACT[rule.policy])) if due else NOTHING
    if not pending:
        return part
    left = ended + pending[0].after - now
    what = f"{GOES[pending[0].policy]} goes in {left:.0f} s"
    return join((part, wait_beside(Hold.CLEANUP, what, "that time has passed", wake_after=left)))


def _is_achieved(observed: ObservedJob, rule: Rule) -> bool:
    cluster = observed.find_cluster()
    if rule.policy == DELETE_SELF:
        return False
    if rule.policy == DELETE_NONE:
        return True
    if isinstance(cluster, Unknown):
        return False
    if rule.policy == DELETE_WORKERS:
        return are_workers_suspended(cluster)
    return cluster is None or bool(cluster["metadata"].get("deletionTimestamp"))


def _carry_out(observed: ObservedJob, rule: Rule) -> Part:
    if rule.policy == DELETE_CLUSTER:
        return delete_cluster(observed, Because.FINISHED)
    if rule.policy == DELETE_WORKERS:
        return suspend_workers(observed, Because.FINISHED)
    metadata = observed.job.metadata
    return Part(actions=(Delete(ref_of_itself("RayJob", metadata), metadata.uid, Because.FINISHED),))


def describe_schedule(job: RayJob, settings: Settings) -> tuple[tuple[str, str], ...]:
    """For each end: what goes when, as "workers at +0 s, cluster at +30 min"."""
    ends = (
        ("SUCCEEDED", Phase.COMPLETE, SUCCEEDED),
        ("FAILED", Phase.FAILED, FAILED),
        ("failed otherwise", Phase.FAILED, ""),
    )
    return tuple((title, _describe(list_rules(job, phase, ray, settings))) for title, phase, ray in ends)


def _describe(rules: tuple[Rule, ...]) -> str:
    ordered = sorted(rules, key=lambda rule: (rule.after, _IMPACT[rule.policy]))
    said = [f"{GOES[rule.policy]} at +{format_seconds(rule.after)}" for rule in ordered if rule.policy != DELETE_NONE]
    return ", ".join(said) or "nothing goes"


def format_seconds(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
