"""The suite's language: a sequence of requests as data, the same for every server that it is put to.

Rules: ``${name}`` in a path, query, header or body is replaced when the request is sent: by ``ns`` (the sequence's own
namespace), by what an earlier step saved, or by ``OBJECT.rv``, ``OBJECT.uid`` and ``OBJECT.rv.first``, which every
answer that shows an object saves by its name. A sequence owns its namespace and names cluster-wide objects after
itself, so sequences do not meet.
"""

from collections.abc import Sequence as Many
from typing import Any, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
YAML = "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Call(Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """One request. A body that is text is sent as it is."""

    method: str
    path: str
    body: Json = None
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    save: dict[str, str] = {}  # variable -> dotted path in the answer
    until: int = 0  # ask again until this status comes: for what a server does in its own time


class OpenWatch(Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """Start a watch; it goes on while later steps run."""

    watch: str
    path: str
    query: dict[str, str] = {}
    headers: dict[str, str] = {}


class ReadWatch(Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """Everything the watch has told since it was read last."""

    watch: str


class Compact(Struct, frozen=True, tag=True):
    """Let the server forget all history up to now."""


class Settle(Struct, frozen=True, tag=True):
    """Let the server's own caches catch up with what was written: admission may judge by a view that lags."""


Step: TypeAlias = Call | OpenWatch | ReadWatch | Compact | Settle


class Sequence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str  # lower case and dashes: it becomes the namespace
    steps: tuple[Step, ...]
    alone: bool = False  # disturbs others, so it runs when no other does
    keeps_managed_fields: bool = False  # compares them; else they are left out of the comparison

    @property
    def namespace(self) -> str:
        return f"c-{self.name}"


def sequence(name: str, *steps: Step | Many[Step], alone: bool = False, managed: bool = False) -> Sequence:
    """A sequence from steps and lists of steps."""
    flat: list[Step] = []
    for step in steps:
        if isinstance(step, (Call, OpenWatch, ReadWatch, Compact, Settle)):
            flat.append(step)
        else:
            flat.extend(step)
    return Sequence(name=name, steps=tuple(flat), alone=alone, keeps_managed_fields=managed)
