"""From the bytes of a RayService to what it means: the typed object and what KubeRay's rules say."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.rayservice import RayService, RayServiceSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import refusal, service_problems
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import RAY_SERVICE, WholeObject
from heliostat.operator.understanding import metadata_of

_decode_spec = msgspec.json.Decoder(RayServiceSpec).decode


class Meaning(Struct, frozen=True):
    """``service`` is None for a spec that no ray.io/v1 RayService can have; ``refusal`` tells."""

    service: RayService | None
    refusal: Problem | None


def with_metadata(meaning: Meaning, item: WholeObject) -> Meaning:
    if meaning.service is None:
        return meaning
    return replace(meaning, service=replace(meaning.service, metadata=metadata_of(item)))


def work_out(item: WholeObject, settings: Settings) -> Meaning:
    try:
        spec = _decode_spec(item.spec)
    except msgspec.ValidationError as error:
        return Meaning(
            None, Problem(path=("spec",), problem=str(error), fix="make it what the RayService definition asks for")
        )
    service = RayService(api_version=RAY_SERVICE.api_version, kind="RayService", metadata=metadata_of(item), spec=spec)
    return Meaning(service, refusal(service_problems(service, settings)))


def tree_of(item: WholeObject) -> JsonObject:
    """As a planner reads it; spec and status are decoded anew, for whoever copies from it."""
    metadata: JsonObject = msgspec.to_builtins(item.metadata)
    return {
        "apiVersion": RAY_SERVICE.api_version,
        "kind": RAY_SERVICE.kind,
        "metadata": metadata,
        "spec": msgspec.json.decode(item.spec),
        "status": msgspec.json.decode(item.status),
    }
