"""How long a Job waits before it replaces failed Pods: 10 s after the first failure, doubling up to 10 min.

Rules: failures since the last success count, each once; the wait runs from the moment the last of them was over, told
by the Pod itself. ``FinishLog`` remembers failures whose Pods are gone: it only ever makes a wait longer, so a restart
that forgets it costs nothing but the rest of a wait.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.controllers.jobs.pod_facts import (
    counted_failures,
    has_failed,
    has_place,
    has_succeeded,
    ignored_failures,
    is_tracked,
)
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import ContainerStatus, Pod
from heliostat.kube.backoff import Backoff
from heliostat.kube.timestamps import moment_of

POD_BACKOFF = Backoff(first=10.0, limit=600.0)
# As long as Kubernetes' own controller lets pass after a Pod has changed: whoever declares a Pod of a lost node failed
# asks it to go at once, and only then does the Pod say when it was over.
LOOK_SECONDS = 1.0


class FinishLog(Struct, frozen=True):
    """The failures after the last success: Pod UID and when it was over."""

    last_success: float | None = None
    failures: dict[str, float] = {}
    seen_at: float | None = None  # when the newest of them was first seen

    def remaining(self, now: float) -> float:
        if not self.failures:
            return 0.0
        look = self.seen_at + LOOK_SECONDS - now if self.seen_at is not None else 0.0
        return max(look, remaining_wait(len(self.failures), max(self.failures.values()), now), 0.0)


NOTHING_FINISHED = FinishLog()


def note_finishes(log: FinishLog, job: Job, pods: Iterable[Pod], now: float | None = None) -> FinishLog:
    """``now`` is given by who remembers the log."""
    pods = [pod for pod in pods if has_place(pod, job)]
    successes = [finish_time(pod) for pod in pods if has_succeeded(pod)]
    if log.last_success is not None:
        successes.append(log.last_success)
    failures = {**log.failures, **{pod.metadata.uid: finish_time(pod) for pod in pods if _is_own_failure(pod, job)}}
    last = max(successes, default=None)
    if last is not None:
        failures = {uid: moment for uid, moment in failures.items() if moment > last}
    is_news = now is not None and not failures.keys() <= log.failures.keys()
    return FinishLog(last, failures, now if is_news else log.seen_at)


def _is_own_failure(pod: Pod, job: Job) -> bool:
    """Not one that we removed ourselves: those lost the finalizer before they were asked to go."""
    return has_failed(pod, job) and (is_tracked(pod) or not pod.metadata.is_terminating)


def remaining_wait(failures: int, last_failure: float, now: float) -> float:
    return max(0.0, last_failure + POD_BACKOFF.delay(failures - 1) - now) if failures else 0.0


def remaining_wait_of_index(last_failed: Pod | None, now: float) -> float:
    """Before an index gets its next Pod: each index has its own count, which its last Pod carries."""
    if last_failed is None:
        return 0.0
    failures = counted_failures(last_failed) + ignored_failures(last_failed) + 1
    return remaining_wait(failures, finish_time(last_failed), now)


def finish_time(pod: Pod) -> float:
    """When the last container ended; else when the Pod stopped being ready, was asked to go, or was created."""
    ended = _containers_ended(pod)
    if ended is not None:
        return ended
    for condition in pod.status.conditions:
        moment = moment_of(condition.last_transition_time)
        if condition.type == "Ready" and condition.status == "False" and moment is not None:
            return moment
    deleted = moment_of(pod.metadata.deletion_timestamp)
    if deleted is not None:
        return deleted - (pod.metadata.deletion_grace_period_seconds or 0)
    return moment_of(pod.metadata.creation_timestamp) or 0.0


def _containers_ended(pod: Pod) -> float | None:
    """None unless all containers and sidecars say when they ended."""
    sidecars = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    beside = (status for status in pod.status.init_container_statuses if status.name in sidecars)
    moments = [_ended(status) for status in (*pod.status.container_statuses, *beside)]
    known = [moment for moment in moments if moment is not None]
    return max(known) if known and len(known) == len(moments) else None


def _ended(status: ContainerStatus) -> float | None:
    return moment_of(status.state.terminated.finished_at) if status.state.terminated is not None else None
