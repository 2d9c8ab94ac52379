"""What the table of phases asks about a RayJob: each question with its words, answered from one set of plain facts."""

from collections.abc import Callable
from enum import Enum, StrEnum

from msgspec import Struct

from heliostat.plan.rayjob.answers import FAILED, OVER, STOPPED, SUCCEEDED


class Submitter(StrEnum):
    """Who submits, and how far that is."""

    NOBODY = "nobody"  # HTTPMode and InteractiveMode: no Pod of ours submits
    MISSING = "missing"
    AT_WORK = "at work"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"  # with the head that it ran in
    UNKNOWN = "unknown"


class Voice(StrEnum):
    """What Ray's dashboard answers."""

    TELLS = "tells of the job"
    DENIES = "knows no such job"
    SILENT = "does not answer"
    UNASKED = "has not been asked yet"


class PhaseInputs(Struct, frozen=True, kw_only=True):
    is_suspend_wanted: bool = False
    is_interactive: bool = False
    is_reachable: bool = False  # the cluster is ready and its dashboard has an address
    is_id_given: bool = False
    is_deadline_passed: bool = False
    is_pre_running_passed: bool = False
    is_grace_passed: bool = False
    is_silence_too_long: bool = False
    is_patience_over: bool = False  # since the submitter's end
    is_unheard_too_long: bool = False  # since then, and since Ray has not answered
    is_cluster_gone: bool = False
    is_ray_over: bool = False  # the Ray that told of the job has ended, and its head Pod is still there
    is_all_gone: bool = False
    has_names: bool = False
    has_dashboard: bool = False
    has_job_id: bool = False
    submitter: Submitter = Submitter.NOBODY
    voice: Voice = Voice.UNASKED
    is_newer_than_submitter: bool = True  # the answer: Ray was asked after the submitter had ended
    is_denial_sure: bool = True  # Ray has denied the job for a while
    status: str = ""  # as Ray tells it now, or has told it
    was_seen: bool = False  # Ray has told of the job of this attempt before, or has taken it from us

    def holds(self, question: "If") -> bool:
        return _ANSWERS[question](self)

    @property
    def is_denied(self) -> bool:
        return self.voice is Voice.DENIES and self.is_denial_sure

    @property
    def is_over(self) -> bool:
        return self.status in OVER


class If(Enum):
    SUSPEND_WANTED = "spec.suspend is true"
    RESUME_WANTED = "spec.suspend is false"
    DEADLINE_PASSED = "activeDeadlineSeconds is over"
    PRE_RUNNING_PASSED = "preRunningDeadlineSeconds is over"
    RAY_IS_REACHABLE = "the cluster is ready and has a dashboard port"
    INTERACTIVE = "InteractiveMode"
    SUBMITTER_IN_PLACE = "the submitter Job is there, or none is needed"
    ID_GIVEN = "spec.jobId is set"
    RAY_ENDED_WELL = "Ray says SUCCEEDED or STOPPED"
    RAY_FAILED = "Ray says FAILED"
    RAY_GOES_ON = "Ray has not told of an end"
    RAY_TELLS_OF_NO_END = "Ray, asked after the submitter's end, tells of a job that goes on"
    NEVER_TOLD = "Ray has never told of the job"
    UNHEARD_TOO_LONG = "Ray was asked since and has not answered for 30 s"
    SUBMITTER_DONE = "no submitter is at work"
    SUBMITTER_FAILED = "the submitter has failed"
    SUBMITTER_SUCCEEDED = "the submitter has succeeded"
    SUBMITTER_PATIENCE_OVER = "30 s have passed since"
    GRACE_PASSED = "the grace period after the job's end is over"
    HEAD_GONE = "the cluster that ran the job is gone, or Ray's container that did, or in SidecarMode its head Pod"
    FORGOTTEN = "Ray has told of the job before and knows it no more"
    NEVER_SUBMITTED = "Ray, asked after the submitter's end, knows no such job"
    SILENCE_TOO_LONG = "no answer for the status check time-out"
    ALL_GONE = "the cluster, its Pods and the submitter Job are gone"
    HOLDS_NOTHING = "the spec is mended, and nothing was begun"
    ATTEMPT_UNFIT = "the spec is mended, and its submission mode is another one"
    WAS_SUBMITTING = "the spec is mended, and a job was submitted"
    WAS_WAITING = "the spec is mended, and a job id was waited for"


_ANSWERS: dict[If, Callable[[PhaseInputs], bool]] = {
    If.SUSPEND_WANTED: lambda s: s.is_suspend_wanted,
    If.RESUME_WANTED: lambda s: not s.is_suspend_wanted,
    If.DEADLINE_PASSED: lambda s: s.is_deadline_passed,
    If.PRE_RUNNING_PASSED: lambda s: s.is_pre_running_passed,
    If.RAY_IS_REACHABLE: lambda s: s.is_reachable,
    If.INTERACTIVE: lambda s: s.is_interactive,
    If.SUBMITTER_IN_PLACE: lambda s: s.submitter not in (Submitter.MISSING, Submitter.UNKNOWN),
    If.ID_GIVEN: lambda s: s.is_id_given,
    If.RAY_ENDED_WELL: lambda s: s.status in (SUCCEEDED, STOPPED),
    If.RAY_FAILED: lambda s: s.status == FAILED,
    If.RAY_GOES_ON: lambda s: not s.is_over,
    If.RAY_TELLS_OF_NO_END: lambda s: s.voice is Voice.TELLS and s.is_newer_than_submitter and not s.is_over,
    If.NEVER_TOLD: lambda s: not s.was_seen,
    If.UNHEARD_TOO_LONG: lambda s: s.voice is Voice.SILENT and s.is_unheard_too_long,
    If.SUBMITTER_DONE: lambda s: s.submitter not in (Submitter.AT_WORK, Submitter.UNKNOWN),
    If.SUBMITTER_FAILED: lambda s: s.submitter is Submitter.FAILED,
    If.SUBMITTER_SUCCEEDED: lambda s: s.submitter is Submitter.SUCCEEDED,
    If.SUBMITTER_PATIENCE_OVER: lambda s: s.is_patience_over,
    If.GRACE_PASSED: lambda s: s.is_grace_passed,
    If.HEAD_GONE: lambda s: s.submitter is Submitter.LOST or (s.was_seen and (s.is_cluster_gone or s.is_ray_over)),
    If.FORGOTTEN: lambda s: s.was_seen and s.is_denied,
    If.NEVER_SUBMITTED: lambda s: s.is_denied and not s.was_seen and s.is_newer_than_submitter,
    If.SILENCE_TOO_LONG: lambda s: s.is_silence_too_long and not s.is_over,
    If.ALL_GONE: lambda s: s.is_all_gone,
    If.HOLDS_NOTHING: lambda s: not s.has_names,
    If.ATTEMPT_UNFIT: lambda s: not s.has_job_id and not s.is_interactive,
    If.WAS_SUBMITTING: lambda s: s.has_dashboard and s.has_job_id,
    If.WAS_WAITING: lambda s: s.has_dashboard,
}
