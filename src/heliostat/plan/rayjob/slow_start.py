"""A job that has been Initializing for long says what it waits for, on the object that people look at.

A job may wait for room as long as it likes: who queues for a GPU does not want to fail. So nothing ends it but a
deadline that somebody has set: ``preRunningDeadlineSeconds`` or ``activeDeadlineSeconds`` of the RayJob, or the
operator's RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS for all that have none. Differs from KubeRay: rayjob-slow-start.
"""

from collections.abc import Iterable

from heliostat.api.markers import JsonObject
from heliostat.kube.plan import Wait
from heliostat.kube.timestamps import moment_of
from heliostat.plan.draft import NOTHING, Part
from heliostat.plan.rayjob.reports import still_initializing

LONG_SECONDS = 300.0  # after which it is told; a node with a GPU may take some minutes to come


def tell_slow_start(status: JsonObject, waits: Iterable[Wait], now: float) -> Part:
    begun, first = moment_of(status.get("startTime")), next(iter(waits), None)
    if begun is None or first is None:
        return NOTHING
    left = begun + LONG_SECONDS - now
    if left > 0:
        return Part(wake_after=left)
    return Part(events=(still_initializing(f"Initializing since {status['startTime']}: {first.message}"),))
