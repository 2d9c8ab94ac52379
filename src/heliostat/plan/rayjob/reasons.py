"""Every reason a RayJob's plan can give, each one value with all that is to be said about it."""

from heliostat.plan.reasons import PEOPLE, Severity, Waiting, WhyWaiting, WhyWritten


class Because(WhyWritten):
    """Why an action is in the plan."""

    PLEDGED = "Pledged", "a finalizer: Ray is asked to stop the job before the RayJob is deleted"
    NEXT_PHASE = "NextPhase", "the job enters its next phase"
    CLUSTER_MOVED = "ClusterMoved", "the status of its RayCluster changed"
    RAY_TOLD = "RayTold", "Ray reports something new about the job"
    RAY_SILENT = "RaySilent", "Ray stopped answering: the time is recorded"
    RAY_ANSWERS = "RayAnswers", "Ray answers again"
    REFUSED = "Refused", "the spec is refused"
    CLUSTER_NEEDED = "ClusterNeeded", "the job has no cluster yet"
    TO_BE_SUBMITTED = "ToBeSubmitted", "the cluster is ready and Ray does not know the job yet"
    HEAD_MOVED = "HeadMoved", "the job has another cluster by now"
    RETRY = "Retry", "the attempt failed, and another one starts from scratch"
    SUSPENDED = "Suspended", "the job is suspended"
    REFUSED_TOO_LONG = "RefusedTooLong", "the spec was not corrected in time, so its objects are deleted"
    FINISHED = "Finished", "the job has finished and its TTL has expired"
    DELETED = "Deleted", "the RayJob is being deleted"
    HEAD_LOST = "HeadLost", "the head that ran the job was lost, and its submitter would submit the job again"
    RESIZED = "Resized", "the gang (PodGroup) has a new size"


class Hold(WhyWaiting):
    """Why a plan waits."""

    CLUSTER_NOT_READY = (
        "ClusterNotReady",
        Waiting(meaning="its RayCluster is not ready yet", verdict="waits for its cluster"),
    )
    CLUSTER_NOT_FOUND = (
        "ClusterNotFound",
        Waiting(
            meaning="the RayCluster that spec.clusterSelector names does not exist",
            fix="create it, or correct the name under ray.io/cluster",
            mended_by=PEOPLE,
        ),
    )
    NO_DASHBOARD = (
        "NoDashboardPort",
        Waiting(
            meaning="the head offers no port named dashboard, where jobs are submitted",
            fix="name the dashboard's port so in the head container or in headService",
            mended_by=PEOPLE,
        ),
    )
    SCHEDULER = (
        "SchedulerRefuses",
        Waiting(meaning="the batch scheduler does not take this RayJob", mended_by=PEOPLE),
    )
    SUBMITTER_IMPOSSIBLE = (
        "SubmitterImpossible",
        Waiting(meaning="the submitter cannot be built from this spec", mended_by=PEOPLE),
    )
    ID_AWAITED = (
        "JobIdAwaited",
        Waiting(
            meaning="in InteractiveMode a person submits the job",
            fix="submit a job to the cluster and write its id into spec.jobId",
            verdict="waits for a job id",
            mended_by=PEOPLE,
        ),
    )
    SUBMISSION = "Submitting", Waiting(meaning="the job was submitted and Ray does not report it yet")
    JOB_RUNS = "JobRuns", Waiting(meaning="Ray runs the job", severity=Severity.HARMLESS)
    EDIT_WAITS = (
        "EditWaits",
        Waiting(
            meaning="an edit of the spec is not followed by the attempt that runs",
            fix="suspend and resume the RayJob, or create it anew, if it must be followed now",
            severity=Severity.HARMLESS,
        ),
    )
    SUBMITTER_AT_WORK = (
        "SubmitterAtWork",
        Waiting(meaning="Ray has finished the job, its submitter has not yet", severity=Severity.HARMLESS),
    )
    RAY_SILENT = "RaySilent", Waiting(meaning="Ray's dashboard does not answer")
    NOT_TAKEN = "NotTaken", Waiting(meaning="Ray refuses the job", mended_by=PEOPLE)
    LEAVING = "Leaving", Waiting(meaning="its objects are being deleted")
    SUSPENDED = "Suspended", Waiting(meaning="the job is suspended", verdict="is suspended")
    OVER = "Over", Waiting(meaning="the job is over", verdict="is over", severity=Severity.HARMLESS)
    CLEANUP = "CleanUpLater", Waiting(meaning="what is left of the job is deleted later", severity=Severity.HARMLESS)
    UNKNOWN_PHASE = (
        "UnknownPhase",
        Waiting(meaning="the status names an unknown phase", mended_by=PEOPLE),
    )
