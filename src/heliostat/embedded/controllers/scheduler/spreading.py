"""How evenly Pods spread over zones, nodes, …: topologySpreadConstraints that forbid (``DoNotSchedule``).

A node is refused when its domain would then hold more than ``maxSkew`` matching Pods above the emptiest domain.
Domains are counted on the nodes the Pod could use (``nodeAffinityPolicy``, ``nodeTaintsPolicy``). Constraints that
only prefer are not weighed.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Metadata
from heliostat.kube.selectors import NOTHING, Requirement, Selector, SelectorError, build_selector, selector_of

NOT_EVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{NOT_EVEN} (missing required label)"


class SpreadRule(Struct, frozen=True):
    topology_key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honors_places: bool
    honors_taints: bool


class Site(Struct, frozen=True):
    """A node, as far as spreading is concerned."""

    labels: Mapping[str, str]
    pods: Sequence[Metadata]  # those that are not on their way out
    is_allowed: bool  # by the Pod's nodeSelector and node affinity
    is_tainted: bool  # against the Pod


class Spread(Struct, frozen=True):
    rules: tuple[SpreadRule, ...]
    counts: tuple[Mapping[str, int], ...]  # of matching Pods, by domain; one for each rule
    own: tuple[int, ...]  # whether the Pod itself counts

    def why_not(self, node_labels: Mapping[str, str]) -> str:
        for rule, counts, own in zip(self.rules, self.counts, self.own, strict=True):
            domain = node_labels.get(rule.topology_key)
            if domain is None:
                return NO_LABEL
            least = min(counts.values(), default=0) if len(counts) >= rule.min_domains else 0
            if counts.get(domain, 0) + own - least > rule.max_skew:
                return NOT_EVEN
        return ""


def build_rules(constraints: Iterable[JsonObject], labels: Mapping[str, str]) -> tuple[SpreadRule, ...]:
    return tuple([_rule(tree, labels) for tree in constraints if tree.get("whenUnsatisfiable") == "DoNotSchedule"])


def _rule(tree: JsonObject, labels: Mapping[str, str]) -> SpreadRule:
    return SpreadRule(
        topology_key=tree.get("topologyKey", ""),
        max_skew=int(tree.get("maxSkew") or 1),
        min_domains=int(tree.get("minDomains") or 1),
        selector=_selector(tree, labels),
        honors_places=tree.get("nodeAffinityPolicy", "Honor") == "Honor",
        honors_taints=tree.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )


def _selector(tree: JsonObject, labels: Mapping[str, str]) -> Selector:
    try:
        selector = selector_of(tree.get("labelSelector"))
    except SelectorError:
        return NOTHING
    shared = [key for key in tree.get("matchLabelKeys") or () if key in labels]
    if not shared or selector.matches_nothing:
        return selector
    return build_selector([*selector.requirements, *(Requirement(key, "in", (labels[key],)) for key in shared)])


def survey_spread(rules: tuple[SpreadRule, ...], pod: Metadata, sites: Iterable[Site]) -> Spread:
    counts: list[dict[str, int]] = [{} for _ in rules]
    for site in sites:
        if any(rule.topology_key not in site.labels for rule in rules):
            continue
        for rule, found in zip(rules, counts, strict=True):
            if (rule.honors_places and not site.is_allowed) or (rule.honors_taints and site.is_tainted):
                continue
            domain = site.labels[rule.topology_key]
            found[domain] = found.get(domain, 0) + _count(rule.selector, pod.namespace, site.pods)
    own = tuple([int(rule.selector.matches(pod.labels)) for rule in rules])
    return Spread(rules, tuple(counts), own)


def _count(selector: Selector, namespace: str, pods: Sequence[Metadata]) -> int:
    return sum(pod.namespace == namespace and selector.matches(pod.labels) for pod in pods)
