"""Facts: what is known from outside Kubernetes, and what is not known. One vocabulary for planners and for the loop.

A planner is handed ``Fact | Unknown`` and never waits for an answer. "Unknown" is a value: a read that failed, or that
has not been done yet, is never taken for "there is none", and a planner that needs the answer waits for it. Rule: no
decision on a fact older than our own last effect on the same thing; the loop keeps it by handing out ``Unknown`` until
the fact was fetched anew.
"""

from typing import Generic, TypeVar

from msgspec import Struct

V = TypeVar("V")


class FactKey(Struct, frozen=True, order=True):
    """Which fact: its kind (a word of whoever asks for it) and of what (a UID, or namespace/name)."""

    kind: str
    of: str

    def __str__(self) -> str:
        return f"{self.kind} {self.of}"


class Fact(Struct, Generic[V], frozen=True):
    value: V
    age: float = 0.0  # seconds since the answer came
    source: str = ""  # who said so: the address that was asked


class Unknown(Struct, frozen=True):
    """Not read, or the reading failed."""

    why: str = "it has not been read"


UNKNOWN = Unknown()
