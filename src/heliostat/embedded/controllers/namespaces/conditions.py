"""What a namespace that is going tells about itself: five conditions, each with the words for "all is well"."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from heliostat.embedded.controllers.views.namespaces import NamespaceCondition
from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.timestamps import format_timestamp

Content = Mapping[ResourceType, Sequence[Object]]


class _Fine(Struct, frozen=True):
    type: str
    reason: str
    message: str


CONTENT_REMAINING = "NamespaceContentRemaining"
FINALIZERS_REMAINING = "NamespaceFinalizersRemaining"
FINE = (
    _Fine("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    _Fine(
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    _Fine(
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    _Fine(CONTENT_REMAINING, "ContentRemoved", "All content successfully removed"),
    _Fine(FINALIZERS_REMAINING, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


def decide_conditions(
    before: Sequence[NamespaceCondition], remaining: Content, now: float
) -> tuple[NamespaceCondition, ...]:
    """The conditions as they should read; a transition time moves with its status alone."""
    wrong = {condition.type: condition for condition in _tell_remaining(remaining)}
    known = {condition.type: condition for condition in before}
    decided = {
        fine.type: wrong.get(fine.type) or NamespaceCondition(fine.type, "False", None, fine.reason, fine.message)
        for fine in FINE
    }
    moment = format_timestamp(now)
    dated = {name: _date(condition, known.get(name), moment) for name, condition in decided.items()}
    return (*(dated.pop(name, condition) for name, condition in known.items()), *dated.values())


def _tell_remaining(remaining: Content) -> Iterable[NamespaceCondition]:
    counts = sorted(
        f"{kind.plural}.{kind.group} has {len(items)} resource instances" for kind, items in remaining.items()
    )
    if counts:
        message = f"Some resources are remaining: {', '.join(counts)}"
        yield NamespaceCondition(CONTENT_REMAINING, "True", None, "SomeResourcesRemain", message)
    finalizers = Counter(name for items in remaining.values() for item in items for name in item.metadata.finalizers)
    held = sorted(f"{name} in {count} resource instances" for name, count in finalizers.items())
    if held:
        message = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
        yield NamespaceCondition(FINALIZERS_REMAINING, "True", None, "SomeFinalizersRemain", message)


def _date(condition: NamespaceCondition, before: NamespaceCondition | None, moment: str) -> NamespaceCondition:
    kept = before is not None and before.status == condition.status
    when = before.last_transition_time if before is not None and kept else moment
    return NamespaceCondition(condition.type, condition.status, when, condition.reason, condition.message)
