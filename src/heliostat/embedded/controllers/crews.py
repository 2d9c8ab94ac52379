"""Which controllers work together, and how each is put into a host. The control plane takes all, tests take some.

A crew is a function that adds controllers to a host: their types, their effects, and what runs beside them.
"""

from collections.abc import Callable
from pathlib import Path

from heliostat.embedded.controllers.deployments.reconciler import DeploymentReconciler
from heliostat.embedded.controllers.endpoints.reconcilers import EndpointSliceReconciler, EndpointsReconciler
from heliostat.embedded.controllers.events_expiry.reconciler import EventExpiryReconciler
from heliostat.embedded.controllers.garbage.reconciler import UNCOLLECTED, GarbageCollector, OwnerSearch
from heliostat.embedded.controllers.jobs.reconciler import FinishedJobReconciler, JobReconciler, OrphanedPodReconciler
from heliostat.embedded.controllers.local_directories import LocalDirectories
from heliostat.embedded.controllers.namespaces.reconciler import EmptinessCheck, NamespaceReconciler
from heliostat.embedded.controllers.node_lifecycle.node_health import NodeHealth
from heliostat.embedded.controllers.node_lifecycle.taint_eviction import TaintEviction
from heliostat.embedded.controllers.nodes.node_agents import SimulatedNodeAgents
from heliostat.embedded.controllers.nodes.pod_agents import SimulatedPodAgents
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.pod_garbage.lost_nodes import LostPods, NodeQuarantine, NodeSearch
from heliostat.embedded.controllers.pod_garbage.reconcilers import FinishedPods, PodGarbage
from heliostat.embedded.controllers.replicasets.reconciler import ReplicaSetReconciler
from heliostat.embedded.controllers.scheduler.controller import Scheduler
from heliostat.embedded.controllers.service_accounts.reconcilers import (
    RootCertificateReconciler,
    ServiceAccountReconciler,
)
from heliostat.embedded.controllers.statefulsets.reconciler import StatefulSetReconciler
from heliostat.embedded.controllers.survey import Survey
from heliostat.embedded.controllers.views.deployments import DEPLOYMENT
from heliostat.embedded.controllers.views.endpoint_slices import ENDPOINT_SLICE
from heliostat.embedded.controllers.views.endpoints import ENDPOINTS_TYPE
from heliostat.embedded.controllers.views.events import EVENT
from heliostat.embedded.controllers.views.jobs import JOB
from heliostat.embedded.controllers.views.leases import LEASE
from heliostat.embedded.controllers.views.namespaces import NAMESPACE
from heliostat.embedded.controllers.views.nodes import NODE
from heliostat.embedded.controllers.views.pods import BINDING, POD
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET
from heliostat.embedded.controllers.views.root_certificates import CONFIG_MAP
from heliostat.embedded.controllers.views.service_accounts import SERVICE_ACCOUNT
from heliostat.embedded.controllers.views.services import SERVICE
from heliostat.embedded.controllers.views.statefulsets import STATEFUL_SET
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASS
from heliostat.embedded.controllers.views.volume_claims import CLAIM
from heliostat.embedded.controllers.views.volumes import VOLUME
from heliostat.embedded.controllers.volumes.reconcilers import (
    ClaimProtectionReconciler,
    ClaimReconciler,
    DirectoryReconciler,
    DirectoryRemovalReconciler,
    VolumeProtectionReconciler,
    VolumeReconciler,
)
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client
from heliostat.runtime.host import Host

TYPES = (
    POD, BINDING, NODE, LEASE, NAMESPACE, EVENT, CONFIG_MAP, SERVICE_ACCOUNT, SERVICE, ENDPOINTS_TYPE, ENDPOINT_SLICE,
    REPLICA_SET, DEPLOYMENT, STATEFUL_SET, JOB, CLAIM, VOLUME, STORAGE_CLASS,
)  # fmt: skip


def add_workloads(host: Host) -> None:
    """Jobs, ReplicaSets, Deployments and StatefulSets."""
    _declare(host)
    for job_controller in (JobReconciler, OrphanedPodReconciler, FinishedJobReconciler):
        host.add(job_controller(host.caches))
    for controller in (ReplicaSetReconciler, DeploymentReconciler):
        reconciler = controller(host.caches)
        host.add(reconciler, after=reconciler.after)
    host.add(StatefulSetReconciler(host.caches))


def add_endpoints(host: Host) -> None:
    _declare(host)
    host.add(EndpointSliceReconciler(host.caches))
    host.add(EndpointsReconciler(host.caches))


def add_accounts(host: Host, root_certificate: str) -> None:
    """What every namespace has: a ServiceAccount, and the certificate that the server is known by."""
    _declare(host)
    host.add(ServiceAccountReconciler(host.caches))
    if root_certificate:
        host.add(RootCertificateReconciler(host.caches, root_certificate))


def add_volumes(host: Host, root: Path | None) -> None:
    """Claims and volumes; with a root also volumes that are directories of this machine."""
    _declare(host)
    for controller in (ClaimReconciler, VolumeReconciler, ClaimProtectionReconciler, VolumeProtectionReconciler):
        host.add(controller(host.caches))
    if root is not None:
        host.effects[LocalDirectories.effect] = LocalDirectories(root).carry_out
        host.add(DirectoryReconciler(host.caches, root))
        host.add(DirectoryRemovalReconciler(host.caches, root))


def add_scheduling(host: Host) -> None:
    """The scheduler, and what happens to Pods whose node falls silent."""
    _declare(host)
    host.add(Scheduler(host.caches))
    host.add(NodeHealth(host.caches))
    host.add(TaintEviction(host.caches))


def add_pod_garbage(host: Host, client: Client) -> None:
    """Pods that nobody else would end."""
    _declare(host)
    lost = LostPods(host.caches)
    host.effects[NodeSearch.effect] = NodeSearch(client, lost).carry_out
    host.add(NodeQuarantine(host.caches, lost))
    host.add(PodGarbage(host.caches, lost))
    host.add(FinishedPods(host.caches))


def add_simulated_nodes(host: Host, simulation: Simulation) -> None:
    _declare(host)
    host.add(SimulatedNodeAgents(host.caches, simulation))
    host.add(SimulatedPodAgents(host.caches, simulation))


def add_event_expiry(host: Host) -> None:
    _declare(host)
    host.add(EventExpiryReconciler(host.caches))


def is_collected(resource: ResourceType) -> bool:
    return str(resource) not in UNCOLLECTED


def add_cleaning(
    host: Host,
    client: Client,
    on_problem: Callable[[str, Exception], None],
    is_wanted: Callable[[ResourceType], bool] = is_collected,
) -> None:
    """Garbage collection and the end of namespaces, over every resource that is served."""
    _declare(host)
    collector = GarbageCollector(host.types)
    namespaces = NamespaceReconciler(host.caches)
    host.add(collector)
    host.add(namespaces)
    host.effects[OwnerSearch.effect] = OwnerSearch(client, host.types, collector.graph).carry_out
    host.effects[EmptinessCheck.effect] = EmptinessCheck(client, namespaces).carry_out
    survey = Survey(client, host, (collector, namespaces), on_problem=on_problem, is_wanted=is_wanted)
    host.beside.append(survey.run)


def _declare(host: Host) -> None:
    for resource in TYPES:
        host.types.add(resource)
