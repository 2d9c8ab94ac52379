"""What the store keeps of an object, and what happened to it.

Rules: the body is the JSON as served, resourceVersion included, and is never decoded here; the facts beside it are what
selectors and the garbage collector ask for. Records and events are values: shared freely, never changed.
``gc=False``: they hold no cycles, and tens of thousands of them should not make Python's collector slower.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from heliostat.embedded.storage.keys import Key

EventKind: TypeAlias = Literal["CREATED", "UPDATED", "DELETED"]


class Facts(Struct, frozen=True, gc=False, array_like=True):
    """The index entry of an object. ``fields`` holds the field-selector values the kind offers, by path."""

    uid: str
    labels: dict[str, str] = {}
    fields: dict[str, str] = {}
    owners: tuple[str, ...] = ()  # uids


class Record(Struct, frozen=True, gc=False):
    """One version of one object. Of a deletion: the last state, with the revision of the deletion."""

    key: Key
    revision: int
    facts: Facts
    body: bytes


class Event(Struct, frozen=True, gc=False):
    """One mutation. ``previous`` is the version it replaced, which selector transitions need."""

    record: Record
    previous: Record | None
    deleted: bool = False

    @property
    def revision(self) -> int:
        return self.record.revision

    @property
    def kind(self) -> EventKind:
        if self.deleted:
            return "DELETED"
        return "CREATED" if self.previous is None else "UPDATED"
