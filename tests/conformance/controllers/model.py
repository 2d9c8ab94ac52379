"""Scenarios for controllers: what is done to a cluster step by step, when to go on, and where to look.

A scenario lives in a namespace of its own, named after it; ``{ns}`` in any text stands for that name. Everything is
data, so a scenario has a digest and a recording knows whether it is of the scenario as it is now. Pods are moved by the
scenario itself, through their status, so that no node is needed.
"""

from typing import Any, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any


class Pick(Struct, frozen=True, kw_only=True):
    """Objects of a kind, in the order in which they were seen first."""

    kind: str = "Pod"
    name: str = ""
    labels: dict[str, str] = {}
    where: dict[str, Json] = {}  # dotted path → value; null: absent; "*": anything but absent
    at_most: int = 0  # 0: all of them


class Create(Struct, frozen=True, tag=True):
    object: Json


class Change(Struct, frozen=True, tag=True):
    """A merge patch on each of the picked objects."""

    pick: Pick
    changes: Json
    subresource: str = ""


class Remove(Struct, frozen=True, tag=True):
    pick: Pick
    propagation: str = ""
    grace_seconds: int | None = None


class Until(Struct, frozen=True, tag=True):
    """So many of the picked objects are there; 0: none is left."""

    pick: Pick
    count: int = 1
    seconds: float = 60.0


class Look(Struct, frozen=True, tag=True):
    """Once nothing has changed for a while, everything that is there is compared."""

    name: str
    quiet_seconds: float = 2.0


Step: TypeAlias = Create | Change | Remove | Until | Look


class Scenario(Struct, frozen=True, kw_only=True):
    name: str
    steps: tuple[Step, ...]
    shows: tuple[str, ...] = ()  # kinds that are compared; empty: those that workloads are made of
    is_alone: bool = False  # it needs the cluster's nodes for itself
    keeps_furniture: bool = False  # compares what every namespace gets, too


class Kind(Struct, frozen=True):
    api_version: str
    plural: str
    is_namespaced: bool = True

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        root = "/apis" if "/" in self.api_version else "/api"
        inside = f"/namespaces/{namespace}" if self.is_namespaced else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}/{self.api_version}{inside}/{self.plural}{tail}"


KINDS = {
    "Namespace": Kind("v1", "namespaces", is_namespaced=False),
    "Node": Kind("v1", "nodes", is_namespaced=False),
    "PersistentVolume": Kind("v1", "persistentvolumes", is_namespaced=False),
    "StorageClass": Kind("storage.k8s.io/v1", "storageclasses", is_namespaced=False),
    "PriorityClass": Kind("scheduling.k8s.io/v1", "priorityclasses", is_namespaced=False),
    "Pod": Kind("v1", "pods"),
    "Service": Kind("v1", "services"),
    "Endpoints": Kind("v1", "endpoints"),
    "EndpointSlice": Kind("discovery.k8s.io/v1", "endpointslices"),
    "ConfigMap": Kind("v1", "configmaps"),
    "Secret": Kind("v1", "secrets"),
    "ServiceAccount": Kind("v1", "serviceaccounts"),
    "ResourceQuota": Kind("v1", "resourcequotas"),
    "PersistentVolumeClaim": Kind("v1", "persistentvolumeclaims"),
    "Job": Kind("batch/v1", "jobs"),
    "Deployment": Kind("apps/v1", "deployments"),
    "ReplicaSet": Kind("apps/v1", "replicasets"),
    "Event": Kind("events.k8s.io/v1", "events"),
}
SHOWN_BY_DEFAULT = (
    "ConfigMap",
    "Deployment",
    "Job",
    "PersistentVolumeClaim",
    "Pod",
    "ReplicaSet",
    "Service",
    "ServiceAccount",
)


def fill(tree: Json, mark: str, text: str) -> Json:
    """With the text in the mark's place, everywhere."""
    if isinstance(tree, str):
        return tree.replace(mark, text)
    if isinstance(tree, dict):
        return {fill(key, mark, text): fill(value, mark, text) for key, value in tree.items()}
    return [fill(item, mark, text) for item in tree] if isinstance(tree, list | tuple) else tree


def value_at(tree: Json, path: str) -> Json:
    """None: absent. Lists are entered by the ``type`` or ``name`` of items, or by number; ``~`` stands for a dot."""
    for part in path.split("."):
        part = part.replace("~", ".")
        if isinstance(tree, list):
            tree = _item(tree, part)
        elif isinstance(tree, dict):
            tree = tree.get(part)
        else:
            return None
    return tree


def _item(items: list[Json], part: str) -> Json:
    if part.isdecimal():
        return items[int(part)] if int(part) < len(items) else None
    named = (item for item in items if isinstance(item, dict) and part in (item.get("type"), item.get("name")))
    return next(named, None)
