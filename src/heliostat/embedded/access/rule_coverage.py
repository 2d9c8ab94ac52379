"""Which of some rights are already held: the question behind every write to a role or binding.

Rules: rights are taken apart into single ones (one verb on one resource, perhaps of one name, or on one path); each
must be covered whole by one rule held. A wildcard asked for needs the same wildcard held, because tomorrow's resources
count too. Missing rights come back put together again by resource, as a person would write them.
"""

from collections.abc import Iterable, Iterator

from heliostat.embedded.access.policy_rules import Rule, covers_resource, path_covers


def find_missing(held: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The single rights among ``wanted`` that no rule of ``held`` covers."""
    rules = tuple(held)
    singles = (single for rule in wanted for single in _single_rights(rule))
    return [single for single in singles if not any(_covers(rule, single) for rule in rules)]


def compact(rights: Iterable[Rule]) -> list[Rule]:
    """Single rights on the same resource (and name) as one rule with all their verbs."""
    paths: list[Rule] = []
    verbs: dict[Rule, tuple[str, ...]] = {}
    for right in rights:
        if right.paths:
            paths.append(right)
        else:
            about = Rule(groups=right.groups, resources=right.resources, names=right.names)
            verbs[about] = verbs.get(about, ()) + right.verbs
    return paths + [
        Rule(verbs=found, groups=about.groups, resources=about.resources, names=about.names)
        for about, found in verbs.items()
    ]


def _single_rights(rule: Rule) -> Iterator[Rule]:
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if not rule.names:
                    yield Rule((verb,), (group,), (resource,))
                for name in rule.names:
                    yield Rule((verb,), (group,), (resource,), (name,))
    for path in rule.paths:
        for verb in rule.verbs:
            yield Rule((verb,), paths=(path,))


def _covers(held: Rule, single: Rule) -> bool:
    if not _has_all(held.verbs, single.verbs):
        return False
    if single.paths:
        return any(path_covers(path, single.paths[0]) for path in held.paths)
    if held.names and not (single.names and single.names[0] in held.names):
        return False
    wanted = single.resources[0]
    return _has_all(held.groups, single.groups) and covers_resource(held.resources, wanted, wanted.partition("/")[2])


def _has_all(held: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return "*" in held or wanted[0] in held
