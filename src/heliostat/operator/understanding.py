"""What objects mean, worked out once for each spec and kept for a while.

The meaning of a ray.io object (its typed form, what the rules say, what should be there) follows from spec, name,
labels and annotations alone: status writes, and Pods that come and go, change none of it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from heliostat.api.raycluster import ObjectMeta
from heliostat.kube.objects import Key
from heliostat.operator.kinds import WholeObject

M = TypeVar("M")

KEPT = 1024  # objects; a RayCluster takes some 27 kilobytes, and working it out anew half a millisecond


class Understanding(Generic[M]):
    """``work_out`` gives the meaning; ``renew`` puts the metadata as it is now into a meaning that was kept."""

    def __init__(self, work_out: Callable[[WholeObject], M], renew: Callable[[M, WholeObject], M]) -> None:
        self._work_out = work_out
        self._renew = renew
        self._kept: OrderedDict[Key, tuple[WholeObject, M]] = OrderedDict()

    def understand(self, item: WholeObject) -> M:
        key = item.metadata.key
        known = self._kept.get(key)
        if known is not None and _is_same(known[0], item):
            self._kept.move_to_end(key)
            return self._renew(known[1], item)
        meaning = self._work_out(item)
        self._kept[key] = (item, meaning)
        self._kept.move_to_end(key)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return meaning

    def forget(self, key: Key) -> None:
        self._kept.pop(key, None)


def _is_same(known: WholeObject, item: WholeObject) -> bool:
    """The uid, too: another object under the name of an old one owns other objects."""
    then, now = known.metadata, item.metadata
    if then.uid != now.uid or known.spec != item.spec:
        return False
    return then.labels == now.labels and then.annotations == now.annotations


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
