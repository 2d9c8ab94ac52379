"""Every reason a RayJob's plan can give, each one value with all that is to be said about it."""

from heliostat.plan.reasons import PEOPLE, Severity, Waiting, WhyWaiting, WhyWritten


class Because(WhyWritten):
    """Why an action is in the plan."""

    PLEDGED = "Pledged", "Ray has to be asked to stop the job before the RayJob may go"
    NEXT_PHASE = "NextPhase", "the job has come to its next phase"
    CLUSTER_MOVED = "ClusterMoved", "the cluster's own status changed"
    RAY_TOLD = "RayTold", "Ray tells something new of the job"
    RAY_SILENT = "RaySilent", "Ray stopped answering: since when is noted"
    RAY_ANSWERS = "RayAnswers", "Ray answers again"
    REFUSED = "Refused", "the spec is refused"
    CLUSTER_NEEDED = "ClusterNeeded", "the job has no cluster yet"
    TO_BE_SUBMITTED = "ToBeSubmitted", "the cluster is ready and Ray does not know the job yet"
    HEAD_MOVED = "HeadMoved", "the job has another cluster by now"
    RETRY = "Retry", "the attempt has failed, and another one begins from nothing"
    SUSPENDED = "Suspended", "the job is suspended"
    REFUSED_TOO_LONG = "RefusedTooLong", "the spec was not mended in time, and what it holds is released"
    FINISHED = "Finished", "the job is over, and its time to stay has passed"
    DELETED = "Deleted", "the RayJob is being deleted"
    HEAD_LOST = "HeadLost", "the head that ran the job was lost, and its submitter would begin the job anew"
    RESIZED = "Resized", "the gang has another size by now"


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
    SUBMISSION = "Submitting", Waiting(meaning="the job has been handed over and Ray has not told of it yet")
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
        Waiting(meaning="Ray is done with the job, its submitter is not yet", severity=Severity.HARMLESS),
    )
    RAY_SILENT = "RaySilent", Waiting(meaning="Ray's dashboard does not answer")
    NOT_TAKEN = "NotTaken", Waiting(meaning="Ray does not take the job", mended_by=PEOPLE)
    LEAVING = "Leaving", Waiting(meaning="what it had is on its way out")
    SUSPENDED = "Suspended", Waiting(meaning="the job is suspended", verdict="is suspended")
    OVER = "Over", Waiting(meaning="the job is over", verdict="is over", severity=Severity.HARMLESS)
    CLEANUP = "CleanUpLater", Waiting(meaning="what is left of the job goes later", severity=Severity.HARMLESS)
    UNKNOWN_PHASE = (
        "UnknownPhase",
        Waiting(meaning="the status names a phase that nobody here knows", mended_by=PEOPLE),
    )
