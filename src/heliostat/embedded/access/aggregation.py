"""ClusterRoles made of others: ``aggregationRule`` collects the rules of all ClusterRoles whose labels fit.

Rules: selectors in their order, roles by name, every rule once; a collected role may itself be made of others; what
stands in ``rules`` of such a role does not count. The authorizer uses the collected rules at once; whoever keeps the
stored objects in step writes what ``plan_aggregation`` names.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from heliostat.embedded.access.policy_rules import Rule, read_rule, read_rules
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.selectors import NOTHING, Selector, SelectorError, selector_of

ClusterRoles: TypeAlias = Mapping[str, JsonObject]  # by name


def is_aggregated(role: JsonObject) -> bool:
    return bool(_selector_trees(role))


def collect_rules(role: JsonObject, roles: ClusterRoles) -> list[JsonObject]:
    """The rules that count for a ClusterRole: its own, or the collected ones."""
    if not is_aggregated(role):
        return list(role.get("rules") or ())
    found: dict[Rule, JsonObject] = {}
    for source in _sources(role, roles, {role["metadata"]["name"]}):
        for tree in source.get("rules") or ():
            found.setdefault(read_rule(tree), tree)
    return list(found.values())


def plan_aggregation(roles: ClusterRoles) -> dict[str, list[JsonObject]]:
    """The new ``rules`` of every aggregated ClusterRole whose stored ones have fallen behind."""
    stale: dict[str, list[JsonObject]] = {}
    for name, role in sorted(roles.items()):
        if is_aggregated(role):
            rules = collect_rules(role, roles)
            if read_rules(rules) != read_rules(role.get("rules") or []):
                stale[name] = copy_tree(rules)
    return stale


def _sources(role: JsonObject, roles: ClusterRoles, seen: set[str]) -> Iterator[JsonObject]:
    """The roles with rules of their own behind ``role``, each once, however the selectors refer to each other."""
    for tree in _selector_trees(role):
        selector = _selector(tree)
        for name in sorted(roles):
            if name in seen or not selector.matches(roles[name]["metadata"].get("labels")):
                continue
            seen.add(name)
            if is_aggregated(roles[name]):
                yield from _sources(roles[name], roles, seen)
            else:
                yield roles[name]


def _selector_trees(role: JsonObject) -> list[JsonObject]:
    return list((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())


def _selector(tree: JsonObject) -> Selector:
    try:
        return selector_of(tree)
    except SelectorError:
        return NOTHING  # not stored by validation; if it is there all the same it collects nothing
