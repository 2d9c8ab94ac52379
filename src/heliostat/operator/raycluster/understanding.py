"""From the bytes of a RayCluster to what it means: the typed object, what KubeRay's rules say, what should be there.

All of it follows from spec, name, labels and annotations alone, so it is worked out once for each of them and kept for
a while: status writes and Pods that come and go change none of it.
"""

from collections import OrderedDict

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.documents import Accepted, accept
from heliostat.api.raycluster import ObjectMeta, RayCluster, RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems, refusal
from heliostat.desired.cluster import build_desired
from heliostat.desired.model import DesiredCluster
from heliostat.kube.objects import Key
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import WholeObject

KEPT = 1024  # clusters; each takes some 27 kilobytes, and working it out anew half a millisecond

_decode_spec = msgspec.json.Decoder(RayClusterSpec).decode


class Meaning(Struct, frozen=True):
    """``cluster`` is None for a spec that no ray.io/v1 RayCluster can have; ``refusal`` tells."""

    cluster: RayCluster | None
    desired: DesiredCluster | None
    refusal: Problem | None
    warnings: tuple[Problem, ...] = ()


class Understanding:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._kept: OrderedDict[Key, tuple[WholeObject, Meaning]] = OrderedDict()

    def understand(self, item: WholeObject) -> Meaning:
        key = item.metadata.key
        known = self._kept.get(key)
        if known is not None and _is_same(known[0], item):
            self._kept.move_to_end(key)
            return _with_metadata(known[1], item)
        meaning = work_out(item, self._settings)
        self._kept[key] = (item, meaning)
        self._kept.move_to_end(key)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return meaning

    def forget(self, key: Key) -> None:
        self._kept.pop(key, None)


def _is_same(known: WholeObject, item: WholeObject) -> bool:
    """The uid, too: another cluster under the name of an old one owns other objects."""
    then, now = known.metadata, item.metadata
    if then.uid != now.uid or known.spec != item.spec:
        return False
    return then.labels == now.labels and then.annotations == now.annotations


def _with_metadata(meaning: Meaning, item: WholeObject) -> Meaning:
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


def metadata_of(item: WholeObject) -> ObjectMeta:
    metadata = item.metadata
    return ObjectMeta(
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        generation=metadata.generation,
        resource_version=metadata.resource_version,
        creation_timestamp=metadata.creation_timestamp,
        deletion_timestamp=metadata.deletion_timestamp,
        finalizers=list(metadata.finalizers) or None,
        labels=metadata.labels or None,
        annotations=metadata.annotations or None,
        owner_references=[msgspec.to_builtins(owner) for owner in metadata.owner_references] or None,
    )


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
