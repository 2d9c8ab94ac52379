"""Minimal RBAC: one table of what the operator does in the API, for the manifests and for the self-check.

Rules: a right is in the table because a line of the code uses it, or because Kubernetes asks for it on another's
behalf (``indirect``): who makes a Role must hold what it grants, and who makes an object that blocks the deletion of
its owner must be able to update the owner's finalizers. A right for a feature that is off is not asked for.
"""

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.kube.jsontree import JsonObject


class Need(Enum):
    """When something is needed; the value is a name for it in a file."""

    ALWAYS = "operator"
    ELECTION = "leader-election"  # in the lease's namespace alone
    PROXY = "kubernetes-proxy"
    CRON = "raycronjob"
    EMBEDDED_STORAGE = "embedded-storage"
    NETWORK_POLICY = "network-policy"
    MTLS = "mtls"
    OPENSHIFT = "openshift"
    VOLCANO = "volcano"
    SCHEDULER_PLUGINS = "scheduler-plugins"
    WORKLOADS = "kubernetes-was"


NEED_WORDS = {
    Need.ALWAYS: "always",
    Need.ELECTION: "--enable-leader-election, in the namespace of the Lease",
    Need.PROXY: "--use-kubernetes-proxy",
    Need.CRON: "--feature-gates=RayCronJob=true",
    Need.EMBEDDED_STORAGE: "--feature-gates=GCSFaultToleranceEmbeddedStorage=true",
    Need.NETWORK_POLICY: "--feature-gates=RayClusterNetworkPolicy=true",
    Need.MTLS: "--feature-gates=RayClusterMTLS=true and cert-manager",
    Need.OPENSHIFT: "OpenShift, unless USE_INGRESS_ON_OPENSHIFT=true",
    Need.VOLCANO: "--batch-scheduler=volcano",
    Need.SCHEDULER_PLUGINS: "--batch-scheduler=scheduler-plugins",
    Need.WORKLOADS: "--feature-gates=KubernetesWAS=true",
}


class Right(Struct, frozen=True):
    group: str
    resource: str  # with its subresource: pods/resize
    verbs: tuple[str, ...]
    why: str
    need: Need = Need.ALWAYS
    is_required: bool = False  # without it nothing can be done at all
    is_indirect: bool = False  # never used by the operator itself

    def __str__(self) -> str:
        return f"{' '.join(self.verbs)} {self.resource}" + (f".{self.group}" if self.group else "")


_READ = ("get", "list", "watch")
_READ_AND_MAKE = (*_READ, "create")
_RBAC = "rbac.authorization.k8s.io"

