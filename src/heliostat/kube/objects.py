"""What every object has: its metadata, as a slim frozen struct that is decoded straight from the bytes of the API.

Kinds that are decided on derive from ``Object`` and add the fields that their decisions read; everything else in the
bytes is skipped while decoding and costs no memory. A field that is absent reads as its empty value.
"""

from typing import NamedTuple

from msgspec import Struct

from heliostat.kube.counts import read_count


class Key(NamedTuple):
    """Which object of one resource; the namespace of a cluster-scoped one is empty."""

    namespace: str
    name: str
    resource: str = ""  # only where one queue holds objects of several resources

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource} {name}" if self.resource else name


class OwnerReference(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


def revision_of(resource_version: str) -> int:
    """As the number that it is on every server that counts its writes; otherwise 0."""
    return read_count(resource_version) or 0


class Metadata(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    @property
    def revision(self) -> int:
        return revision_of(self.resource_version)

    @property
    def is_terminating(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Object(Struct, frozen=True, gc=False, rename="camel"):
    """The least one can know of an object; also all that is decoded where only metadata counts."""

    metadata: Metadata
