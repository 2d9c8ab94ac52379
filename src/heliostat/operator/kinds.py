"""What the operator watches: one row for each kind, with where it lives in the API, what is kept of it, and when.

Pods and Jobs are selected by label, as KubeRay does, because there may be many that are nobody's business here. Of
Secrets, accounts and roles only the metadata is asked for: that they are there is all that counts, and what a Secret
holds stays with the server. A kind that only a gate or a scheduler needs is watched only then.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from heliostat.api.kinds import RAY_CLUSTER_NAME, RAY_JOB_NAME
from heliostat.api.settings import Settings
from heliostat.api.validation.service import INCREMENTAL_GATE
from heliostat.desired import labels
from heliostat.kube.lookups import SERVICE, KindName, kind_name
from heliostat.kube.objects import Object
from heliostat.kube.pods import PodSpec, PodStatus
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.kinds import KINDS
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


class EndpointSlice(Object, frozen=True, gc=False):
    """Who answers for a Service."""

    endpoints: tuple[dict[str, Any], ...] | None = ()


RAY_CLUSTER = KINDS["RayCluster"].resource
RAY_JOB = KINDS["RayJob"].resource
RAY_SERVICE = KINDS["RayService"].resource
RAY_CRON_JOB = KINDS["RayCronJob"].resource
ENDPOINT_SLICE = ResourceType("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
POD = ResourceType("v1", "Pod", "pods")
SECRET = ResourceType("v1", "Secret", "secrets")

RAY_CLUSTERS = CachedKind(RAY_CLUSTER, WholeObject)
RAY_JOBS = CachedKind(RAY_JOB, WholeObject)
RAY_SERVICES = CachedKind(RAY_SERVICE, WholeObject)
# A slice carries the labels of its Service: only those of serve Services are watched.
SERVE_SLICES = CachedKind(ENDPOINT_SLICE, EndpointSlice, label_selector=labels.SERVE)
RAY_CRON_JOBS = CachedKind(RAY_CRON_JOB, WholeObject)
RAY_PODS = CachedKind(POD, RayPod, label_selector=f"{labels.NODE_TYPE} in (head,worker,redis-cleanup)")

OPERATORS_OWN = f"{labels.CREATED_BY}={labels.OPERATOR}"

When: TypeAlias = Callable[[Settings], bool]


def always(_settings: Settings) -> bool:
    return True


def with_gate(name: str) -> When:
    return lambda settings: settings.gate(name)


def with_scheduler(name: str) -> When:
    return lambda settings: settings.batch_scheduler == name and not settings.gate("KubernetesWAS")


def with_certificates(settings: Settings) -> bool:
    return settings.gate("RayClusterMTLS") and settings.cert_manager


def on_openshift(settings: Settings) -> bool:
    return settings.openshift_route


class Watched(Struct, frozen=True, kw_only=True):
    """One kind around the ray.io objects."""

    resource: ResourceType
    when: When = always
    keeps: type[Object] = WholeObject  # ``Object``: its metadata alone
    with_data: When | None = None  # a Secret of which the keys are kept, too
    label_selector: str = ""
    # KubeRay: constants.md §16, R4-13, what others write into these is looked at with the next change of the cluster:
    # an ingress controller may write as often as we do. That one is gone is worth a look. A Job is not among them.
    heard_when_gone: bool = False

    @property
    def name(self) -> KindName:
        return kind_name(self.resource.api_version, self.resource.kind)

    def cached(self, settings: Settings) -> CachedKind[Any]:
        if self.with_data is not None and self.with_data(settings):
            return CachedKind(self.resource, SecretWithData)
        if self.keeps is Object:
            return CachedKind(self.resource, Object, metadata_only=True)
        return CachedKind(self.resource, self.keeps, label_selector=self.label_selector)


_RBAC, _NETWORK, _CERTIFICATES = "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1", "cert-manager.io/v1"

WATCHED: tuple[Watched, ...] = (
    Watched(resource=ResourceType("v1", "Service", "services")),
    Watched(resource=SECRET, keeps=Object, with_data=with_gate("RayClusterMTLS")),
    Watched(
        resource=ResourceType("v1", "ServiceAccount", "serviceaccounts"), keeps=Object, heard_when_gone=True
    ),
    Watched(resource=ResourceType("batch/v1", "Job", "jobs"), label_selector=OPERATORS_OWN),
    Watched(resource=ResourceType(_RBAC, "Role", "roles"), keeps=Object, heard_when_gone=True),
    Watched(resource=ResourceType(_RBAC, "RoleBinding", "rolebindings"), keeps=Object, heard_when_gone=True),
    Watched(resource=ResourceType(_NETWORK, "Ingress", "ingresses"), heard_when_gone=True),
    Watched(
        resource=ResourceType("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
        when=with_gate("GCSFaultToleranceEmbeddedStorage"),
    ),
    Watched(
        resource=ResourceType(_NETWORK, "NetworkPolicy", "networkpolicies"), when=with_gate("RayClusterNetworkPolicy")
    ),
    Watched(resource=ResourceType(_CERTIFICATES, "Issuer", "issuers"), when=with_certificates),
    Watched(resource=ResourceType(_CERTIFICATES, "Certificate", "certificates"), when=with_certificates),
    Watched(
        resource=ResourceType("route.openshift.io/v1", "Route", "routes"),
        when=on_openshift, keeps=Object, heard_when_gone=True,
    ),
    Watched(
        resource=ResourceType("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"), when=with_scheduler("volcano")
    ),
    Watched(
        resource=ResourceType("scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"),
        when=with_scheduler("scheduler-plugins"),
    ),
    Watched(
        resource=ResourceType("scheduling.k8s.io/v1alpha2", "Workload", "workloads"), when=with_gate("KubernetesWAS")
    ),
    Watched(
        resource=ResourceType("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups"), when=with_gate("KubernetesWAS")
    ),
)  # fmt: skip

# Of RayServices alone: what splits requests between two clusters. Where the Gateway API is not served, it is unknown.
_GATEWAYS, _INCREMENTAL = "gateway.networking.k8s.io/v1", with_gate(INCREMENTAL_GATE)
SPLITTING: tuple[Watched, ...] = (
    Watched(resource=ResourceType(_GATEWAYS, "Gateway", "gateways"), when=_INCREMENTAL),
    Watched(resource=ResourceType(_GATEWAYS, "HTTPRoute", "httproutes"), when=_INCREMENTAL),
    Watched(resource=ResourceType(_GATEWAYS, "GatewayClass", "gatewayclasses", is_namespaced=False), when=_INCREMENTAL),
)

RESOURCES: dict[KindName, ResourceType] = {RAY_CLUSTER_NAME: RAY_CLUSTER, RAY_JOB_NAME: RAY_JOB} | {
    row.name: row.resource for row in (*WATCHED, *SPLITTING)
}
HEARD_WHEN_GONE = frozenset(row.name for row in WATCHED if row.heard_when_gone)
TYPES: tuple[ResourceType, ...] = (POD, ENDPOINT_SLICE, *RESOURCES.values())  # beside the ray.io kinds


def kinds_around(settings: Settings) -> dict[KindName, CachedKind[Any]]:
    """What is watched beside the ray.io objects and their Pods."""
    return {row.name: row.cached(settings) for row in WATCHED if row.when(settings)}


def kinds_around_services(settings: Settings) -> dict[KindName, CachedKind[Any]]:
    """What is watched for RayServices beside their clusters and Pods."""
    splitting = {row.name: row.cached(settings) for row in SPLITTING if row.when(settings)}
    return {SERVICE: kinds_around(settings)[SERVICE], **splitting}
