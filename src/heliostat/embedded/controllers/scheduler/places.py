"""Which nodes a Pod may or would like to go to, by their labels and names: nodeSelector and node affinity.

Terms are alternatives, what stands in a term holds together, and an empty term matches no node. A term that cannot be
read matches no node either, as the real scheduler has it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from heliostat.embedded.controllers.views.nodes import Node
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.selectors import EVERYTHING, NOTHING, Selector, SelectorError, selector_of

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NAME = "metadata.name"


class NodeTerm(Struct, frozen=True):
    labels: Selector
    fields: Selector

    def matches(self, node: Node) -> bool:
        return self.labels.matches(node.metadata.labels) and self.fields.matches({_NAME: node.metadata.name})


class Preference(Struct, frozen=True):
    weight: int
    term: NodeTerm


class Places(Struct, frozen=True):
    """``terms`` is None when the Pod has no required node affinity; ``names`` when no name is called for."""

    selector: Mapping[str, str] = {}
    terms: tuple[NodeTerm, ...] | None = None
    preferences: tuple[Preference, ...] = ()
    names: frozenset[str] | None = None

    def allow(self, node: Node) -> bool:
        labels = node.metadata.labels
        if any(labels.get(key) != value for key, value in self.selector.items()):
            return False
        return self.terms is None or any(term.matches(node) for term in self.terms)

    def weigh(self, node: Node) -> int:
        return sum(preference.weight for preference in self.preferences if preference.term.matches(node))


ANYWHERE = Places()


def build_places(selector: Mapping[str, str], affinity: JsonObject | None) -> Places:
    of_nodes = (affinity or {}).get("nodeAffinity") or {}
    if not selector and not of_nodes:
        return ANYWHERE
    required = of_nodes.get(_REQUIRED)
    trees = required.get("nodeSelectorTerms") or [] if required is not None else []
    return Places(
        selector,
        None if required is None else tuple(_terms(trees)),
        tuple(_preferences(of_nodes.get(_PREFERRED) or [])),
        _names(trees),
    )


def _terms(trees: Iterable[JsonObject]) -> Iterable[NodeTerm]:
    for tree in trees:
        if not _is_empty(tree):
            yield _term(tree)


def _preferences(trees: Iterable[JsonObject]) -> Iterable[Preference]:
    for tree in trees:
        term = tree.get("preference") or {}
        if tree.get("weight") and not _is_empty(term):
            yield Preference(int(tree["weight"]), _term(term))


def _is_empty(term: JsonObject) -> bool:
    return not term.get("matchExpressions") and not term.get("matchFields")


def _term(tree: JsonObject) -> NodeTerm:
    return NodeTerm(_selector(tree.get("matchExpressions")), _selector(tree.get("matchFields")))


def _selector(expressions: list[Any] | None) -> Selector:
    if not expressions:
        return EVERYTHING
    try:
        return selector_of({"matchExpressions": expressions}, numeric=True)
    except SelectorError:
        return NOTHING


def _names(trees: list[JsonObject]) -> frozenset[str] | None:
    """The only nodes that can match when every term calls for names; None when one does not."""
    found: frozenset[str] = frozenset()
    for tree in trees:
        called = [
            frozenset(field.get("values") or ())
            for field in tree.get("matchFields") or ()
            if field.get("key") == _NAME and field.get("operator") == "In"
        ]
        if not called:
            return None
        found |= frozenset.intersection(*called)
    return found if trees else None
