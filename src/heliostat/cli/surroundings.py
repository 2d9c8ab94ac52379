"""What a plan is made against: the live cluster, objects in files, or nothing.

A file tells only of the kinds that it holds: kubectl leaves no word of a kind that it was asked for and found none of,
so the others are unknown. Of the live cluster unknown is what it refuses to show.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from heliostat.api.kinds import RAY_CLUSTER_NAME, RAY_JOB_NAME
from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster
from heliostat.desired import labels
from heliostat.kube.documents import Document
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.lookups import KindName, kind_name
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.titles import name_in, text_in_metadata
from heliostat.operator.kinds import (
    POD,
    RAY_CLUSTER,
    RAY_CRON_JOB,
    RAY_JOB,
    RAY_SERVICE,
    kinds_around,
    kinds_around_services,
)
from heliostat.plan.kind import Surroundings
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.errors import NotFoundError, RefusedError

NODE = ResourceType("v1", "Node", "nodes", is_namespaced=False)
_BUILT_IN = ("", "batch", "networking.k8s.io", "rbac.authorization.k8s.io")


def resources_around(settings: Settings) -> dict[KindName, ResourceType]:
    """Every kind that a plan of a RayCluster may ask about."""
    around = {kind: cached.resource for kind, cached in kinds_around(settings).items()}
    return {RAY_CLUSTER_NAME: RAY_CLUSTER, POD.kind: POD, **around}


async def fetch_surroundings(cluster: Cluster, document: Document, settings: Settings) -> Surroundings:
    """The object itself if it is there, its Pods, and whatever else of its namespace counts."""
    namespace, name = text_in_metadata(document.tree, "namespace") or cluster.namespace, name_in(document.tree)
    found: list[JsonObject] = []
    if document.tree.get("kind") == RAY_JOB.kind:
        found = await _fetch_one(cluster, RAY_JOB, namespace, name)
        name = cluster_of_job(found[0]) if found else ""
    if document.tree.get("kind") == RAY_SERVICE.kind:
        found = await _fetch_one(cluster, RAY_SERVICE, namespace, name)
        found += await fetch_clusters_of_service(cluster, namespace, name)
        found += await fetch_room(cluster)
        name = ""
    if document.tree.get("kind") == RAY_CRON_JOB.kind:
        found = await _fetch_one(cluster, RAY_CRON_JOB, namespace, name)
        there = await fetch_around_cron(cluster, namespace)
        return Surroundings(objects=(*found, *there.objects), unread=there.unread)
    there = await fetch_neighbours(cluster, namespace, name, kinds_of(document.tree, settings))
    found += await _fetch_one(cluster, RAY_CLUSTER, namespace, name) if name else []
    return Surroundings(objects=(*found, *there.objects), unread=there.unread)


async def fetch_room(cluster: Cluster) -> list[JsonObject]:
    """Nodes and every Pod on them; none when they may not be read: a second cluster then finds out by itself."""
    try:
        return [*await cluster.fetch_list(NODE), *await cluster.fetch_list(POD)]
    except RefusedError:
        return []


def kinds_of(tree: JsonObject, settings: Settings) -> dict[KindName, CachedKind[Any]]:
    """What may count for the object of this document."""
    of_services = kinds_around_services(settings) if tree.get("kind") == RAY_SERVICE.kind else {}
    return kinds_around(settings) | of_services


async def fetch_around_cron(cluster: Cluster, namespace: str) -> Surroundings:
    try:
        jobs = await cluster.fetch_list(RAY_JOB, namespace)
    except RefusedError as error:
        return Surroundings(unread={RAY_JOB_NAME: str(error)})
    return Surroundings(
        objects=tuple(each | {"apiVersion": RAY_JOB.api_version, "kind": RAY_JOB.kind} for each in jobs)
    )


def cluster_of_job(job: JsonObject) -> str:
    """The name of the RayCluster that a RayJob has by now; empty without one."""
    return str((job.get("status") or {}).get("rayClusterName") or "")


def cluster_of_service(service: JsonObject) -> str:
    """The name of the RayCluster that gets ready, or else of the one that serves; empty without one."""
    status = service.get("status") or {}
    names = [(status.get(slot) or {}).get("rayClusterName") for slot in ("pendingServiceStatus", "activeServiceStatus")]
    return str(names[0] or names[1] or "")


async def fetch_clusters_of_service(cluster: Cluster, namespace: str, name: str) -> list[JsonObject]:
    selector = f"{labels.ORIGIN_NAME}={name},{labels.ORIGIN_KIND}={RAY_SERVICE.kind}"
    return await fetch_clusters(cluster, namespace, selector)


async def fetch_clusters(cluster: Cluster, namespace: str, label_selector: str = "") -> list[JsonObject]:
    listed = await cluster.fetch_list(RAY_CLUSTER, namespace, label_selector=label_selector)
    return [each | {"apiVersion": RAY_CLUSTER.api_version, "kind": RAY_CLUSTER.kind} for each in listed]


async def _fetch_one(cluster: Cluster, resource: ResourceType, namespace: str, name: str) -> list[JsonObject]:
    """None or one."""
    try:
        return [msgspec.json.decode(await cluster.client.get(resource, namespace, name))]
    except NotFoundError:
        return []


async def fetch_neighbours(
    cluster: Cluster, namespace: str, name: str, kinds: Mapping[KindName, CachedKind[Any]]
) -> Surroundings:
    """What lies around the RayCluster of this name, and the kinds that were refused, with the reason."""
    objects: list[JsonObject] = []
    refused: dict[KindName, str] = {}
    try:
        objects += await cluster.fetch_list(POD, namespace, label_selector=f"{labels.CLUSTER}={name}")
    except RefusedError as error:
        refused[POD.kind] = str(error)
    for kind, cached in kinds.items():
        try:
            objects += await cluster.fetch_list(
                cached.resource,
                namespace,
                label_selector=cached.label_selector,
                metadata_only=cached.metadata_only,
            )
        except RefusedError as error:
            refused[kind] = str(error)
    return Surroundings(objects=tuple(objects), unread=refused)


def take_from_files(documents: Iterable[Document], settings: Settings, *, is_complete: bool) -> Surroundings:
    """``is_complete``: what is not in them is not there."""
    objects = tuple(document.tree for document in documents)
    given = {kind_name(str(tree.get("apiVersion")), str(tree.get("kind"))) for tree in objects}
    kinds = () if is_complete else resources_around(settings)
    missing = {kind: f"--against holds no {kind.partition('.')[0]}" for kind in kinds if kind not in given}
    return Surroundings(objects=objects, unread=missing)


def tell_how_to_read(missing: Mapping[KindName, str], settings: Settings, namespace: str) -> str:
    """The kubectl line for all of them."""
    resources = resources_around(settings)
    words = ",".join(_word(resources[kind]) for kind in missing)
    return f"kubectl get {words} -n {namespace} -o yaml"


def _word(resource: ResourceType) -> str:
    return resource.plural if resource.group in _BUILT_IN else str(resource)


def list_kinds(kinds: Sequence[KindName]) -> str:
    return ", ".join(kind.partition(".")[0] for kind in kinds)
