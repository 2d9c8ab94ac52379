"""The conditions of a Job and how they change.

Rules: an end comes in two stages, SuccessCriteriaMet or FailureTarget first and Complete or Failed once no Pod is left
to stop or to count; a condition that is not there and would be False stays away; a changed one keeps its place.
"""

from heliostat.embedded.controllers.views.jobs import Job, JobCondition

SUCCESS_CRITERIA_MET, COMPLETE = "SuccessCriteriaMet", "Complete"
FAILURE_TARGET, FAILED = "FailureTarget", "Failed"
SUSPENDED = "Suspended"
TRUE, FALSE = "True", "False"

Conditions = tuple[JobCondition, ...]


def find_true(job: Job, type_: str) -> JobCondition | None:
    found = (condition for condition in job.status.conditions if condition.type == type_)
    return next((condition for condition in found if condition.status == TRUE), None)


def build_condition(type_: str, reason: str, message: str, now: str, status: str = TRUE) -> JobCondition:
    return JobCondition(type_, status, now, now, reason, message)


def set_condition(conditions: Conditions, fresh: JobCondition) -> Conditions:
    """The list with the condition in it; the same list when it says nothing new."""
    for place, known in enumerate(conditions):
        if known.type == fresh.type:
            return conditions if _says_same(known, fresh) else (*conditions[:place], fresh, *conditions[place + 1 :])
    return conditions if fresh.status == FALSE else (*conditions, fresh)


def _says_same(known: JobCondition, fresh: JobCondition) -> bool:
    return (known.status, known.reason, known.message) == (fresh.status, fresh.reason, fresh.message)
