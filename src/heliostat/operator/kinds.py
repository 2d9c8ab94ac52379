"""What the operator reads: every kind around a RayCluster, where it lives in the API, and what is kept of it.

Pods and Jobs are selected by label, as KubeRay does, because there may be many that are nobody's business here. Of
Secrets, accounts and roles only the metadata is asked for: that they are there is all that counts, and what a Secret
holds stays with the server. A kind that only a gate or a scheduler needs is watched only then.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.kube.objects import Object
from heliostat.kube.pods import PodSpec, PodStatus
from heliostat.kube.resource_types import ResourceType
from heliostat.plan import observed
from heliostat.plan.observed import KindName
from heliostat.runtime.cache import CachedKind

_EMPTY = msgspec.Raw(b"{}")


class WholeObject(Object, frozen=True, gc=False):
    """Spec and status stay the bytes they came as, and are read when somebody asks."""

    spec: msgspec.Raw = _EMPTY
    status: msgspec.Raw = _EMPTY

    def __post_init__(self) -> None:
        # A part of the bytes would keep the whole page of the list alive that it came with.
        force_setattr(self, "spec", self.spec.copy())
        force_setattr(self, "status", self.status.copy())


class RayPod(Object, frozen=True, gc=False):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class SecretWithData(Object, frozen=True, gc=False):
    """For the certificates of Pods: which keys there are."""

    data: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        force_setattr(self, "data", dict.fromkeys(self.data, ""))


RAY_CLUSTER = ResourceType("ray.io/v1", "RayCluster", "rayclusters")
POD = ResourceType("v1", "Pod", "pods")
SECRET = ResourceType("v1", "Secret", "secrets")

RESOURCES: dict[KindName, ResourceType] = {
    observed.SERVICE: ResourceType("v1", "Service", "services"),
    observed.SECRET: SECRET,
    observed.SERVICE_ACCOUNT: ResourceType("v1", "ServiceAccount", "serviceaccounts"),
    observed.CLAIM: ResourceType("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    observed.JOB: ResourceType("batch/v1", "Job", "jobs"),
    observed.ROLE: ResourceType("rbac.authorization.k8s.io/v1", "Role", "roles"),
    observed.ROLE_BINDING: ResourceType("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    observed.INGRESS: ResourceType("networking.k8s.io/v1", "Ingress", "ingresses"),
    observed.NETWORK_POLICY: ResourceType("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    observed.ROUTE: ResourceType("route.openshift.io/v1", "Route", "routes"),
    observed.ISSUER: ResourceType("cert-manager.io/v1", "Issuer", "issuers"),
    observed.CERTIFICATE: ResourceType("cert-manager.io/v1", "Certificate", "certificates"),
    observed.VOLCANO_GROUP: ResourceType("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"),
    observed.PLUGIN_GROUP: ResourceType("scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"),
    observed.WORKLOAD: ResourceType("scheduling.k8s.io/v1alpha2", "Workload", "workloads"),
    observed.WORKLOAD_GROUP: ResourceType("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups"),
}
TYPES: tuple[ResourceType, ...] = (RAY_CLUSTER, POD, *RESOURCES.values())

RAY_CLUSTERS = CachedKind(RAY_CLUSTER, WholeObject)
RAY_PODS = CachedKind(POD, RayPod, label_selector=f"{labels.NODE_TYPE} in (head,worker,redis-cleanup)")

_METADATA_ONLY = (observed.SECRET, observed.SERVICE_ACCOUNT, observed.ROLE, observed.ROLE_BINDING, observed.ROUTE)
_ALWAYS = (
    observed.SERVICE, observed.SECRET, observed.SERVICE_ACCOUNT, observed.JOB, observed.ROLE, observed.ROLE_BINDING,
    observed.INGRESS,
)  # fmt: skip

# KubeRay: constants.md §16, R4-13, what others write into these is looked at with the next change of the cluster: an
# ingress controller may write as often as we do. That one is gone is worth a look. A Job is not among them: it ends.
HEARD_WHEN_GONE = frozenset(
    {observed.INGRESS, observed.ROUTE, observed.SERVICE_ACCOUNT, observed.ROLE, observed.ROLE_BINDING}
)


def kinds_around(settings: Settings) -> dict[KindName, CachedKind[Any]]:
    """What is watched beside RayClusters and their Pods."""
    return {kind: _cached(kind, settings) for kind in (*_ALWAYS, *_on_demand(settings))}


def _cached(kind: KindName, settings: Settings) -> CachedKind[Any]:
    resource = RESOURCES[kind]
    if kind == observed.SECRET and settings.gate("RayClusterMTLS"):
        return CachedKind(resource, SecretWithData)
    if kind in _METADATA_ONLY:
        return CachedKind(resource, Object, metadata_only=True)
    if kind == observed.JOB:
        return CachedKind(resource, WholeObject, label_selector=f"{labels.CREATED_BY}={labels.OPERATOR}")
    return CachedKind(resource, WholeObject)


def _on_demand(settings: Settings) -> Iterator[KindName]:
    if settings.gate("GCSFaultToleranceEmbeddedStorage"):
        yield observed.CLAIM
    if settings.gate("RayClusterNetworkPolicy"):
        yield observed.NETWORK_POLICY
    if settings.gate("RayClusterMTLS") and settings.cert_manager:
        yield from (observed.ISSUER, observed.CERTIFICATE)
    if settings.openshift_route:
        yield observed.ROUTE
    yield from _of_schedulers(settings)


def _of_schedulers(settings: Settings) -> Iterable[KindName]:
    if settings.gate("KubernetesWAS"):
        return (observed.WORKLOAD, observed.WORKLOAD_GROUP)
    return {"volcano": (observed.VOLCANO_GROUP,), "scheduler-plugins": (observed.PLUGIN_GROUP,)}.get(
        settings.batch_scheduler, ()
    )
