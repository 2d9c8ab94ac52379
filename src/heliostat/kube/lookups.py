"""Looking objects up: by kind and name, by kind, by the UID that controls them, and "not known" as an answer.

A kind that was not read, or whose reading failed, is ``Unknown`` and never taken for "there is none".
"""

from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from heliostat.kube.facts import UNKNOWN, Unknown
from heliostat.kube.owners import is_controlled_by

JsonObject: TypeAlias = dict[str, Any]
Found: TypeAlias = JsonObject | Unknown | None
KindName: TypeAlias = str  # Kind.group, or Kind alone for the core group

SERVICE_ACCOUNT = "ServiceAccount"
SECRET = "Secret"  # noqa: S105
SERVICE = "Service"
CLAIM = "PersistentVolumeClaim"
JOB = "Job.batch"
ROLE = "Role.rbac.authorization.k8s.io"
ROLE_BINDING = "RoleBinding.rbac.authorization.k8s.io"
INGRESS = "Ingress.networking.k8s.io"
NETWORK_POLICY = "NetworkPolicy.networking.k8s.io"
ROUTE = "Route.route.openshift.io"
ISSUER = "Issuer.cert-manager.io"
CERTIFICATE = "Certificate.cert-manager.io"
VOLCANO_GROUP = "PodGroup.scheduling.volcano.sh"
PLUGIN_GROUP = "PodGroup.scheduling.x-k8s.io"
ENDPOINT_SLICE = "EndpointSlice.discovery.k8s.io"
WORKLOAD = "Workload.scheduling.k8s.io"
WORKLOAD_GROUP = "PodGroup.scheduling.k8s.io"
GATEWAY = "Gateway.gateway.networking.k8s.io"
HTTP_ROUTE = "HTTPRoute.gateway.networking.k8s.io"
GATEWAY_CLASS = "GatewayClass.gateway.networking.k8s.io"  # of the whole cluster

KINDS: tuple[KindName, ...] = (
    SERVICE_ACCOUNT, SECRET, SERVICE, CLAIM, JOB, ROLE, ROLE_BINDING, INGRESS, NETWORK_POLICY, ROUTE, ISSUER,
    CERTIFICATE, VOLCANO_GROUP, PLUGIN_GROUP, WORKLOAD, WORKLOAD_GROUP, GATEWAY, HTTP_ROUTE,
)  # fmt: skip


def kind_name(api_version: str, kind: str) -> KindName:
    group, slash, _version = api_version.partition("/")
    return f"{kind}.{group}" if slash else kind


class Objects(Protocol):
    """The objects around a cluster, all of its own namespace: a list of them, or a cache."""

    @property
    def has_unknown(self) -> bool:
        """Whether something that was asked for could not be read."""
        ...

    def list_kind(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown: ...

    def list_owned(self, kind: KindName, uid: str) -> tuple[JsonObject, ...] | Unknown:
        """Those that this UID controls."""
        ...

    def find(self, kind: KindName, name: str) -> Found: ...

    def find_if_read(self, kind: KindName, name: str) -> JsonObject | None:
        """None also where the kind cannot be read: for what may be there, and whose absence decides nothing."""
        ...


class ListedObjects(Struct, frozen=True):
    """A complete list, by kind; a kind that it does not have was not read."""

    kinds: dict[KindName, tuple[JsonObject, ...] | Unknown] = {}

    @property
    def has_unknown(self) -> bool:
        return any(isinstance(listed, Unknown) for listed in self.kinds.values())

    def list_kind(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        return self.kinds.get(kind, UNKNOWN)

    def list_owned(self, kind: KindName, uid: str) -> tuple[JsonObject, ...] | Unknown:
        listed = self.list_kind(kind)
        return listed if isinstance(listed, Unknown) else tuple(tree for tree in listed if is_controlled_by(tree, uid))

    def find(self, kind: KindName, name: str) -> Found:
        listed = self.list_kind(kind)
        if isinstance(listed, Unknown):
            return listed
        return next((tree for tree in listed if tree["metadata"].get("name") == name), None)

    def find_if_read(self, kind: KindName, name: str) -> JsonObject | None:
        found = self.find(kind, name)
        return None if isinstance(found, Unknown) else found
