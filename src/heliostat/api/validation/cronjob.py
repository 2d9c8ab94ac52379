"""Whether a RayCronJob is accepted: KubeRay's rules in KubeRay's order, all findings. KubeRay: raycronjob.md §4."""

from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.cron_policy import policy_problems
from heliostat.api.cron_schedule import CronError, find_time_zone, parse_schedule
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.settings import Settings
from heliostat.api.validation import object_name
from heliostat.api.validation.job import job_spec_problems
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

REASON = "InvalidRayCronJobSpec"
NAME_LIMIT = 36


def cronjob_problems(cronjob: RayCronJob, settings: Settings) -> Iterator[Problem]:
    spec = cronjob.spec
    yield from object_name.length_problems("RayCronJob", cronjob.metadata.name, NAME_LIMIT, rule="CJ-1", reason=REASON)
    yield from _schedule_problems(spec.schedule)
    if spec.time_zone is not None:
        yield from _zone_problems(spec.time_zone)
    for found in job_spec_problems(spec.job_template, None, settings, ("spec", "jobTemplate")):
        yield replace(found, problem=f"invalid RayJob template: {found.problem}", reason=REASON)
    yield from policy_problems(cronjob.metadata.annotations, REASON)


def _problem(rule: str, tail: Path, problem: str, fix: str) -> Problem:
    return Problem(path=("spec", *tail), problem=problem, fix=fix, rule=rule, reason=REASON)


def _schedule_problems(schedule: str) -> Iterator[Problem]:
    if "TZ" in schedule:
        yield _problem(
            "CJ-2",
            ("schedule",),
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            "put the zone into spec.timeZone, such as Asia/Taipei",
        )
        return  # what is left of the text is no schedule either, and saying so twice helps nobody
    try:
        parse_schedule(schedule)
    except CronError as error:
        fix = "write five fields such as '*/5 * * * *', or a descriptor such as @daily"
        yield _problem("CJ-3", ("schedule",), f"invalid cron schedule: {error}", fix)


def _zone_problems(zone: str) -> Iterator[Problem]:
    if not zone:
        yield _problem("CJ-4", ("timeZone",), "timeZone must not be empty string", "name a zone, or leave it out")
    elif find_time_zone(zone) is None:
        yield _problem(
            "CJ-5",
            ("timeZone",),
            f"invalid time zone: unknown time zone {zone}",
            "use an IANA name such as Europe/Berlin or UTC",
        )
