"""What was seen of a RayCluster and of everything around it: the view that a plan is decided from.

"Unknown" is a value: a kind that was not read, or whose reading failed, is never taken for "there is none". Objects are
found by kind and name; whether one is ours is told by its controller's UID, never by a label or a name alone.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.desired import labels
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.pods import PodError, PodView, view_pod
from heliostat.plan.own_conditions import Hindrance


class Unknown(Struct, frozen=True):
    """Not read, or the reading failed."""

    why: str = "it has not been read"


UNKNOWN = Unknown()

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
WORKLOAD = "Workload.scheduling.k8s.io"
WORKLOAD_GROUP = "PodGroup.scheduling.k8s.io"

KINDS: tuple[KindName, ...] = (
    SERVICE_ACCOUNT, SECRET, SERVICE, CLAIM, JOB, ROLE, ROLE_BINDING, INGRESS, NETWORK_POLICY, ROUTE, ISSUER,
    CERTIFICATE, VOLCANO_GROUP, PLUGIN_GROUP, WORKLOAD, WORKLOAD_GROUP,
)  # fmt: skip


class Failure(Struct, frozen=True):
    """What went wrong when the last plan was carried out; the tag is a ReplicaFailure reason, or empty."""

    tag: str
    message: str


class Facts(Struct, frozen=True, kw_only=True):
    """What the operator knows beyond Kubernetes objects. Forgetting all of it may delay a decision, never change it.

    Only the names of new Pods come from it, too.
    """

    failure: Failure | None = None
    hindrances: tuple[Hindrance, ...] = ()  # refusals that no tag tells
    unanswered: frozenset[str] = frozenset()  # names of Pods whose create was sent and never answered
    moves: int = 0  # plans that made or deleted Pods since the RayCluster has its present version
    since: int = 0  # how new the view of Pods was when this process first met the RayCluster
    groups_seen: frozenset[str] = frozenset()  # worker groups that earlier generations of this spec had


class Objects(Protocol):
    """The objects around a cluster, all of its own namespace: a list of them, or a cache."""

    def list_kind(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown: ...

    def list_owned(self, kind: KindName, uid: str) -> tuple[JsonObject, ...] | Unknown:
        """Those that this UID controls."""
        ...

    def find(self, kind: KindName, name: str) -> Found: ...


class ListedObjects(Struct, frozen=True):
    """A complete list, by kind; a kind that it does not have was not read."""

    kinds: dict[KindName, tuple[JsonObject, ...] | Unknown] = {}

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


class ObservedCluster(Struct, frozen=True, kw_only=True, dict=True):
    cluster: RayCluster
    status: JsonObject  # as it reads now, unknown fields included
    pods: tuple[PodView, ...] | Unknown  # labelled with the cluster's name, whoever controls them
    objects: Objects

    def list_kind(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        return self.objects.list_kind(kind)

    def find(self, kind: KindName, name: str) -> Found:
        return self.objects.find(kind, name)

    def list_owned(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        return self.objects.list_owned(kind, self.cluster.metadata.uid)

    def owns(self, tree: JsonObject) -> bool:
        return is_controlled_by(tree, self.cluster.metadata.uid)

    @property
    def conditions(self) -> list[JsonObject]:
        return self.status.get("conditions") or []

    @cached_property
    def own_pods(self) -> tuple[PodView, ...] | Unknown:
        """By name, so that every decision over Pods has one order."""
        if isinstance(self.pods, Unknown):
            return self.pods
        uid = self.cluster.metadata.uid
        own = (pod for pod in self.pods if uid and pod.controller_uid == uid)
        return tuple(sorted(own, key=lambda pod: pod.name))


def kind_name(api_version: str, kind: str) -> KindName:
    group, slash, _version = api_version.partition("/")
    return f"{kind}.{group}" if slash else kind


class ObservationError(ValueError):
    """An object of the view that is not shaped like one; the text names it and the field."""


class _Metadata(Struct, rename="camel"):
    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Object(Struct, rename="camel"):
    """The shape that lookups rely on; the rest of an object stays as it is."""

    api_version: str
    kind: str
    metadata: _Metadata
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


def observe_objects(cluster_tree: JsonObject, objects: Iterable[JsonObject]) -> ObservedCluster:
    """The view that a complete list of objects gives: what is not in the list is not there.

    Objects of other namespaces are left out; one without a namespace counts as in the cluster's. An object that is not
    shaped like one raises ``ObservationError``.
    """
    cluster = msgspec.convert(cluster_tree, RayCluster)
    around = [tree for tree in map(_take_in, objects) if _is_near(tree, cluster.metadata.namespace)]
    kinds: dict[KindName, list[JsonObject]] = {kind: [] for kind in KINDS}
    for tree in around:
        kind = kind_name(tree["apiVersion"], tree["kind"])
        if kind in kinds:
            kinds[kind].append(_place(tree, cluster.metadata.namespace))
    return ObservedCluster(
        cluster=cluster,
        status=cluster_tree.get("status") or {},
        pods=tuple(_view_pods(around, cluster)),
        objects=ListedObjects({kind: tuple(sorted(found, key=_name)) for kind, found in kinds.items()}),
    )


def _take_in(tree: JsonObject) -> JsonObject:
    try:
        msgspec.convert(tree, _Object)
    except msgspec.ValidationError as error:
        raise ObservationError(f"{_title(tree)} is not a Kubernetes object: {error}") from None
    return tree


def _title(tree: Any) -> str:
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return f"{tree.get('kind', 'an entry') if isinstance(tree, dict) else 'an entry'} {name}".rstrip()


def _is_near(tree: JsonObject, namespace: str) -> bool:
    return (tree["metadata"].get("namespace") or namespace) == namespace


def _place(tree: JsonObject, namespace: str) -> JsonObject:
    """A tree that a person wrote may lack what every stored object has."""
    given = {"name": "", "uid": "", "resourceVersion": ""}
    return {**tree, "metadata": {**given, **tree["metadata"], "namespace": namespace}}


def _view_pods(trees: list[JsonObject], cluster: RayCluster) -> Iterator[PodView]:
    for tree in trees:
        is_pod = kind_name(tree["apiVersion"], tree["kind"]) == "Pod"
        if is_pod and (tree["metadata"].get("labels") or {}).get(labels.CLUSTER) == cluster.metadata.name:
            try:
                yield view_pod(_place(tree, cluster.metadata.namespace))
            except PodError as error:
                raise ObservationError(f"{_title(tree)} is {error}") from None


def _name(tree: JsonObject) -> str:
    return str(tree["metadata"]["name"])
