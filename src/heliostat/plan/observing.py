"""Objects that somebody read for us, before anything is decided by them: are they shaped like Kubernetes objects?

Files and servers may hold anything. What is not shaped like an object is an ``ObservationError``, whose text names it.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from heliostat.api.documents import read_object
from heliostat.api.kinds import KINDS, RayObject
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.kube.pods import PodError, PodView, view_pod

K = TypeVar("K", bound=RayObject)


class ObservationError(ValueError):
    """An object of the view that is not shaped like one; the text names it and the field."""


class _Metadata(Struct, rename="camel"):
    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Object(Struct, rename="camel"):
    """The shape that lookups rely on; the rest of an object stays as it is."""

    api_version: str
    kind: str
    metadata: _Metadata
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


def take_in(tree: JsonObject) -> JsonObject:
    try:
        msgspec.convert(tree, _Object)
    except msgspec.ValidationError as error:
        raise ObservationError(f"{name_badly_shaped(tree)} is not a Kubernetes object: {error}") from None
    return tree


def read_typed(tree: JsonObject, kind: type[K]) -> K:
    """The ray.io object of this tree; a spec that was left out reads as Go reads it."""
    found = read_object(tree, KINDS[kind.__name__])
    if not isinstance(found, kind):
        raise ObservationError(f"{name_badly_shaped(tree)} is not a {kind.__name__}")
    return found


def read_cluster_spec(cluster: JsonObject) -> RayClusterSpec:
    """Of a RayCluster that the API server keeps: its defaults are filled in."""
    return msgspec.convert(cluster["spec"], RayClusterSpec)


def see_pod(tree: JsonObject) -> PodView:
    try:
        return view_pod(tree)
    except PodError as error:
        raise ObservationError(f"{name_badly_shaped(tree)} is {error}") from None


def name_badly_shaped(tree: Any) -> str:
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return f"{tree.get('kind', 'an entry') if isinstance(tree, dict) else 'an entry'} {name}".rstrip()


def label_of(tree: JsonObject, label: str) -> str:
    """Empty without it."""
    return str((tree["metadata"].get("labels") or {}).get(label, ""))
