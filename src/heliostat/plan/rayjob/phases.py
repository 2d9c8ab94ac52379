"""The life of a RayJob as a table: in which phase, under which condition, what comes next, why, and what is done.

Rules: of a phase's rows the first that fits counts; a phase without a fitting row stays as it is. Complete and Failed
are left by nothing. What Ray says is the truth: "unknown" never becomes Complete, and becomes Failed only when its
time is over. Both public fields come from one ``State``, which cannot hold a pair that contradicts itself.
The page docs/reference/rayjob-phases.md is made from this table.
Differs from KubeRay: rayjob-truth, rayjob-head-lost, rayjob-mended, rayjob-waiting.
"""

from enum import Enum, StrEnum

from msgspec import Struct

from heliostat.plan.rayjob.answers import FAILED, NOT_SAID, PENDING, RUNNING, STATUSES, STOPPED, SUCCEEDED
from heliostat.plan.rayjob.phase_inputs import If, PhaseInputs


class Phase(StrEnum):
    """``status.jobDeploymentStatus``."""

    NEW = ""
    INITIALIZING = "Initializing"
    WAITING = "Waiting"
    RUNNING = "Running"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    RETRYING = "Retrying"
    VALIDATION_FAILED = "ValidationFailed"
    COMPLETE = "Complete"
    FAILED = "Failed"


TERMINAL = frozenset({Phase.COMPLETE, Phase.FAILED})


class Reason(StrEnum):
    """``status.reason``."""

    NONE = ""
    SUBMISSION_FAILED = "SubmissionFailed"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    PRE_RUNNING_DEADLINE_EXCEEDED = "PreRunningDeadlineExceeded"
    APP_FAILED = "AppFailed"
    GRACE_PERIOD_EXCEEDED = "JobDeploymentStatusTransitionGracePeriodExceeded"
    STATUS_CHECK_TIMEOUT_EXCEEDED = "JobStatusCheckTimeoutExceeded"
    VALIDATION_FAILED = "ValidationFailed"


class Do(Enum):
    """What is done on the way, in words for people."""

    NAME = "the attempt gets its names: job id, cluster"
    NOTE_DASHBOARD = "the address of Ray's dashboard is noted"
    TAKE_ID = "the job id is taken from spec.jobId"
    RESET = "the attempt is forgotten"
    DECLARE_FAILED = "jobStatus says FAILED"


# KubeRay: a deadline leaves jobStatus as Ray last told it, so Failed and RUNNING may stand together (rayjob.md §10).
_ALLOWED: dict[Phase, frozenset[str]] = {
    Phase.NEW: frozenset({NOT_SAID}),
    Phase.INITIALIZING: frozenset({NOT_SAID}),
    Phase.WAITING: frozenset({NOT_SAID}),
    Phase.RUNNING: STATUSES,
    Phase.SUSPENDING: STATUSES,
    Phase.SUSPENDED: frozenset({NOT_SAID}),
    Phase.RETRYING: frozenset({NOT_SAID, PENDING, RUNNING, FAILED}),
    Phase.VALIDATION_FAILED: STATUSES,
    Phase.COMPLETE: frozenset({SUCCEEDED, STOPPED}),
    Phase.FAILED: frozenset({NOT_SAID, PENDING, RUNNING, FAILED}),
}


class ContradictionError(ValueError):
    """A bug: two public fields that cannot both be true."""


class State(Struct, frozen=True):
    """The one value that ``jobDeploymentStatus`` and ``jobStatus`` are written from."""

    phase: Phase
    ray: str = NOT_SAID

    def __post_init__(self) -> None:
        if self.ray not in _ALLOWED[self.phase]:
            raise ContradictionError(f"jobDeploymentStatus {self.phase!s} and jobStatus {self.ray!r}")


class Row(Struct, frozen=True):
    at: Phase
    when: tuple[If, ...]  # all of them
    to: Phase
    reason: Reason = Reason.NONE
    do: tuple[Do, ...] = ()


_SUSPEND = (
    Row(Phase.INITIALIZING, (If.SUSPEND_WANTED,), Phase.SUSPENDING),
    Row(Phase.WAITING, (If.SUSPEND_WANTED,), Phase.SUSPENDING),
    Row(Phase.RUNNING, (If.SUSPEND_WANTED,), Phase.SUSPENDING),
)

