"""By what KubeRay would find again what our operator made, if it took over: owners, labels, stamps (raycluster.md).

A head's stamp names us and not KubeRay: with another version than its own KubeRay stamps anew and restarts nothing
(operator.md §17).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from heliostat.api.settings import Settings

Tree = dict[str, Any]

VERSION, HASH = "ray.io/kuberay-version", "ray.io/upgrade-strategy-recreate-hash"
# Which label keys a lookup names; users cannot override these.
LOOKED_UP = {
    "head": ("ray.io/cluster", "ray.io/node-type", "ray.io/group", "ray.io/identifier", "ray.io/is-ray-node"),
    "worker": (
        "ray.io/cluster", "ray.io/node-type", "ray.io/group", "ray.io/identifier", "ray.io/is-ray-node",
        "ray.io/worker-group-replica-index",
    ),
}  # fmt: skip
OWNED_PLAINLY = ("scheduling.x-k8s.io/v1alpha1",)  # KubeRay does not say there that it is the controller
LABELLED_WITH_CLUSTER = ("Service", "Ingress", "NetworkPolicy", "Role", "RoleBinding", "ServiceAccount", "Pod")


def list_unrecognisable(clusters: Iterable[Tree], made: Iterable[Tree]) -> list[str]:
    """``made`` as the server keeps it."""
    uids = {cluster["metadata"]["name"]: cluster["metadata"]["uid"] for cluster in clusters}
    return [f"{tree['kind']} {tree['metadata']['name']}: {lack}" for tree in made for lack in _lacks(tree, uids)]


def _lacks(tree: Tree, uids: dict[str, str]) -> Iterator[str]:
    metadata = tree["metadata"]
    (owner,) = metadata["ownerReferences"]
    wanted: Tree = {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
    if tree["apiVersion"] not in OWNED_PLAINLY:
        wanted |= {"controller": True, "blockOwnerDeletion": True}
    if owner != wanted | {"name": owner["name"], "uid": uids.get(owner["name"])}:
        yield f"the owner is {owner}"
    found = metadata.get("labels") or {}
    if tree["kind"] in LABELLED_WITH_CLUSTER and owner["name"] not in _cluster_labels(found):
        yield f"no label names the cluster: {found}"
    if tree["kind"] == "Pod":
        yield from _pod_lacks(found, metadata.get("annotations") or {})


def _cluster_labels(found: dict[str, str]) -> list[str]:
    return [found.get("ray.io/cluster", ""), found.get("ray.io/headless-worker-svc", "")]


def _pod_lacks(found: dict[str, str], annotations: dict[str, str]) -> Iterator[str]:
    node = found.get("ray.io/node-type", "")
    yield from (f"label {key} is missing" for key in LOOKED_UP.get(node, ("ray.io/node-type",)) if not found.get(key))
    if node == "head":
        if annotations.get(VERSION) != Settings().operator_version:
            yield f"the version is {annotations.get(VERSION)!r}"
        if not annotations.get(HASH):
            yield "the hash is missing"


def is_kuberays(version: str) -> bool:
    """Its releases are called by their number alone, builds of the day ``nightly``."""
    return version == "nightly" or version.lstrip("v")[:1].isdigit()
