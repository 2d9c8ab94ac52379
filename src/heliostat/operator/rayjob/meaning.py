"""From the bytes of a RayJob to what it means: the typed object and what KubeRay's rules say."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.rayjob import RayJob, RayJobSpec, RayJobStatus
from heliostat.api.settings import Settings
from heliostat.api.validation import job_problems, refusal
from heliostat.api.validation.job import job_status_problems
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import RAY_JOB, WholeObject
from heliostat.operator.understanding import metadata_of

_decode_spec = msgspec.json.Decoder(RayJobSpec).decode


class Meaning(Struct, frozen=True):
    """``job`` is None for a spec that no ray.io/v1 RayJob can have; ``refusal`` tells."""

    job: RayJob | None
    refusal: Problem | None


def with_metadata(meaning: Meaning, item: WholeObject) -> Meaning:
    if meaning.job is None:
        return meaning
    return replace(meaning, job=replace(meaning.job, metadata=metadata_of(item)))


def work_out(item: WholeObject, settings: Settings) -> Meaning:
    try:
        spec = _decode_spec(item.spec)
    except msgspec.ValidationError as error:
        return Meaning(
            None, Problem(path=("spec",), problem=str(error), fix="make it what the RayJob definition asks for")
        )
    job = RayJob(api_version=RAY_JOB.api_version, kind="RayJob", metadata=metadata_of(item), spec=spec)
    return Meaning(job, refusal(job_problems(job, settings)))


def refused_by_status(job: RayJob, status: JsonObject) -> Problem | None:
    """What the spec says about the phase that the job is in."""
    shown = RayJobStatus(job_deployment_status=str(status.get("jobDeploymentStatus") or ""))
    return refusal(job_status_problems(replace(job, status=shown)))


def tree_of(item: WholeObject, status: JsonObject) -> JsonObject:
    """As a planner reads it; the spec is decoded anew, for whoever copies from it."""
    metadata: JsonObject = msgspec.to_builtins(item.metadata)
    return {
        "apiVersion": RAY_JOB.api_version,
        "kind": RAY_JOB.kind,
        "metadata": metadata,
        "spec": msgspec.json.decode(item.spec),
        "status": status,
    }
