"""Planted bugs of a RayJob operator: each is one that an operator of Ray has had, or that one step of ours prevents.

The random search must find every one of them by itself, by the law that it breaks.
"""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from heliostat.desired.rayjob.cluster import build_cluster_of_job
from heliostat.operator.rayjob.calls import JobCalls
from heliostat.plan.draft import NOTHING
from heliostat.plan.rayjob import cleanup, cluster, deletion, job, look, phase_inputs, phases, status, timers
from heliostat.plan.rayjob.answers import STATUSES
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.phase_inputs import If, Voice
from heliostat.plan.rayjob.phases import Do, Phase, Reason, Row
from heliostat.plan.rayjob.reasons import Because
from heliostat.runtime.pollers import FactCache
from simulation.mutants import Mutant, replaced


def _rows(*first: Row, without: tuple[If, ...] = ()) -> tuple[Row, ...]:
    kept = tuple(row for row in phases.TABLE if not {*row.when} & {*without})
    return (*first, *kept)


def names_are_not_written_down() -> Any:
    """KubeRay #2374, PR 4273: a cluster under a name that no status holds is an orphan, or a second one."""
    build = build_cluster_of_job

    def drawn(job_: Any, tree: Any, name: str, *rest: Any) -> Any:
        return build(job_, tree, f"{name}x", *rest)

    return replaced((cluster, "build_cluster_of_job", drawn))


def a_submission_is_repeated_without_asking() -> Any:
    """KubeRay PR 2579: a call without an answer is sent again."""
    return replaced((FactCache, "refresh", lambda *_arguments, **_named: None))


def the_submitters_end_is_the_result() -> Any:
    """KubeRay #3211: who follows the log fails, and so the job has failed."""
    row = Row(Phase.RUNNING, (If.SUBMITTER_FAILED,), Phase.FAILED, Reason.APP_FAILED)
    return replaced((phases, "TABLE", _rows(row)))


def a_lost_job_is_submitted_again() -> Any:
    """KubeRay PR 4080: the head was lost, and its successor is given the same job."""
    return replaced(
        (phases, "TABLE", _rows(without=(If.FORGOTTEN, If.HEAD_GONE))),
        (look.Look, "was_seen", property(lambda _self: False)),
    )


def a_lost_job_is_waited_for() -> Any:
    """KubeRay PR 4916: nobody knows the job any more, and it is Running for ever."""
    return replaced((phases, "TABLE", _rows(without=(If.FORGOTTEN, If.HEAD_GONE))))


def what_ray_has_taken_is_forgotten() -> Any:
    """A head dies right after it has accepted a job, and its successor is given the same one."""
    return replaced((JobCalls, "is_accepted", lambda *_arguments: False))


def a_ray_that_was_started_again_is_asked_first() -> Any:
    """Its denial takes a while to count, and by then the submitter has given it the job once more."""
    return replaced((look, "find_ended_ray", lambda _observed: ""))


def one_denial_is_enough() -> Any:
    """A dashboard that lags denies a job that it has."""
    return replaced((look, "DENIED_SECONDS", 0.0))


def patience_never_ends() -> Any:
    """KubeRay PR 4091: the submitter is done, Ray tells of no end, and the job is Running for ever."""
    return replaced((phases, "TABLE", _rows(without=(If.SUBMITTER_PATIENCE_OVER,))))


def a_quick_sidecar_is_waited_for() -> Any:
    """Its Pod is never ready again, and so neither is the cluster."""
    sight = cluster.look_at_cluster
    return replaced((look, "look_at_cluster", lambda observed, settings, **_named: sight(observed, settings)))


def silence_is_failure() -> Any:
    """One question without an answer ends the job."""
    read = timers.read_timers

    def hasty(observed: ObservedJob, *rest: Any) -> Any:
        found = read(observed, *rest)
        silent = observed.status.get(status.SILENT_SINCE)
        return structs.replace(found, silence=0.0) if silent else found

    return replaced((look, "read_timers", hasty))


def silence_is_success() -> Any:
    row = Row(Phase.RUNNING, (If.SILENCE_TOO_LONG,), Phase.COMPLETE)
    at_once = phase_inputs._ANSWERS | {If.SILENCE_TOO_LONG: lambda inputs: inputs.voice is Voice.SILENT}
    return replaced(
        (phases, "TABLE", _rows(row)),
        (phases, "_ALLOWED", dict.fromkeys(Phase, STATUSES)),
        (phase_inputs, "_ANSWERS", at_once),
    )


