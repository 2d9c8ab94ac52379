"""Roles, bindings and users as tests write them."""

from typing import Any

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.users import User
from heliostat.kube.jsontree import JsonObject

GROUP = "rbac.authorization.k8s.io"
VERSION = f"{GROUP}/v1"


def rule(verbs: str, groups: str, resources: str, names: str = "") -> JsonObject:
    """Blank-separated verbs, resources and names; groups separated by commas."""
    tree: JsonObject = {"verbs": verbs.split(), "apiGroups": groups.split(","), "resources": resources.split()}
    return {**tree, "resourceNames": names.split()} if names else tree


def path_rule(verbs: str, paths: str) -> JsonObject:
    return {"verbs": verbs.split(), "nonResourceURLs": paths.split()}


def cluster_role(name: str, *rules: JsonObject, **more: Any) -> JsonObject:
    labels = more.pop("labels", {})
    return {
        "apiVersion": VERSION,
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": list(rules),
        **more,
    }


def role(namespace: str, name: str, *rules: JsonObject) -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": VERSION, "kind": "Role", "metadata": metadata, "rules": list(rules)}


def cluster_binding(name: str, to: str, *subjects: JsonObject) -> JsonObject:
    return {
        "apiVersion": VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": to},
        "subjects": list(subjects),
    }


def binding(namespace: str, name: str, to: str, *subjects: JsonObject) -> JsonObject:
    """``to`` is a role as ``Role/name`` or ``ClusterRole/name``."""
    kind, _, target = to.partition("/")
    return {
        "apiVersion": VERSION,
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": target},
        "subjects": list(subjects),
    }


def user_subject(name: str) -> JsonObject:
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def group_subject(name: str) -> JsonObject:
    return {"apiGroup": GROUP, "kind": "Group", "name": name}


def account_subject(name: str, namespace: str = "") -> JsonObject:
    tree = {"kind": "ServiceAccount", "name": name}
    return {**tree, "namespace": namespace} if namespace else tree


def user(name: str, *groups: str) -> User:
    return User(name, groups=groups)


def wants(text: str, name: str = "") -> Attributes:
    """``get pods/log in team``, ``list deployments.apps``, ``get /version``."""
    words = text.split()
    verb, what = words[0], words[1]
    if what.startswith("/"):
        return Attributes(verb, path=what)
    resource, _, group = what.partition(".")
    resource, _, subresource = resource.partition("/")
    namespace = words[3] if len(words) > 2 else ""
    return Attributes(verb, group, resource, subresource, namespace, name)
