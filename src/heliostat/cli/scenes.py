"""What an explanation is made from: the objects around one, the events about them, and whether an operator works.

What cannot be read is unknown, with the reason, and never taken for missing.
"""

from pathlib import Path

from msgspec.structs import replace

from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.surroundings import (
    cluster_of_job,
    cluster_of_service,
    fetch_clusters_of_service,
    fetch_neighbours,
)
from heliostat.explain.raycluster.cluster import Presence, Scene
from heliostat.explain.rayjob.job import JobScene
from heliostat.explain.rayservice.service import ServiceScene
from heliostat.kube.conditions import is_condition_true
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.timestamps import TimestampError, parse_timestamp
from heliostat.local.cluster_token import fetch_token
from heliostat.local.service_dashboard import ServiceDashboard
from heliostat.local.session import Session
from heliostat.local.state import State
from heliostat.operator.configuration import LEASE_NAME
from heliostat.operator.kinds import POD, RAY_CLUSTER
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
    """``now``: epoch seconds."""
    namespace, name = tree["metadata"]["namespace"], tree["metadata"]["name"]
    objects, unread = await fetch_neighbours(cluster, namespace, name, settings)
    return Scene(
        cluster=tree,
        objects=tuple(objects),
        unread=unread,
        events=await fetch_events(cluster, namespace),
        operator=await find_operator(cluster, now),
        now=now,
    )


async def fetch_job_scene(cluster: Cluster, tree: JsonObject, settings: Settings, now: float) -> JobScene:
    """The RayJob with the scene of its cluster, as far as it has one."""
    namespace, name = tree["metadata"]["namespace"], cluster_of_job(tree)
    own = [each for each in await cluster.fetch_list(RAY_CLUSTER, namespace) if each["metadata"]["name"] == name]
    if own:
        named = own[0] | {"apiVersion": RAY_CLUSTER.api_version, "kind": RAY_CLUSTER.kind}
        scene = await fetch_scene(cluster, named, settings, now)
        return JobScene(tree, replace(scene, objects=(*scene.objects, named)))
    objects, unread = await fetch_neighbours(cluster, namespace, name, settings)
    return JobScene(tree, Scene(cluster={}, objects=tuple(objects), unread=unread, now=now))


async def fetch_service_scene(cluster: Cluster, tree: JsonObject, settings: Settings, now: float) -> ServiceScene:
    """The RayService with its clusters, and the scene of the one that gets ready, or else of the active one."""
    namespace, name = tree["metadata"]["namespace"], cluster_of_service(tree)
    clusters = await fetch_clusters_of_service(cluster, namespace, tree["metadata"]["name"])
    objects, unread = await fetch_neighbours(cluster, namespace, name, settings)
    meant = next((each for each in clusters if each["metadata"]["name"] == name), {})
    return ServiceScene(
        tree,
        Scene(
            cluster=meant,
            objects=(*clusters, *objects),
            unread=unread,
            events=await fetch_events(cluster, namespace),
            operator=await find_operator(cluster, now),
            now=now,
        ),
        await _find_silence(cluster, meant),
    )


async def _find_silence(cluster: Cluster, ray_cluster: JsonObject) -> str:
    """Why Serve does not answer on a cluster whose head is there; empty: it answers, or there is nobody to ask."""
    status = ray_cluster.get("status") or {}
    service = (status.get("head") or {}).get("serviceName")
    if not service or not is_condition_true(status.get("conditions"), "HeadPodReady"):
        return ""
    token = await fetch_token(Session(cluster.transport, cluster.client), ray_cluster)
    namespace = ray_cluster["metadata"]["namespace"]
    try:
        await ServiceDashboard(cluster.transport, namespace, service, token, _SERVE_SECONDS).fetch_applications()
    except ApiError as error:
        return str(error)
    return ""


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


async def find_operator(cluster: Cluster, now: float) -> Presence:
    """Here by what its supervisor says; elsewhere by its lease, in whichever namespace that is."""
    if cluster.local is not None:
        return find_local_operator(cluster.local)
    try:
        leases = await cluster.fetch_list(LEASE, field_selector=f"metadata.name={LEASE_NAME}")
    except RefusedError:
        return Presence.UNKNOWN
    return Presence.RUNNING if any(is_held(lease, now) for lease in leases) else Presence.ABSENT


def find_local_operator(state: State) -> Presence:
    status = state.read_status()
    if status is None:
        return Presence.UNKNOWN
    pids = [child.pid for child in status.children if child.name == "operator"]
    return Presence.RUNNING if any(map(_is_alive, pids)) else Presence.ABSENT


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
