"""The vocabulary of decisions: what a planner returns and an executor carries out.

A plan is a value. It says what to write and why (actions in stages), what it is waiting for (waits), what to tell
people (events), which status the object should show, and when to requeue it. It knows no clock, no network and no
Ray.

Rules: a stage runs when the stages it needs succeeded, so a failure blocks only its dependents; every delete names a
UID; every patch and status write names the resourceVersion it was decided from; a secret is a ``Random`` marker that
only the executor fills.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.kube.facts import FactKey

JsonObject: TypeAlias = dict[str, Any]


class Ref(Struct, frozen=True):
    """Which object."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def ref_of(tree: JsonObject) -> Ref:
    metadata = tree.get("metadata", {})
    return Ref(
        tree["apiVersion"],
        tree["kind"],
        metadata.get("namespace", ""),
        metadata.get("name") or metadata.get("generateName", ""),
    )


class Random(Struct, frozen=True, tag=True):
    """Stands for ``bytes`` random bytes in standard base64: no plan, log or snapshot holds a secret."""

    bytes: int


class Regarded(Struct, frozen=True):
    """An object that an event tells of."""

    ref: Ref
    uid: str
    resource_version: str = ""


class Event(Struct, frozen=True):
    """A Kubernetes Event, about the planned object unless it names another."""

    type: str  # Normal or Warning
    reason: str
    action: str
    note: str
    about: Regarded | None = None
    related: Regarded | None = None  # a second object that has to do with it
    reporter: str = ""  # the controller that reports it; empty: the one whose plan it is


class Report(Struct, frozen=True):
    """What to tell once an action is over. A failure's note is followed by the separator and the error text.

    ``failure_tag`` names the kind of failure for the planned object's status (KubeRay's ReplicaFailure reasons).
    """

    success: Event | None = None
    failure: Event | None = None
    failure_tag: str = ""
    separator: str = ", "
    besides: tuple[Event, ...] = ()  # told with the success, where one action does two things


SILENT = Report()


class Create(Struct, frozen=True, dict=True):
    object: JsonObject
    because: str
    report: Report = SILENT
    exists_is_fine: bool = True  # the same view gives the same names, so a repeated create collides harmlessly

    @cached_property
    def ref(self) -> Ref:
        return ref_of(self.object)


class Patch(Struct, frozen=True):
    """A merge patch; ``resource_version`` is the version it was decided from."""

    ref: Ref
    uid: str
    resource_version: str
    changes: JsonObject
    because: str
    report: Report = SILENT
    subresource: str = ""


def patch_of(tree: JsonObject, changes: JsonObject, because: str, report: Report = SILENT) -> Patch:
    """Of this object, as it was seen."""
    metadata = tree["metadata"]
    return Patch(ref_of(tree), metadata["uid"], metadata["resourceVersion"], changes, because, report)


class Replace(Struct, frozen=True):
    """The whole object in the place of the one it was decided from; for subresources that know no patch."""

    object: JsonObject  # with uid and resourceVersion
    because: str
    report: Report = SILENT
    subresource: str = ""

    @property
    def ref(self) -> Ref:
        return ref_of(self.object)


class Delete(Struct, frozen=True):
    ref: Ref
    uid: str
    because: str
    detail: str = ""
    report: Report = SILENT
    resource_version: str = ""  # a second precondition: nothing about the object has changed
    propagation: str = ""  # Background, Foreground or Orphan; empty: as the kind has it
    grace_seconds: int | None = None  # None: as the object has it


def delete_of(tree: JsonObject, because: str, report: Report = SILENT, propagation: str = "") -> Delete:
    """Of this very object, and of no other under its name."""
    return Delete(ref_of(tree), tree["metadata"]["uid"], because, report=report, propagation=propagation)


class WriteStatus(Struct, frozen=True):
    """The whole status, as it should read."""

    ref: Ref
    uid: str
    resource_version: str
    status: JsonObject
    because: str
    introduces: tuple[str, ...] = ()  # names and ids that stand in it for the first time (``persisted.py``)


class Effect(Struct, frozen=True):
    """A call to something that is not Kubernetes; what carries out a ``kind`` is registered by the program.

    Rules (``runtime/effects.py``): it is sent only while we lead and while the facts it was ``decided_on`` are still
    known; afterwards the facts that it ``touches`` are unknown until they were fetched anew: a call without an answer
    is settled by a fresh read, never by sending it again.
    """

    kind: str
    payload: JsonObject
    idempotency_key: str
    because: str
    report: Report = SILENT
    decided_on: tuple[FactKey, ...] = ()
    touches: tuple[FactKey, ...] = ()
    seconds: float | None = None  # its deadline, and that of what it sends; None: what carries it out has its own


Action: TypeAlias = Create | Patch | Replace | Delete | WriteStatus | Effect


class Stage(Struct, frozen=True):
    name: str
    actions: tuple[Action, ...]
    needs: tuple[str, ...] = ()


class Wait(Struct, frozen=True):
    """Why nothing (more) happens now, and what ends the wait."""

    reason: str
    message: str
    until: str


class Plan(Struct, frozen=True):
    stages: tuple[Stage, ...] = ()
    waits: tuple[Wait, ...] = ()
    status: WriteStatus | None = None
    events: tuple[Event, ...] = ()
    wake_after: float | None = None  # seconds, more than none; None: only a change wakes it

    def __post_init__(self) -> None:
        """A moment that has passed would have the object looked at without end, tens of thousands of times a second."""
        if self.wake_after is not None and self.wake_after <= 0:
            raise ValueError(f"a plan cannot wake its object in {self.wake_after:g} s: what is due is decided now")

    def actions(self) -> Iterator[Action]:
        """Every write, the status last."""
        for stage in self.stages:
            yield from stage.actions
        if self.status is not None:
            yield self.status

    @property
    def creates(self) -> bool:
        return any(isinstance(action, Create) for stage in self.stages for action in stage.actions)

    @property
    def is_empty(self) -> bool:
        """Nothing to write (it may still wait, tell or wake up later)."""
        return self.status is None and not any(stage.actions for stage in self.stages)
