"""The Progressing condition: is the rollout getting on, is it over, or has nothing happened for too long?

Rules: without ``progressDeadlineSeconds`` there is no such condition; more updated, ready or available replicas, or
fewer old ones, are progress; the deadline counts from the last progress; a finished rollout is not judged again until
the number of updated replicas differs; while paused nothing is judged.
"""

from collections.abc import Iterable

import msgspec

from heliostat.embedded.controllers.failures import Failure
from heliostat.embedded.controllers.views.deployments import Deployment, DeploymentStatus
from heliostat.embedded.controllers.views.replicasets import ReplicaSet
from heliostat.embedded.controllers.views.workload_conditions import (
    Conditions,
    WorkloadCondition,
    find_condition,
    put_condition,
    remove_condition,
)
from heliostat.kube.timestamps import format_timestamp, moment_of

PROGRESSING = "Progressing"
CREATE_ERROR = "ReplicaSetCreateError"
_AVAILABLE = "NewReplicaSetAvailable"
_TIMED_OUT = "ProgressDeadlineExceeded"
_PAUSED = "DeploymentPaused"
_NO_LIMIT = 2**31 - 1


def deadline_of(deployment: Deployment) -> int | None:
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds == _NO_LIMIT else seconds


def build_condition(type_: str, status: str, reason: str, message: str, now: float) -> WorkloadCondition:
    text = format_timestamp(now)
    return WorkloadCondition(type_, status, text, text, reason, message)


def note_pause(deployment: Deployment, now: float) -> Conditions:
    """A pause and its end are noted at once, so that the time in between does not count against the deadline."""
    conditions = deployment.status.conditions
    old = find_condition(conditions, PROGRESSING)
    reason = old.reason if old is not None else ""
    if deadline_of(deployment) is None or reason == _TIMED_OUT or deployment.spec.paused == (reason == _PAUSED):
        return conditions
    reason, message = (
        (_PAUSED, "Deployment is paused") if deployment.spec.paused else ("DeploymentResumed", "Deployment is resumed")
    )
    return put_condition(conditions, build_condition(PROGRESSING, "Unknown", reason, message, now))


def note_new_set(deployment: Deployment, name: str, now: float, *, is_created: bool) -> Conditions:
    """A ReplicaSet was created; or one was found and nothing has been said about progress yet."""
    conditions = deployment.status.conditions
    if deadline_of(deployment) is None:
        return conditions
    if not is_created and find_condition(conditions, PROGRESSING) is not None:
        return conditions
    reason, message = (
        ("NewReplicaSetCreated", f'Created new replica set "{name}"')
        if is_created
        else ("FoundNewReplicaSet", f'Found new replica set "{name}"')
    )
    return put_condition(conditions, build_condition(PROGRESSING, "True", reason, message, now))


def note_create_error(deployment: Deployment, name: str, failure: Failure | None, now: float) -> Conditions:
    conditions = deployment.status.conditions
    if deadline_of(deployment) is None or failure is None or failure.tag != CREATE_ERROR:
        return conditions
    message = f'Failed to create new replica set "{name}": {failure.message}'
    return put_condition(conditions, build_condition(PROGRESSING, "False", CREATE_ERROR, message, now))


def judge_progress(deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: float) -> Conditions:
    """The conditions of the new ``status``; the Deployment still has the one before."""
    conditions = status.conditions
    if deadline_of(deployment) is None:
        return remove_condition(conditions, PROGRESSING)
    old = find_condition(deployment.status.conditions, PROGRESSING)
    if old is not None and old.reason == _AVAILABLE and status.replicas == status.updated_replicas:
        return conditions
    who = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        text = f"{who} has successfully progressed."
        return put_condition(conditions, build_condition(PROGRESSING, "True", _AVAILABLE, text, now))
    if _is_progressing(deployment.status, status):
        return _renew(
            conditions, build_condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{who} is progressing.", now)
        )
    if _is_timed_out(deployment, find_condition(conditions, PROGRESSING), now):
        text = f"{who} has timed out progressing."
        return put_condition(conditions, build_condition(PROGRESSING, "False", _TIMED_OUT, text, now))
    return conditions


def _renew(conditions: Conditions, new: WorkloadCondition) -> Conditions:
    """Also with the same reason: every progress sets the time of the last update."""
    old = find_condition(conditions, PROGRESSING)
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    return (*remove_condition(conditions, PROGRESSING), new)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """All replicas are of the new template and available, and no others are left."""
    wanted = deployment.spec.replicas
    counted = (status.updated_replicas, status.replicas, status.available_replicas)
    return counted == (wanted, wanted, wanted) and status.observed_generation >= deployment.metadata.generation


def _is_progressing(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _is_timed_out(deployment: Deployment, condition: WorkloadCondition | None, now: float) -> bool:
    if condition is None or condition.reason == _AVAILABLE:
        return False
    left = _seconds_left(deployment, condition, now)
    return condition.reason == _TIMED_OUT or (left is not None and left < 0)


def _seconds_left(deployment: Deployment, condition: WorkloadCondition, now: float) -> float | None:
    deadline, since = deadline_of(deployment), moment_of(condition.last_update_time)
    return None if deadline is None or since is None else since + deadline - now


def decide_wake(deployment: Deployment, status: DeploymentStatus, now: float) -> float | None:
    """When to see whether the deadline has passed; a second late, since times of the API are whole seconds."""
    condition = find_condition(status.conditions, PROGRESSING)
    if condition is None or condition.reason in (_TIMED_OUT, _PAUSED) or is_complete(deployment, status):
        return None
    left = _seconds_left(deployment, condition, now)
    return None if left is None else max(left, 0.0) + 1.0


def show_failures(conditions: Conditions, new: ReplicaSet | None, sets: Iterable[ReplicaSet]) -> Conditions:
    """The ReplicaFailure of the new ReplicaSet, or else of another one."""
    for replica_set in (*((new,) if new is not None else ()), *sets):
        found = find_condition(replica_set.status.conditions, "ReplicaFailure")
        if found is not None:
            shown = msgspec.structs.replace(found, last_update_time=found.last_transition_time)
            return put_condition(conditions, shown)
    return remove_condition(conditions, "ReplicaFailure")
