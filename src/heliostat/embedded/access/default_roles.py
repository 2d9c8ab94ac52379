"""The ClusterRoles and ClusterRoleBindings a cluster begins with.

Rules: names, rights and labels are those of Kubernetes 1.34, so that people, tools and charts find what they expect;
``admin``, ``edit`` and ``view`` are collected by label, so a CRD's own roles can join them. Roles of components that
do not exist here (kubelet, controller manager, cloud parts) are left out: our controllers need no rights of their own.
At every start what is missing is added; what an administrator took away on purpose is marked and stays away.
"""

from collections.abc import Iterable, Mapping

from heliostat.embedded.access.aggregation import is_aggregated, plan_aggregation
from heliostat.embedded.access.default_role_table import BINDINGS, COLLECTED, ROLES, Row
from heliostat.embedded.access.policy_rules import read_rules
from heliostat.embedded.access.rule_coverage import find_missing
from heliostat.kube.jsontree import JsonObject, copy_tree

GROUP = "rbac.authorization.k8s.io"
_KEEP = "rbac.authorization.kubernetes.io/autoupdate"  # "false": leave this object as it is
_AGGREGATE = f"{GROUP}/aggregate-to-"


def build_default_objects() -> list[JsonObject]:
    """Every default object as a fresh cluster has it, with the collected rules filled in."""
    roles = {name: _build_role(name, rows) for name, rows in ROLES.items()}
    roles |= {name: _build_collected(name, into) for name, into in COLLECTED.items()}
    for name, rules in plan_aggregation(roles).items():
        roles[name]["rules"] = rules
    bindings = [_build_binding(name, subjects) for name, subjects in BINDINGS.items()]
    return [*(roles[name] for name in sorted(roles)), *bindings]


def plan_defaults(existing: Mapping[tuple[str, str], JsonObject]) -> list[JsonObject]:
    """The objects to write so that nothing of the defaults is missing. ``existing``: by kind and name."""
    changes = []
    for default in build_default_objects():
        present = existing.get((default["kind"], default["metadata"]["name"]))
        if present is None:
            changes.append(default)
        elif (extended := _extend(present, default)) is not None:
            changes.append(extended)
    return changes


def _extend(present: JsonObject, default: JsonObject) -> JsonObject | None:
    """The present object with what it lacks of the default; None when it lacks nothing or wants to be left alone."""
    if (present["metadata"].get("annotations") or {}).get(_KEEP) == "false" or is_aggregated(default):
        return None
    field = "rules" if default["kind"] == "ClusterRole" else "subjects"
    own = present.get(field) or []
    lacking = [entry for entry in default[field] if _is_lacking(field, entry, own)]
    return {**copy_tree(present), field: [*copy_tree(own), *lacking]} if lacking else None


def _is_lacking(field: str, entry: JsonObject, own: list[JsonObject]) -> bool:
    if field == "rules":
        return bool(find_missing(read_rules(own), read_rules([entry])))
    return all((entry["kind"], entry["name"]) != (subject.get("kind"), subject.get("name")) for subject in own)


def _build_role(name: str, rows: Iterable[Row]) -> JsonObject:
    prefix, _, target = name.partition("aggregate-to-")
    labels = {f"{_AGGREGATE}{target}": "true"} if prefix == "system:" and target else {}
    return {**_head("ClusterRole", name, labels), "rules": [_build_rule(row) for row in rows]}


def _build_collected(name: str, into: str) -> JsonObject:
    labels = {f"{_AGGREGATE}{into}": "true"} if into else {}
    selectors = [{"matchLabels": {f"{_AGGREGATE}{name}": "true"}}]
    return {
        **_head("ClusterRole", name, labels),
        "aggregationRule": {"clusterRoleSelectors": selectors},
        "rules": [],
    }


def _build_binding(name: str, subjects: Iterable[tuple[str, str]]) -> JsonObject:
    return {
        **_head("ClusterRoleBinding", name, {}),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": kind, "name": subject} for kind, subject in subjects],
    }


def _head(kind: str, name: str, labels: dict[str, str]) -> JsonObject:
    metadata = {
        "name": name,
        "annotations": {_KEEP: "true"},
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
    }
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}


def _build_rule(row: Row) -> JsonObject:
    if len(row) == 2:
        return {"verbs": row[0].split(), "nonResourceURLs": row[1].split()}
    rule: JsonObject = {"verbs": row[0].split(), "apiGroups": row[1].split(","), "resources": row[2].split()}
    if len(row) == 4:
        rule["resourceNames"] = row[3].split()
    return rule
