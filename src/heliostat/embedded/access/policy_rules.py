"""One rule of a Role: what it matches.

Rules: ``*`` stands for every verb, group, resource (with its subresources) or path; ``*/scale`` for that subresource of
every resource; a resource alone does not include its subresources; without names a rule is about every object, with
names only about requests that say one of them; a path ending in ``*`` stands for everything that begins like it.
Rules only ever allow. A rule about paths says nothing about resources, and the other way round.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.access.attributes import Attributes
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject


class Rule(Struct, frozen=True, gc=False):
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def allows(self, request: Attributes) -> bool:
        if request.verb not in self.verbs and "*" not in self.verbs:
            return False
        if request.path is not None:
            return any(path_covers(path, request.path) for path in self.paths)
        return (
            (request.group in self.groups or "*" in self.groups)
            and covers_resource(self.resources, request.full_resource, request.subresource)
            and (not self.names or request.name in self.names)
        )

    def __str__(self) -> str:
        """As kube-apiserver writes a rule in a message; empty parts are left out."""
        labelled = {
            "APIGroups": self.groups,
            "Resources": self.resources,
            "NonResourceURLs": self.paths,
            "ResourceNames": self.names,
            "Verbs": self.verbs,
        }
        return "{" + ", ".join(f"{label}:{quote_list(values)}" for label, values in labelled.items() if values) + "}"


def covers_resource(resources: tuple[str, ...], wanted: str, subresource: str) -> bool:
    """Whether ``wanted``, such as ``pods`` or, with its subresource, ``pods/log``, is among ``resources``."""
    if wanted in resources or "*" in resources:
        return True
    return bool(subresource) and f"*/{subresource}" in resources


def path_covers(path: str, wanted: str) -> bool:
    return path == wanted or (path.endswith("*") and wanted.startswith(path.rstrip("*")))


def read_rules(trees: Iterable[JsonObject] | None) -> tuple[Rule, ...]:
    """The ``rules`` of a stored Role, which validation has seen before."""
    return tuple(read_rule(tree) for tree in trees or ())


def read_rule(tree: JsonObject) -> Rule:
    return Rule(
        verbs=tuple(tree.get("verbs") or ()),
        groups=tuple(tree.get("apiGroups") or ()),
        resources=tuple(tree.get("resources") or ()),
        names=tuple(tree.get("resourceNames") or ()),
        paths=tuple(tree.get("nonResourceURLs") or ()),
    )


def quote_list(values: Iterable[str]) -> str:
    return "[" + " ".join(go_quote(value) for value in values) + "]"
