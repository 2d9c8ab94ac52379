"""What an explanation is made from: the objects around one, the events about them, and whether an operator works.

What cannot be read is unknown, with the reason, and never taken for missing.
"""

from pathlib import Path

from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.surroundings import (
    cluster_of_job,
    cluster_of_service,
    fetch_around_cron,
    fetch_clusters,
    fetch_clusters_of_service,
    fetch_neighbours,
    kinds_of,
)
from heliostat.desired import labels
from heliostat.explain.scene import OperatorPresence, Scene
from heliostat.kube.conditions import is_condition_true
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.timestamps import TimestampError, parse_timestamp
from heliostat.local.service_applications import ask_serve
from heliostat.local.session import Session
from heliostat.local.state import State
from heliostat.operator.configuration import LEASE_NAME
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_CRON_JOB, RAY_JOB, RAY_SERVICE
from heliostat.plan.rayservice.answers import ServeInfo
from heliostat.runtime.errors import ApiError, RefusedError

EVENT = ResourceType("v1", "Event", "events")
LEASE = ResourceType("coordination.k8s.io/v1", "Lease", "leases")
OWNERS = (
    POD,
    ResourceType("apps/v1", "ReplicaSet", "replicasets"),
    ResourceType("batch/v1", "Job", "jobs"),
    RAY_CLUSTER,
)
_SERVE_SECONDS = 5.0
_STALE_SECONDS = 60.0  # clocks differ, and a lease changes hands


async def fetch_scene(cluster: Cluster, tree: JsonObject, settings: Settings, now: float) -> Scene:
    """Of a ray.io object, with the RayCluster that it waits for. ``now``: epoch seconds."""
    namespace, name, children = tree["metadata"]["namespace"], tree["metadata"]["name"], list[JsonObject]()
    if tree["kind"] == RAY_JOB.kind:
        name = cluster_of_job(tree)
        children = [each for each in await fetch_clusters(cluster, namespace) if each["metadata"]["name"] == name]
        children += await _fetch_submitters(cluster, namespace, tree["metadata"]["name"])
    if tree["kind"] == RAY_SERVICE.kind:
        children = await fetch_clusters_of_service(cluster, namespace, name)
        name = cluster_of_service(tree)
    there = await fetch_around_cron(cluster, namespace) if tree["kind"] == RAY_CRON_JOB.kind else None
    there = there or await fetch_neighbours(cluster, namespace, name, kinds_of(tree, settings))
    child = next((each for each in children if each["metadata"]["name"] == name), {})
    told = await _ask_serve(cluster, child) if tree["kind"] == RAY_SERVICE.kind else None
    return Scene(
        tree=tree,
        cluster=child,
        objects=(*children, *there.objects),
        unread=there.unread,
        events=await fetch_events(cluster, namespace),
        operator=await find_operator(cluster, now),
        silence=told if isinstance(told, str) else "",
        serve=told if isinstance(told, ServeInfo) else None,
        now=now,
    )


async def _fetch_submitters(cluster: Cluster, namespace: str, job: str) -> list[JsonObject]:
    """The Pods that submit a RayJob; they carry no label of its cluster."""
    origin = f"{labels.ORIGIN_NAME}={job},{labels.ORIGIN_KIND}={RAY_JOB.kind}"
    try:
        found = await cluster.fetch_list(POD, namespace, label_selector=origin)
    except RefusedError:
        return []
    return [each | {"apiVersion": POD.api_version, "kind": POD.kind} for each in found]


async def _ask_serve(cluster: Cluster, ray_cluster: JsonObject) -> ServeInfo | str | None:
    """What Serve says on a cluster whose head is there, or why it does not answer; None: there is nobody to ask."""
    if not is_condition_true((ray_cluster.get("status") or {}).get("conditions"), "HeadPodReady"):
        return None
    try:
        return await ask_serve(Session(cluster.transport, cluster.client), ray_cluster, _SERVE_SECONDS)
    except ApiError as error:
        return str(error)


async def fetch_events(cluster: Cluster, namespace: str) -> tuple[JsonObject, ...]:
    """Warnings alone; none when they may not be read: they only help to understand."""
    try:
        return tuple(await cluster.fetch_list(EVENT, namespace, field_selector="type=Warning"))
    except RefusedError:
        return ()


async def fetch_around(cluster: Cluster, namespace: str) -> list[JsonObject]:
    """What may belong to some object of the namespace."""
    found: list[JsonObject] = []
    for resource in OWNERS if namespace else ():
        try:
            found += await cluster.fetch_list(resource, namespace)
        except RefusedError:
            continue
    return found


async def find_operator(cluster: Cluster, now: float) -> OperatorPresence:
    """Here by what its supervisor says; elsewhere by its lease, in whichever namespace that is."""
    if cluster.local is not None:
        return find_local_operator(cluster.local)
    try:
        leases = await cluster.fetch_list(LEASE, field_selector=f"metadata.name={LEASE_NAME}")
    except RefusedError:
        return OperatorPresence.UNKNOWN
    return OperatorPresence.RUNNING if any(is_held(lease, now) for lease in leases) else OperatorPresence.ABSENT


def find_local_operator(state: State) -> OperatorPresence:
    status = state.read_status()
    if status is None:
        return OperatorPresence.UNKNOWN
    pids = [child.pid for child in status.children if child.name == "operator"]
    return OperatorPresence.RUNNING if any(map(_is_alive, pids)) else OperatorPresence.ABSENT


def _is_alive(pid: int) -> bool:
    return pid > 0 and Path(f"/proc/{pid}").exists()


def is_held(lease: JsonObject, now: float) -> bool:
    spec = lease.get("spec") or {}
    try:
        renewed = parse_timestamp(str(spec.get("renewTime") or ""))
    except TimestampError:
        return False
    patience = max(_STALE_SECONDS, 2 * float(spec.get("leaseDurationSeconds") or 0))
    return bool(spec.get("holderIdentity")) and now - renewed < patience
