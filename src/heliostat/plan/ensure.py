"""Make what is missing, delete what has to go, and wait where a name is taken or a kind cannot be read: for the parts
of any ray.io object.

The functions work against a small view: whoever can look objects up and say what it owns can use them.
"""

from typing import Protocol

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import Found, KindName, kind_name
from heliostat.kube.plan import SILENT, Create, Ref, Report, delete_of, ref_of
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, wait_beside, wait_for
from heliostat.plan.reasons import WhyWaiting
from heliostat.plan.reports import report_create


class View(Protocol):
    """What is around one ray.io object."""

    @property
    def owner_kind(self) -> str:
        """The kind of that object, for sentences."""
        ...

    def find(self, kind: KindName, name: str) -> Found: ...

    def list_owned(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown: ...

    def owns(self, tree: JsonObject) -> bool: ...


def create(tree: JsonObject) -> Part:
    return Part(actions=(Create(tree, Because.MISSING, report_create(ref_of(tree))),))


def wait_for_knowledge(what: str, unknown: Unknown) -> Part:
    return wait_for(Hold.NOT_KNOWN, f"{what}: {unknown.why}", "it can be read")


def ensure_by_name(wanted: JsonObject | None, observed: View) -> Part:
    """Made when nobody has made it."""
    if wanted is None:
        return NOTHING
    ref = ref_of(wanted)
    found = observed.find(kind_name(ref.api_version, ref.kind), ref.name)
    if isinstance(found, Unknown):
        return wait_for_knowledge(str(ref), found)
    return create(wanted) if found is None else NOTHING


def create_unless_taken(wanted: JsonObject, observed: View) -> Part:
    """A create that would collide with somebody else's object is a wait, not a success."""
    ref = ref_of(wanted)
    found = observed.find(kind_name(ref.api_version, ref.kind), ref.name)
    if found is None:
        return create(wanted)
    if isinstance(found, Unknown):
        return wait_for_knowledge(str(ref), found)
    return name_taken(ref, observed.owner_kind)


def ensure_gone(
    tree: JsonObject, because: str, leaving: WhyWaiting, report: Report = SILENT, propagation: str = ""
) -> Part:
    """Deleted once; after that it is waited for, with the reason ``leaving``."""
    if tree["metadata"].get("deletionTimestamp"):
        return wait_beside(leaving, f"{ref_of(tree)} is being deleted", "it is gone")
    return Part(actions=(delete_of(tree, because, report, propagation),))


def name_taken(ref: Ref, owner: str = "RayCluster") -> Part:
    message = f"{ref} exists and does not belong to this {owner}"
    failure = report_create(ref).failure
    events = () if failure is None else (replace(failure, note=f"{failure.note}, it exists and is not owned by it"),)
    return wait_for(Hold.NAME_TAKEN, message, "it is deleted or renamed", events=events)


def matches(tree: JsonObject, selector: dict[str, str]) -> bool:
    there = tree["metadata"].get("labels") or {}
    return selector.items() <= there.items()
