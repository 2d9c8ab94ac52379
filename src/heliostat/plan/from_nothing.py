"""Everything the operator would create for an object if nothing existed yet: what ``heliostat render`` shows.

It decides only what is missing from an empty world; nothing is ever updated or deleted here. What the real world
must bring along is assumed to be there: a ServiceAccount that the user named, certificates that cert-manager
issues.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.cluster import build_desired
from heliostat.desired.context import build_context
from heliostat.desired.model import DesiredCluster, DesiredGroup, Impossible
from heliostat.desired.mtls import build_tls_objects
from heliostat.desired.network_policies import build_network_policies
from heliostat.desired.pods import stamp_head, stamp_worker
from heliostat.kube.plan import Random
from heliostat.plan.names import PodNames
from heliostat.plan.pod_context import names_asked_away


class FromNothing(Struct, frozen=True):
    """The objects in the order they are made, and why some are missing."""

    objects: tuple[JsonObject, ...]
    notes: tuple[str, ...] = ()


def invent_uid(namespace: str, name: str) -> str:
    """A UID for an object that was never created, always the same for the same name."""
    digest = hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def create_cluster(cluster: RayCluster, settings: Settings) -> FromNothing:
    desired = build_desired(cluster, settings)
    singletons = _singletons(desired)
    blocked = next((slot for slot in singletons if isinstance(slot, Impossible)), None)
    objects = [slot for slot in singletons if isinstance(slot, dict)]
    notes = []
    if blocked is not None:
        # KubeRay: its chain of steps stops here, so there is no claim and no Pod (R4-40).
        notes.append(f"no Pods: {blocked.message}")
    elif cluster.spec.suspend:
        notes.append("no Pods: spec.suspend is true")
    elif isinstance(desired.scheduling, Impossible):
        notes.append(f"no Pods: {desired.scheduling.message}")
    else:
        objects += [*desired.scheduling, *_pods(desired, cluster, settings)]
    objects += [*desired.network_policies, *desired.tls_objects]
    return FromNothing(tuple(objects), tuple(notes))


def create_for_refused_cluster(cluster: RayCluster, settings: Settings) -> FromNothing:
    """Network policies and certificates have controllers of their own, which do not look at the verdict (R1-6)."""
    context = build_context(cluster, settings)
    return FromNothing((*build_network_policies(context), *build_tls_objects(context)))


def _singletons(desired: DesiredCluster) -> list[JsonObject | Impossible]:
    slots = (
        desired.service_account,
        desired.role,
        desired.role_binding,
        desired.ingress,
        desired.route,
        desired.auth_secret,
        desired.head_service,
        desired.headless_service,
        desired.serve_service,
        None if isinstance(desired.serve_service, Impossible) else desired.gcs_pvc,
    )
    return [slot for slot in slots if slot is not None]


def _pods(desired: DesiredCluster, cluster: RayCluster, settings: Settings) -> Iterator[JsonObject]:
    names = PodNames(cluster, (), names_asked_away(desired))  # the first plan gives the same names
    yield stamp_head(desired, names.suffix(desired.head_name_prefix, labels.HEAD_GROUP, 0, 0))
    is_indexed = settings.gate("RayMultiHostIndexing")
    for group in desired.groups:
        if is_indexed and group.hosts > 1:
            yield from _replicas(group, names)
        else:
            yield from _single_workers(group, names, is_indexed=is_indexed)


def _single_workers(group: DesiredGroup, names: PodNames, *, is_indexed: bool) -> Iterator[JsonObject]:
    for index in range(group.pods):
        suffix = names.suffix(group.name_prefix, group.name, index, index)
        yield stamp_worker(group, suffix, index if is_indexed else None)


def _replicas(group: DesiredGroup, names: PodNames) -> Iterator[JsonObject]:
    for index in range(group.replicas):
        replica_name = f"{group.name}-{names.suffix(f'{group.name}-', group.name, index, -1)}"
        for host in range(group.hosts):
            suffix = names.suffix(group.name_prefix, group.name, index, host)
            yield stamp_worker(group, suffix, index, host, replica_name)


def describe_random(tree: Any) -> Any:
    """The tree with a sentence in place of each secret that is drawn only at creation."""
    if isinstance(tree, Random):
        return f"<{tree.bytes} random bytes in base64, drawn at creation>"
    if isinstance(tree, dict):
        return {key: describe_random(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [describe_random(value) for value in tree]
    return tree
