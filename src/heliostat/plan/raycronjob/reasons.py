"""Every reason a RayCronJob's plan can give, each one value with all that is to be said about it."""

from heliostat.plan.reasons import PEOPLE, Severity, Waiting, WhyWaiting, WhyWritten


class Because(WhyWritten):
    """Why an action is in the plan."""

    TICK = "Tick", "a scheduled time has come"
    TICK_TAKEN = "TickTaken", "the RayJob of the scheduled time is there"
    TICK_SKIPPED = "TickSkipped", "the scheduled time is skipped, as its annotations ask"
    REPLACED = "Replaced", "a newer run takes its place, as the concurrency policy asks"
    TOO_OLD = "TooOld", "more runs are over than the history limit keeps"


class Hold(WhyWaiting):
    """Why a plan waits."""

    NEXT_TICK = (
        "NextTick",
        Waiting(meaning="its next scheduled time has not come yet", verdict="is on time", severity=Severity.HARMLESS),
    )
    SUSPENDED = (
        "Suspended",
        Waiting(
            meaning="no RayJobs are made", fix="set spec.suspend to false; the runs missed until then are made up for",
            verdict="is suspended",
        ),
    )  # fmt: skip
    NEVER = (
        "NeverDue",
        Waiting(
            meaning="no day of the next five years fits the schedule", fix="correct spec.schedule", mended_by=PEOPLE
        ),
    )
    OLD_CHILD = "OldChild", Waiting(meaning="a RayJob of the name that this run needs is being deleted")
