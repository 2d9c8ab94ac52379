"""What objects mean, worked out once for each spec and kept for a while.

The meaning of an object (its typed form, what the rules say, what should be there) follows from spec, name, labels and
annotations alone: status writes, and Pods that come and go, change none of it.
"""

from collections import OrderedDict
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from heliostat.api.documents import Accepted, accept
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.settings import Settings
from heliostat.api.validation import refusal
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import WholeObject
from heliostat.plan.kind import Kind, Meaning

D = TypeVar("D")

KEPT = 1024  # objects; a RayCluster takes some 27 kilobytes, and working it out anew half a millisecond


class Understanding(Generic[D]):
    """Of the objects of one kind."""

    def __init__(self, kind: Kind[Any, D, Any], settings: Settings) -> None:
        self._kind = kind
        self._settings = settings
        self._decode = msgspec.json.Decoder(kind.spec).decode
        self._kept: OrderedDict[Key, tuple[WholeObject, Meaning[D]]] = OrderedDict()

    def understand(self, item: WholeObject) -> Meaning[D]:
        key = item.metadata.key
        known = self._kept.get(key)
        if known is not None and _is_same(known[0], item):
            self._kept.move_to_end(key)
            return _renew(known[1], item)
        meaning = self._work_out(item)
        self._kept[key] = (item, meaning)
        self._kept.move_to_end(key)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return meaning

    def forget(self, key: Key) -> None:
        self._kept.pop(key, None)

    def _work_out(self, item: WholeObject) -> Meaning[D]:
        kind, resource = self._kind, self._kind.resource
        try:
            spec = self._decode(item.spec)
        except msgspec.ValidationError as error:
            return Meaning(object=None, refusal=_find_misfit(kind, item, str(error)))
        value = kind.struct(api_version=resource.api_version, kind=resource.kind, metadata=metadata_of(item), spec=spec)
        return kind.understand(value, kind.find_problems(value, self._settings), self._settings)


def _is_same(known: WholeObject, item: WholeObject) -> bool:
    """The uid, too: another object under the name of an old one owns other objects."""
    then, now = known.metadata, item.metadata
    if then.uid != now.uid or known.spec != item.spec:
        return False
    return then.labels == now.labels and then.annotations == now.annotations


def _renew(meaning: Meaning[D], item: WholeObject) -> Meaning[D]:
    """With the metadata as it is now."""
    if meaning.object is None:
        return meaning
    return replace(meaning, object=replace(meaning.object, metadata=metadata_of(item)))


def _find_misfit(kind: Kind[Any, Any, Any], item: WholeObject, error: str) -> Problem:
    """What stands in the way when the server's CustomResourceDefinition is not ours and let it through."""
    metadata = {"name": item.metadata.name, "namespace": item.metadata.namespace}
    answer = accept(tree_of(kind, item) | {"metadata": metadata, "status": {}})
    found = None if isinstance(answer, Accepted) else refusal(answer.problems)
    fix = f"make it what the {kind.resource.kind} definition asks for"
    return found or Problem(path=("spec",), problem=error, fix=fix)


def tree_of(kind: Kind[Any, Any, Any], item: WholeObject) -> JsonObject:
    """As a planner reads it; spec and status are decoded anew, for whoever copies from them."""
    metadata: JsonObject = msgspec.to_builtins(item.metadata)
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": metadata,
        "spec": msgspec.json.decode(item.spec),
        "status": msgspec.json.decode(item.status),
    }


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
