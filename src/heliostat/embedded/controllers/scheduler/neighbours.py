"""Next to whom a Pod must and must not run: required Pod affinity and anti-affinity.

A term speaks of the Pods its selector matches, in the namespaces it names, and of all nodes that share their value of
the topology key. Anti-affinity holds both ways: Pods that are there keep others away too. The first Pod of a group
that wants to be together may go anywhere. Preferred terms are not weighed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Metadata
from heliostat.kube.selectors import NOTHING, Selector, SelectorError, selector_of

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]
Topology: TypeAlias = tuple[str, str]  # key and value of a node's label


class NeighbourTerm(Struct, frozen=True):
    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, pod: Metadata, namespaces: NamespaceLabels) -> bool:
        is_inside = pod.namespace in self.namespaces or self.namespace_selector.matches(
            namespaces.get(pod.namespace, {})
        )
        return is_inside and self.selector.matches(pod.labels)


def build_terms(affinity: JsonObject | None, side: str, namespace: str) -> tuple[NeighbourTerm, ...]:
    """``side`` is podAffinity or podAntiAffinity."""
    trees = ((affinity or {}).get(side) or {}).get(_REQUIRED) or ()
    return tuple([_term(tree, namespace) for tree in trees])


def _term(tree: JsonObject, namespace: str) -> NeighbourTerm:
    named = frozenset(tree.get("namespaces") or ())
    by_labels = tree.get("namespaceSelector")
    if not named and by_labels is None:
        named = frozenset((namespace,))
    return NeighbourTerm(tree.get("topologyKey", ""), _selector(tree.get("labelSelector")), named, _selector(by_labels))


def _selector(tree: JsonObject | None) -> Selector:
    try:
        return selector_of(tree)
    except SelectorError:
        return NOTHING


class Resident(Struct, frozen=True):
    """A Pod that is on a node, as far as its neighbours are concerned."""

    metadata: Metadata
    node_labels: Mapping[str, str]
    apart: tuple[NeighbourTerm, ...]


class Neighbourhood(Struct, frozen=True):
    """Where a Pod finds whom it wants near, and where it may not be."""

    together: tuple[NeighbourTerm, ...]
    wanted: Counter[Topology]
    is_first: bool  # nobody wanted is anywhere, and the Pod is of those it wants
    apart: frozenset[Topology]
    unwelcome: frozenset[Topology]

    def why_not(self, node_labels: Mapping[str, str]) -> str:
        if not self._finds_wanted(node_labels):
            return "node(s) didn't match pod affinity rules"
        pairs = node_labels.items()
        if any(pair in self.apart for pair in pairs):
            return "node(s) didn't match pod anti-affinity rules"
        if any(pair in self.unwelcome for pair in pairs):
            return "node(s) didn't satisfy existing pods anti-affinity rules"
        return ""

    def _finds_wanted(self, node_labels: Mapping[str, str]) -> bool:
        if any(term.topology_key not in node_labels for term in self.together):
            return False
        return self.is_first or all(
            self.wanted[(term.topology_key, node_labels[term.topology_key])] > 0 for term in self.together
        )


def survey_neighbours(
    pod: Metadata,
    together: tuple[NeighbourTerm, ...],
    apart: tuple[NeighbourTerm, ...],
    residents: Iterable[Resident],
    namespaces: NamespaceLabels,
) -> Neighbourhood:
    wanted: Counter[Topology] = Counter()
    avoided: set[Topology] = set()
    unwelcome: set[Topology] = set()
    for resident in residents:
        labels = resident.node_labels
        if together and all(term.matches(resident.metadata, namespaces) for term in together):
            wanted.update(_topologies(together, labels))
        avoided.update(_topologies((term for term in apart if term.matches(resident.metadata, namespaces)), labels))
        keeps_off = (term for term in resident.apart if term.matches(pod, namespaces))
        unwelcome.update(_topologies(keeps_off, labels))
    is_first = not wanted and all(term.matches(pod, namespaces) for term in together)
    return Neighbourhood(together, wanted, is_first, frozenset(avoided), frozenset(unwelcome))


def _topologies(terms: Iterable[NeighbourTerm], labels: Mapping[str, str]) -> list[Topology]:
    return [(term.topology_key, labels[term.topology_key]) for term in terms if term.topology_key in labels]