TABLE: tuple[Row, ...] = (
    Row(Phase.NEW, (), Phase.INITIALIZING, do=(Do.NAME,)),
    *_SUSPEND,
    Row(Phase.INITIALIZING, (If.DEADLINE_PASSED,), Phase.FAILED, Reason.DEADLINE_EXCEEDED),
    Row(Phase.INITIALIZING, (If.PRE_RUNNING_PASSED,), Phase.FAILED, Reason.PRE_RUNNING_DEADLINE_EXCEEDED),
    Row(Phase.INITIALIZING, (If.RAY_IS_REACHABLE, If.INTERACTIVE), Phase.WAITING, do=(Do.NOTE_DASHBOARD,)),
    Row(Phase.INITIALIZING, (If.RAY_IS_REACHABLE, If.SUBMITTER_IN_PLACE), Phase.RUNNING, do=(Do.NOTE_DASHBOARD,)),
    Row(Phase.WAITING, (If.DEADLINE_PASSED,), Phase.FAILED, Reason.DEADLINE_EXCEEDED),
    Row(Phase.WAITING, (If.PRE_RUNNING_PASSED,), Phase.FAILED, Reason.PRE_RUNNING_DEADLINE_EXCEEDED),
    Row(Phase.WAITING, (If.ID_GIVEN,), Phase.RUNNING, do=(Do.TAKE_ID,)),
    Row(Phase.RUNNING, (If.RAY_ENDED_WELL, If.SUBMITTER_DONE), Phase.COMPLETE),
    Row(Phase.RUNNING, (If.RAY_FAILED, If.SUBMITTER_DONE), Phase.FAILED, Reason.APP_FAILED),
    Row(Phase.RUNNING, (If.RAY_ENDED_WELL, If.GRACE_PASSED), Phase.COMPLETE, Reason.GRACE_PERIOD_EXCEEDED),
    Row(Phase.RUNNING, (If.RAY_FAILED, If.GRACE_PASSED), Phase.FAILED, Reason.GRACE_PERIOD_EXCEEDED),
    Row(Phase.RUNNING, (If.RAY_GOES_ON, If.DEADLINE_PASSED), Phase.FAILED, Reason.DEADLINE_EXCEEDED),
    Row(Phase.RUNNING, (If.RAY_GOES_ON, If.HEAD_GONE), Phase.FAILED, Reason.APP_FAILED),
    Row(Phase.RUNNING, (If.RAY_GOES_ON, If.FORGOTTEN), Phase.FAILED, Reason.APP_FAILED),
    Row(Phase.RUNNING, (If.NEVER_SUBMITTED, If.SUBMITTER_FAILED), Phase.FAILED, Reason.SUBMISSION_FAILED),
    Row(Phase.RUNNING, (If.NEVER_SUBMITTED, If.SUBMITTER_SUCCEEDED), Phase.FAILED, Reason.APP_FAILED),
    Row(
        Phase.RUNNING, (If.RAY_TELLS_OF_NO_END, If.SUBMITTER_SUCCEEDED, If.SUBMITTER_PATIENCE_OVER), Phase.FAILED,
        Reason.GRACE_PERIOD_EXCEEDED, (Do.DECLARE_FAILED,),
    ),
    Row(
        Phase.RUNNING, (If.SUBMITTER_SUCCEEDED, If.UNHEARD_TOO_LONG, If.NEVER_TOLD), Phase.FAILED,
        Reason.GRACE_PERIOD_EXCEEDED, (Do.DECLARE_FAILED,),
    ),
    Row(
        Phase.RUNNING, (If.SILENCE_TOO_LONG, If.NEVER_TOLD, If.SUBMITTER_FAILED), Phase.FAILED,
        Reason.SUBMISSION_FAILED,
    ),
    Row(Phase.RUNNING, (If.SILENCE_TOO_LONG,), Phase.FAILED, Reason.STATUS_CHECK_TIMEOUT_EXCEEDED),
    Row(Phase.SUSPENDING, (If.ALL_GONE,), Phase.SUSPENDED, do=(Do.RESET,)),
    Row(Phase.RETRYING, (If.ALL_GONE,), Phase.NEW, do=(Do.RESET,)),
    Row(Phase.SUSPENDED, (If.RESUME_WANTED,), Phase.NEW),
    Row(Phase.VALIDATION_FAILED, (If.HOLDS_NOTHING,), Phase.NEW, do=(Do.RESET,)),
    Row(Phase.VALIDATION_FAILED, (If.ATTEMPT_UNFIT,), Phase.RETRYING),
    Row(Phase.VALIDATION_FAILED, (If.WAS_SUBMITTING,), Phase.RUNNING),
    Row(Phase.VALIDATION_FAILED, (If.WAS_WAITING,), Phase.WAITING),
    Row(Phase.VALIDATION_FAILED, (), Phase.INITIALIZING),
)  # fmt: skip

# How long each phase that is not terminal can last, for the page; where nothing is said a change ends it at once.
BOUNDS: dict[Phase, str] = {
    Phase.NEW: "one pass",
    Phase.INITIALIZING: (
        "preRunningDeadlineSeconds or activeDeadlineSeconds, or RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS of the operator;"
        " without them it may wait for room as long as it likes: after 300 s the event `StillInitializing` tells what"
        " for, and `explain` at any time"
    ),
    Phase.WAITING: (
        "preRunningDeadlineSeconds or activeDeadlineSeconds, or RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS of the operator;"
        " without them it waits for spec.jobId"
    ),
    Phase.RUNNING: (
        "activeDeadlineSeconds; RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS without an answer; 30 s after the submitter's end;"
        " RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS after the job's end"
    ),
    Phase.SUSPENDING: "until the Pods are gone",
    Phase.RETRYING: "until the Pods are gone",
    Phase.SUSPENDED: "until spec.suspend is false",
    Phase.VALIDATION_FAILED: (
        "until the spec is mended; what it holds goes after RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS"
    ),
}

# A deadline is the user's word, and silence says nothing about the job: another attempt would not be better.
NOT_RETRIED = frozenset({Reason.DEADLINE_EXCEEDED, Reason.STATUS_CHECK_TIMEOUT_EXCEEDED})


def find_row(phase: Phase, inputs: PhaseInputs) -> Row | None:
    """The row that counts now; None: the phase stays."""
    for row in TABLE:
        if row.at is phase and all(map(inputs.holds, row.when)):
            return row
    return None
