"""From the bytes of a RayCronJob to what it means: the typed object, its timetable, and what KubeRay's rules say."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.cron_policy import CronPolicy, read_policy
from heliostat.api.raycronjob import RayCronJob, RayCronJobSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import cronjob_problems, refusal
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import RAY_CRON_JOB, WholeObject
from heliostat.operator.understanding import metadata_of
from heliostat.plan.raycronjob.observed import Timetable, read_timetable

_decode_spec = msgspec.json.Decoder(RayCronJobSpec).decode


class Meaning(Struct, frozen=True):
    """``cron`` is None for a spec that no ray.io/v1 RayCronJob can have; ``refusal`` tells."""

    cron: RayCronJob | None
    refusal: Problem | None
    timetable: Timetable | None = None
    policy: CronPolicy = CronPolicy()


def with_metadata(meaning: Meaning, item: WholeObject) -> Meaning:
    if meaning.cron is None:
        return meaning
    return replace(meaning, cron=replace(meaning.cron, metadata=metadata_of(item)))


def work_out(item: WholeObject, settings: Settings) -> Meaning:
    try:
        spec = _decode_spec(item.spec)
    except msgspec.ValidationError as error:
        return Meaning(
            None, Problem(path=("spec",), problem=str(error), fix="make it what the RayCronJob definition asks for")
        )
    cron = RayCronJob(api_version=RAY_CRON_JOB.api_version, kind="RayCronJob", metadata=metadata_of(item), spec=spec)
    refused = refusal(cronjob_problems(cron, settings))
    return Meaning(cron, refused, read_timetable(cron), read_policy(item.metadata.annotations))
