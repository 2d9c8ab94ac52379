"""What was seen of a RayCronJob and of its RayJobs: the view that a plan is decided from.

Schedule, zone and policy are worked out of the spec by whoever makes the view, so that no decision reads zone files.
"""

from collections.abc import Iterable
from datetime import tzinfo

from msgspec import Struct

from heliostat.api.cron_policy import CronPolicy, read_policy
from heliostat.api.cron_schedule import CronError, Schedule, find_time_zone, parse_schedule
from heliostat.api.kinds import RAY_JOB_NAME
from heliostat.api.markers import JsonObject
from heliostat.api.raycronjob import RayCronJob
from heliostat.desired.raycronjob.child import SCHEDULED
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import Found, ListedObjects, Objects, kind_name
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.timestamps import moment_of
from heliostat.plan.observing import read_typed, take_in
from heliostat.plan.rayjob.phases import TERMINAL


class Timetable(Struct, frozen=True):
    """What the spec says about time."""

    schedule: Schedule
    zone: tzinfo


class ObservedCron(Struct, frozen=True, kw_only=True):
    cron: RayCronJob
    tree: JsonObject  # as the API server keeps it
    objects: Objects
    timetable: Timetable | None  # None: the spec is refused
    policy: CronPolicy = CronPolicy()

    @property
    def has_unknown(self) -> bool:
        return self.objects.has_unknown

    @property
    def status(self) -> JsonObject:
        return self.tree.get("status") or {}

    @property
    def since(self) -> float:
        """Ticks after this moment have not been looked at."""
        last = moment_of(self.status.get("lastScheduleTime"))
        return last if last is not None else moment_of(self.cron.metadata.creation_timestamp) or 0.0

    def find_job(self, name: str) -> Found:
        return self.objects.find(RAY_JOB_NAME, name)

    def list_jobs(self) -> tuple[JsonObject, ...] | Unknown:
        return self.objects.list_owned(RAY_JOB_NAME, self.cron.metadata.uid)

    def owns(self, tree: JsonObject) -> bool:
        return is_controlled_by(tree, self.cron.metadata.uid)


def is_leaving(job: JsonObject) -> bool:
    return bool(job["metadata"].get("deletionTimestamp"))


def is_over(job: JsonObject) -> bool:
    return (job.get("status") or {}).get("jobDeploymentStatus") in TERMINAL


def is_active(job: JsonObject) -> bool:
    return not is_over(job) and not is_leaving(job)


def tick_of(job: JsonObject) -> float:
    annotations = job["metadata"].get("annotations") or {}
    return moment_of(annotations.get(SCHEDULED)) or moment_of(job["metadata"].get("creationTimestamp")) or 0.0


def read_timetable(cron: RayCronJob) -> Timetable | None:
    try:
        schedule = parse_schedule(cron.spec.schedule)
    except CronError:
        return None
    zone = find_time_zone(cron.spec.time_zone)
    return Timetable(schedule, zone) if zone is not None else None


def observe_cron(tree: JsonObject, objects: Iterable[JsonObject]) -> ObservedCron:
    """The view that a complete list of objects gives: what is not in the list is not there."""
    cron = read_typed(tree, RayCronJob)
    jobs = [each for each in map(take_in, objects) if kind_name(each["apiVersion"], each["kind"]) == RAY_JOB_NAME]
    namespace = cron.metadata.namespace
    here = tuple(job for job in jobs if (job["metadata"].get("namespace") or namespace) == namespace)
    return ObservedCron(
        cron=cron,
        tree=tree,
        objects=ListedObjects({RAY_JOB_NAME: here}),
        timetable=read_timetable(cron),
        policy=read_policy(cron.metadata.annotations),
    )
