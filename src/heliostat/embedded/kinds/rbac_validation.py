"""Roles and bindings: rules say what they allow, and a binding keeps the role it was made for."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import each_invalid, inner, invalid, not_supported, required
from heliostat.embedded.kinds.rules.label_rules import selector_causes
from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems
from heliostat.embedded.kinds.rules.text_rules import path_segment_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_GROUP = "rbac.authorization.k8s.io"


def role_causes(tree: JsonObject) -> Iterator[Cause]:
    for index, rule in enumerate(tree.get("rules") or ()):
        yield from _rule_causes(rule, f"rules[{index}]", is_namespaced=True)


def cluster_role_causes(tree: JsonObject) -> Iterator[Cause]:
    for index, rule in enumerate(tree.get("rules") or ()):
        yield from _rule_causes(rule, f"rules[{index}]", is_namespaced=False)
    aggregation = tree.get("aggregationRule")
    if aggregation is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors):
        yield from selector_causes(selector, f"{path}[{index}]")


def _rule_causes(rule: JsonObject, path: str, *, is_namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    paths = rule.get("nonResourceURLs") or []
    if paths:
        at = f"{path}.nonResourceURLs"
        if is_namespaced:
            yield invalid(at, paths, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            yield invalid(at, paths, "rules cannot apply to both regular resources and non-resource URLs")
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def role_binding_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _binding_causes(tree, ("Role", "ClusterRole"), is_namespaced=True)


def cluster_role_binding_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _binding_causes(tree, ("ClusterRole",), is_namespaced=False)


def _binding_causes(tree: JsonObject, kinds: tuple[str, ...], *, is_namespaced: bool) -> Iterator[Cause]:
    reference = tree.get("roleRef") or {}
    if reference.get("apiGroup") != _GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (_GROUP,))
    if reference.get("kind") not in kinds:
        yield not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name", "")
    if not name:
        yield required("roleRef.name")
    else:
        yield from each_invalid("roleRef.name", name, path_segment_problems(name))
    for index, subject in enumerate(tree.get("subjects") or ()):
        yield from _subject_causes(subject, f"subjects[{index}]", is_namespaced=is_namespaced)


def _subject_causes(subject: JsonObject, path: str, *, is_namespaced: bool) -> Iterator[Cause]:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from each_invalid(f"{path}.name", name, dns1123_subdomain_problems(name))
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != _GROUP:
            yield not_supported(f"{path}.apiGroup", group, (_GROUP,))
    else:
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def same_role_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    reference = tree.get("roleRef") or {}
    if reference != (old.get("roleRef") or {}):
        shown = inner(
            APIGroup=reference.get("apiGroup", ""), Kind=reference.get("kind", ""), Name=reference.get("name", "")
        )
        yield invalid("roleRef", shown, "cannot change roleRef")
