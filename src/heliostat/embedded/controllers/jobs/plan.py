"""One look at a Job: its Pods and the time come in, a plan comes out.

Order inside a plan: a status that writes something down (Pods to count, an end) comes before finalizers are taken off,
and those before Pods are deleted; new Pods need nothing. Where the view of Pods is older than that of the Job, Pods
that seem to be uncounted are checked with the server first. What a plan has begun shows in the next view, so any part
of it may be lost, repeated or late. A Job that is over, or another controller's, is left alone.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from heliostat.embedded.controllers.jobs.actions import check_pod, create_pod, delete_pod, release_pod, write_status
from heliostat.embedded.controllers.jobs.backoff import NOTHING_FINISHED, FinishLog, note_finishes
from heliostat.embedded.controllers.jobs.census import Census, take_census
from heliostat.embedded.controllers.jobs.pod_facts import is_tracked
from heliostat.embedded.controllers.jobs.pod_names import PodNames
from heliostat.embedded.controllers.jobs.pods import PodBuilder
from heliostat.embedded.controllers.jobs.replacement import find_awaiting_replacement
from heliostat.embedded.controllers.jobs.reports import UNKNOWN_MODE
from heliostat.embedded.controllers.jobs.staffing import NO_CHANGE, Staffing, decide_staffing
from heliostat.embedded.controllers.jobs.status import build_status
from heliostat.embedded.controllers.jobs.tracking import decide_tracking
from heliostat.embedded.controllers.jobs.verdict import JobEnd, decide_verdict, remaining_deadline
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.plan import Action, Create, Plan, Stage, Wait

LOOK_AGAIN_SECONDS = 1.0  # while the view of Pods lags; a bookmark moves it and wakes nobody
_MODES = (None, "NonIndexed", "Indexed")
_CREATE, _CHECK, _RECORD = "create", "check", "record"
_RELEASE, _LET_GO, _DELETE = "release", "let go", "delete"


class Memory(Struct, frozen=True):
    """What one process knows beyond the view; none of it is missed after a restart."""

    finishes: FinishLog = NOTHING_FINISHED  # failures whose Pods are gone: they prolong a wait
    departed: int = 0  # the newest version of Pods that are gone: names stay new
    is_taken: Callable[[str], bool] | None = None  # is there a Pod of this name, anybody's?
    is_current: bool = True  # the view of Pods is at least as new as that of the Job


NO_MEMORY = Memory()


def plan_job(job: Job, pods: Iterable[Pod], now: float, memory: Memory = NO_MEMORY) -> Plan:
    """``pods`` are those that the Job has claimed."""
    if job.is_managed_elsewhere:
        return Plan()
    if job.end is not None:
        left = [pod for pod in pods if is_tracked(pod)]
        return Plan(_present(_stage(_RELEASE, [release_pod(pod, "its Job is over") for pod in left])))
    if job.spec.completion_mode not in _MODES:
        return Plan(events=(UNKNOWN_MODE,))
    return _plan_unfinished(take_census(job, pods), now, memory)


def _plan_unfinished(census: Census, now: float, memory: Memory) -> Plan:
    job = census.job
    verdict = decide_verdict(census, now)
    awaiting = find_awaiting_replacement(census)
    staffing = NO_CHANGE
    if verdict is None and not job.metadata.is_terminating:
        finishes = note_finishes(memory.finishes, job, census.pods)
        staffing = decide_staffing(census, awaiting, finishes, now)
    tracking = decide_tracking(census, verdict, awaiting.values(), is_current=memory.is_current)
    told = build_status(census, verdict, tracking, now)
    stages = _present(
        _stage(_CREATE, _creates(census, staffing, awaiting, memory)),
        _stage(_CHECK, [] if memory.is_current else [check_pod(pod) for pod in census.fresh]),
        _stage(_RECORD, [write_status(job, told.status)] if told.status != job.status else [], _CHECK),
        _stage(_RELEASE, [release_pod(pod, "its end is written down") for pod in tracking.release], _CHECK, _RECORD),
        *(_end_stages(census, verdict) if verdict is not None else _removal_stages(staffing)),
    )
    deadline = remaining_deadline(structs.replace(job, status=told.status), now) if verdict is None else None
    view = LOOK_AGAIN_SECONDS if tracking.awaits_view else 0.0
    wakes = [seconds for seconds in (staffing.wait, deadline, view) if seconds]
    return Plan(stages, _waits(census, verdict, staffing), None, told.events, min(wakes, default=None))


def _stage(name: str, actions: Sequence[Action], *needs: str) -> Stage:
    return Stage(name, tuple(actions), needs)


def _present(*stages: Stage) -> tuple[Stage, ...]:
    """Those that have something to do. A stage without actions is nobody's need, and a check without need is none."""
    full = [stage for stage in stages if stage.actions]
    needed = {need for stage in full for need in stage.needs}
    names = {stage.name for stage in full if stage.name != _CHECK or _CHECK in needed}
    return tuple(
        structs.replace(stage, needs=tuple(need for need in stage.needs if need in names))
        for stage in full
        if stage.name in names
    )


def _creates(census: Census, staffing: Staffing, awaiting: dict[int, Pod], memory: Memory) -> list[Create]:
    if not staffing.add:
        return []
    builder = PodBuilder(census.job, PodNames(census.job.metadata, census.pods, memory.departed, memory.is_taken))
    if census.job.is_indexed:
        return [create_pod(builder.build(index, awaiting.get(index))) for index in staffing.indexes]
    return [create_pod(builder.build()) for _ in range(staffing.add)]


def _end_stages(census: Census, verdict: JobEnd) -> tuple[Stage, ...]:
    because = f"the Job ends: {verdict.message}"
    return (_stage(_DELETE, [delete_pod(pod, because) for pod in census.active], _RECORD, _RELEASE),)


def _removal_stages(staffing: Staffing) -> tuple[Stage, ...]:
    """Without their finalizer first: what we remove ourselves is no failure of the Job."""
    because = "more Pods are at work than should be"
    tracked = [pod for pod in staffing.remove if is_tracked(pod)]
    return (
        _stage(_LET_GO, [release_pod(pod, because) for pod in tracked], _CHECK),
        _stage(_DELETE, [delete_pod(pod, because) for pod in staffing.remove], _CHECK, _LET_GO),
    )


def _waits(census: Census, verdict: JobEnd | None, staffing: Staffing) -> tuple[Wait, ...]:
    if verdict is not None and census.leaving:
        message = f"{len(census.leaving)} Pods are still being stopped"
        return (Wait("TerminatingPods", message, "they are over"),)
    if staffing.wait:
        message = f"Pods failed; the next ones come in {staffing.wait:.0f} s"
        return (Wait("BackOff", message, "the back-off time has passed"),)
    return ()
