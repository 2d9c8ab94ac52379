"""What an explanation is made from: the objects around one, the events about them, and whether an operator works.

What cannot be read is unknown, with the reason, and never taken for missing.
"""

from pathlib import Path

from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster
from heliostat.desired import labels
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.timestamps import TimestampError, parse_timestamp
from heliostat.local.state import State
from heliostat.operator.configuration import LEASE_NAME
from heliostat.operator.kinds import POD, RAY_CLUSTER, kinds_around
from heliostat.plan.explain_cluster import Presence, Scene
from heliostat.runtime.errors import RefusedError

EVENT = ResourceType("v1", "Event", "events")
LEASE = ResourceType("coordination.k8s.io/v1", "Lease", "leases")
OWNERS = (
    POD,
    ResourceType("apps/v1", "ReplicaSet", "replicasets"),
    ResourceType("batch/v1", "Job", "jobs"),
    RAY_CLUSTER,
)
_STALE_SECONDS = 60.0  # clocks differ, and a lease changes hands


async def fetch_scene(cluster: Cluster, tree: JsonObject, settings: Settings, now: float) -> Scene:
    """``now``: epoch seconds."""
    namespace, name = tree["metadata"]["namespace"], tree["metadata"]["name"]
    objects: list[JsonObject] = []
    unread: dict[str, str] = {}
    try:
        objects += await cluster.fetch_list(POD, namespace, label_selector=f"{labels.CLUSTER}={name}")
    except RefusedError as error:
        unread["Pod"] = str(error)
    for kind, cached in kinds_around(settings).items():
        try:
            objects += await cluster.fetch_list(
                cached.resource,
                namespace,
                label_selector=cached.label_selector,
                metadata_only=cached.metadata_only,
            )
        except RefusedError as error:
            unread[kind] = str(error)
    return Scene(
        cluster=tree,
        objects=tuple(objects),
        unread=unread,
        events=await fetch_events(cluster, namespace),
        operator=await find_operator(cluster, now),
        now=now,
    )


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
