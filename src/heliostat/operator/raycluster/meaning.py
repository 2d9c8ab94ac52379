"""From the bytes of a RayCluster to what it means: the typed object, what KubeRay's rules say, what should be there."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.documents import Accepted, accept
from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems, refusal
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import WholeObject
from heliostat.operator.understanding import metadata_of

_decode_spec = msgspec.json.Decoder(RayClusterSpec).decode


class Meaning(Struct, frozen=True):
    """``cluster`` is None for a spec that no ray.io/v1 RayCluster can have; ``refusal`` tells."""

    cluster: RayCluster | None
    desired: DesiredCluster | None
    refusal: Problem | None
    warnings: tuple[Problem, ...] = ()


def with_metadata(meaning: Meaning, item: WholeObject) -> Meaning:
    if meaning.cluster is None:
        return meaning
    return replace(meaning, cluster=replace(meaning.cluster, metadata=metadata_of(item)))


def work_out(item: WholeObject, settings: Settings) -> Meaning:
    try:
        spec = _decode_spec(item.spec)
    except msgspec.ValidationError as error:
        return Meaning(None, None, _find_misfit(item, str(error)))
    cluster = RayCluster(api_version="ray.io/v1", kind="RayCluster", metadata=metadata_of(item), spec=spec)
    problems = tuple(cluster_problems(cluster, settings))
    refused = refusal(problems)
    desired = build_desired(cluster, settings) if refused is None else None
    return Meaning(cluster, desired, refused, tuple(each for each in problems if each.severity == "warning"))


def _find_misfit(item: WholeObject, error: str) -> Problem:
    """What stands in the way when the server's CustomResourceDefinition is not ours and let it through."""
    tree = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": item.metadata.name, "namespace": item.metadata.namespace},
        "spec": msgspec.json.decode(item.spec),
    }
    answer = accept(tree)
    found = None if isinstance(answer, Accepted) else refusal(answer.problems)
    return found or Problem(path=("spec",), problem=error, fix="make it what the RayCluster definition asks for")
