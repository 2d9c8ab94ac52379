"""RayCronJob, ``ray.io/v1``: the typed view of its spec and status."""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from heliostat.api.markers import Schema, Time
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.rayjob import RayJobSpec


class RayCronJobSpec(Struct, rename="camel", frozen=True, kw_only=True):
    job_template: RayJobSpec
    schedule: str
    time_zone: Annotated[str, Schema(min_length=1)] | None = None
    suspend: bool | None = None


class RayCronJobStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    last_schedule_time: Time | None = None


class RayCronJob(Struct, rename="camel", frozen=True, kw_only=True):
    api_version: str
    kind: Literal["RayCronJob"]
    metadata: ObjectMeta
    spec: RayCronJobSpec
    status: RayCronJobStatus | UnsetType = UNSET