RIGHTS: tuple[Right, ...] = (
    Right("ray.io", "rayclusters", (*_READ, "patch"), "reads them, and sets finalizers", is_required=True),
    Right("ray.io", "rayclusters", ("create", "delete"), "of RayJobs and RayServices", is_required=True),
    Right("ray.io", "rayclusters/status", ("patch",), "tells how each is doing", is_required=True),
    Right(
        "ray.io", "rayclusters/finalizers", ("update",), "what it makes blocks the deletion of its owner",
        is_indirect=True,
    ),
    Right("ray.io", "rayjobs", (*_READ, "patch"), "reads them, and sets finalizers", is_required=True),
    Right("ray.io", "rayjobs", ("delete",), "that are over and ask for it"),
    Right("ray.io", "rayjobs/status", ("patch",), "tells how each is doing", is_required=True),
    Right(
        "ray.io", "rayjobs/finalizers", ("update",), "what it makes blocks the deletion of its owner",
        is_indirect=True,
    ),
    Right("ray.io", "rayservices", (*_READ, "patch"), "reads them, and sets finalizers", is_required=True),
    Right("ray.io", "rayservices/status", ("patch",), "tells how each is doing", is_required=True),
    Right(
        "ray.io", "rayservices/finalizers", ("update",), "what it makes blocks the deletion of its owner",
        is_indirect=True,
    ),
    Right("discovery.k8s.io", "endpointslices", ("list", "watch"), "counts who answers for a RayService"),
    Right("ray.io", "raycronjobs", _READ, "reads them", Need.CRON, is_required=True),
    Right("ray.io", "raycronjobs/status", ("patch",), "keeps the last tick", Need.CRON, is_required=True),
    Right(
        "ray.io", "raycronjobs/finalizers", ("update",), "what it makes blocks the deletion of its owner", Need.CRON,
        is_indirect=True,
    ),
    Right("ray.io", "rayjobs", ("create",), "of RayCronJobs", Need.CRON, is_required=True),
    Right("", "pods", (*_READ_AND_MAKE, "patch", "delete"), "heads and workers", is_required=True),
    Right("", "pods/resize", ("patch",), "granted to the autoscaler", is_indirect=True),
    Right("", "services", _READ_AND_MAKE, "for heads, headless workers and Serve", is_required=True),
    Right("", "services", ("patch",), "those of a RayJob and a RayService follow its cluster"),
    Right("", "services", ("delete",), "of a RayService that is suspended"),
    Right("", "services/proxy", ("get", "create", "update"), "the way to Ray's dashboard", Need.PROXY),
    Right("", "pods/proxy", ("get",), "the way to the Serve proxy of a head", Need.PROXY),
    Right("", "secrets", _READ_AND_MAKE, "the token of a cluster with authentication"),
    Right("", "serviceaccounts", _READ_AND_MAKE, "of the autoscaler"),
    Right(_RBAC, "roles", _READ_AND_MAKE, "of the autoscaler"),
    Right(_RBAC, "rolebindings", _READ_AND_MAKE, "of the autoscaler"),
    Right(
        "batch", "jobs", (*_READ_AND_MAKE, "patch", "delete"),
        "submits RayJobs, and cleans Redis when a fault-tolerant cluster is deleted",
    ),
    Right("networking.k8s.io", "ingresses", (*_READ_AND_MAKE, "patch"), "for heads that ask for one"),
    Right(
        "gateway.networking.k8s.io", "gateways", (*_READ_AND_MAKE, "patch", "delete"),
        "where requests to a RayService with incremental upgrades arrive",
    ),
    Right(
        "gateway.networking.k8s.io", "httproutes", (*_READ_AND_MAKE, "patch", "delete"),
        "splits those requests between two clusters",
    ),
    Right("", "events", ("create", "patch"), "tells what was done, and why not"),
    Right("coordination.k8s.io", "leases", ("get", "create", "update"), "one of several leads", Need.ELECTION, True),
    Right(
        "", "persistentvolumeclaims", (*_READ_AND_MAKE, "patch"), "keeps the state of a head", Need.EMBEDDED_STORAGE
    ),
    Right(
        "networking.k8s.io", "networkpolicies", (*_READ_AND_MAKE, "patch", "delete"), "isolate clusters that want it",
        Need.NETWORK_POLICY,
    ),
    Right("cert-manager.io", "issuers", _READ_AND_MAKE, "of a cluster with TLS", Need.MTLS),
    Right("cert-manager.io", "certificates", (*_READ_AND_MAKE, "patch"), "follow the Pods' addresses", Need.MTLS),
    Right("", "secrets", ("patch",), "hands a certificate's Secret to the certificate", Need.MTLS),
    Right("route.openshift.io", "routes", _READ_AND_MAKE, "in the place of an Ingress", Need.OPENSHIFT),
    Right("scheduling.volcano.sh", "podgroups", (*_READ_AND_MAKE, "patch"), "Pods start together", Need.VOLCANO),
    Right("scheduling.x-k8s.io", "podgroups", _READ_AND_MAKE, "Pods start together", Need.SCHEDULER_PLUGINS),
    Right(
        "scheduling.k8s.io", "podgroups", (*_READ_AND_MAKE, "patch", "delete"), "Pods start together", Need.WORKLOADS
    ),
    Right("scheduling.k8s.io", "workloads", (*_READ_AND_MAKE, "delete"), "Pods start together", Need.WORKLOADS),
)  # fmt: skip


def needs_of(settings: Settings, *, has_election: bool = True, uses_proxy: bool = False) -> frozenset[Need]:
    """``settings`` as they are once the platform is known."""
    found = {
        Need.ALWAYS: True,
        Need.ELECTION: has_election,
        Need.PROXY: uses_proxy,
        Need.CRON: settings.gate("RayCronJob"),
        Need.EMBEDDED_STORAGE: settings.gate("GCSFaultToleranceEmbeddedStorage"),
        Need.NETWORK_POLICY: settings.gate("RayClusterNetworkPolicy"),
        Need.MTLS: settings.gate("RayClusterMTLS") and settings.cert_manager,
        Need.OPENSHIFT: settings.openshift_route,
        Need.VOLCANO: settings.batch_scheduler == "volcano",
        Need.SCHEDULER_PLUGINS: settings.batch_scheduler == "scheduler-plugins",
        Need.WORKLOADS: settings.gate("KubernetesWAS"),
    }
    return frozenset(need for need, is_needed in found.items() if is_needed)


def rights_for(needs: frozenset[Need]) -> tuple[Right, ...]:
    return tuple(right for right in RIGHTS if right.need in needs)


def covers(
    verb: str, group: str, resource: str, subresource: str = "", needs: frozenset[Need] = frozenset(Need)
) -> bool:
    """Whether the table allows this."""
    name = f"{resource}/{subresource}" if subresource else resource
    return any((right.group, right.resource) == (group, name) and verb in right.verbs for right in rights_for(needs))


def build_rules(rights: tuple[Right, ...]) -> list[JsonObject]:
    """The rules of a Role: resources of one group with equal verbs share one, in the table's order."""
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for group, resource, verbs in _by_resource(rights):
        together.setdefault((group, verbs), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in together.items()
    ]


def _by_resource(rights: tuple[Right, ...]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource), {}).update(dict.fromkeys(right.verbs))
    return ((group, resource, tuple(found)) for (group, resource), found in verbs.items())