def a_failed_submitter_and_a_silent_ray_fail_the_job_soon() -> Any:
    """KubeRay: the submitter's end decides; Ray, which runs the job and does not answer for a while, is not asked."""
    row = Row(Phase.RUNNING, (If.NEVER_TOLD, If.SUBMITTER_FAILED), Phase.FAILED, Reason.SUBMISSION_FAILED)
    return replaced((phases, "TABLE", _rows(row)))


def suspended_is_said_too_early() -> Any:
    """The Pods are asked to go, and still there."""
    return replaced((look, "is_torn_down", lambda _observed: True), (job, "is_torn_down", lambda _observed: True))


def a_chosen_cluster_counts_as_its_own() -> Any:
    """The cluster that a selector chose goes with the job."""
    return replaced(
        (ObservedJob, "owns", lambda _self, _tree: True),
        (deletion, "ask_to_stop", lambda observed, _settings: cluster.delete_cluster(observed, Because.DELETED)),
    )


def the_time_to_stay_is_ignored() -> Any:
    rules = cleanup.list_rules

    def at_once(*arguments: Any) -> Any:
        return tuple(structs.replace(rule, after=0) for rule in rules(*arguments))

    return replaced((cleanup, "list_rules", at_once))


def attempts_are_not_counted() -> Any:
    return replaced((status, "may_try_again", lambda _job, failed, _reason: failed < 5))


def a_gang_is_left_behind() -> Any:
    """KubeRay PR 4476: a PodGroup goes on to ask for room after its job is over."""
    return replaced((job, "shrink_gang", lambda *_arguments: NOTHING))


def a_deleted_job_goes_on() -> Any:
    """Nobody asks Ray to stop it."""
    return replaced((deletion, "ask_to_stop", lambda *_arguments: NOTHING))


def a_deleted_job_stays() -> Any:
    """KubeRay: a finalizer that waits for a Ray that is gone."""
    return replaced((deletion, "release", lambda _job: NOTHING))


def a_submitter_outlives_its_job() -> Any:
    return replaced((deletion, "withdraw_submitter", lambda *_arguments: NOTHING))


def an_end_can_be_left() -> Any:
    row = Row(Phase.COMPLETE, (), Phase.NEW, do=(Do.RESET,))
    return replaced((job, "TERMINAL", frozenset({Phase.FAILED})), (phases, "TABLE", _rows(row)))


def clusters_stay() -> Any:
    """Leaked GPUs."""
    return replaced((job, "plan_cleanup", lambda *_arguments: NOTHING))


def _mutant(plant: Callable[[], Any], *found_by: str, since: int = 0) -> Mutant:
    return Mutant(f"job-{plant.__name__.replace('_', '-')}", "rayjobs", plant, found_by, since)


RAY_JOB_MUTANTS = (
    _mutant(names_are_not_written_down, "J2"),
    _mutant(a_submission_is_repeated_without_asking, "J1", since=31),
    _mutant(the_submitters_end_is_the_result, "J4"),
    _mutant(a_lost_job_is_submitted_again, "J1", since=85),
    _mutant(a_lost_job_is_waited_for, "L1", since=85),
    _mutant(what_ray_has_taken_is_forgotten, "J1"),
    _mutant(a_ray_that_was_started_again_is_asked_first, "J1", since=30),
    _mutant(one_denial_is_enough, "J4"),
    _mutant(a_quick_sidecar_is_waited_for, "L1"),
    _mutant(patience_never_ends, "L1", since=1),
    _mutant(silence_is_failure, "J4"),
    _mutant(silence_is_success, "J4"),
    _mutant(a_failed_submitter_and_a_silent_ray_fail_the_job_soon, "J4"),
    _mutant(suspended_is_said_too_early, "J6"),
    _mutant(a_chosen_cluster_counts_as_its_own, "J5", since=9),
    _mutant(the_time_to_stay_is_ignored, "J6"),
    _mutant(attempts_are_not_counted, "J7"),
    _mutant(a_deleted_job_goes_on, "J8", since=18),
    _mutant(a_deleted_job_stays, "J8"),
    _mutant(a_submitter_outlives_its_job, "J8", since=185),
    _mutant(an_end_can_be_left, "J3"),
    _mutant(clusters_stay, "J6"),
    _mutant(a_gang_is_left_behind, "C7"),
)
