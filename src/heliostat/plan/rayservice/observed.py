"""What was seen of a RayService and of everything around it: the view that a plan is decided from.

"Unknown" is a value here as everywhere. Whether an object is ours is told by its controller's UID.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.kinds import RAY_CLUSTER_NAME
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.api.validation.service import is_incremental_upgrade
from heliostat.desired import labels
from heliostat.desired.rayservice.names import (
    list_serve_services,
    service_head_service_name,
    service_serve_service_name,
)
from heliostat.kube.facts import Fact, Unknown
from heliostat.kube.lookups import (
    ENDPOINT_SLICE,
    GATEWAY_CLASS,
    KINDS,
    SERVICE,
    Found,
    KindName,
    ListedObjects,
    Objects,
    kind_name,
)
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.pods import PodView, is_terminating
from heliostat.kube.quantity import Quantity
from heliostat.plan.observing import label_of, read_cluster_spec, read_typed, see_pod, take_in
from heliostat.plan.rayservice.answers import ServeInfo
from heliostat.plan.rayservice.endpoints import SERVICE_OF_SLICE, count_ready

ACTIVE, PENDING = "activeServiceStatus", "pendingServiceStatus"
DEFAULT_SETTINGS = Settings()


class Sent(Struct, frozen=True):
    """The configuration that this process last sent to a cluster, and that Ray took unless ``refusal`` says why not."""

    digest: str
    at: float  # epoch seconds
    deployed_before: float = 0.0  # what Serve told as its last deployment
    refusal: str = ""


class Remembered(Struct, frozen=True):
    """What the operator knows beyond objects and answers. Forgetting it repeats a call and changes no decision."""

    sent: dict[str, Sent] = {}  # by cluster


class ObservedService(Struct, frozen=True, kw_only=True):
    service: RayService
    tree: JsonObject  # the RayService as the API server keeps it
    objects: Objects
    pods: dict[str, tuple[PodView, ...] | Unknown] = {}  # of the active and the pending cluster, by cluster
    endpoints: int | Unknown = 0  # of the serve Service: Pods that are ready for requests
    serve: dict[str, Fact[ServeInfo] | Unknown] = {}  # by cluster
    proxies: dict[str, Fact[bool] | Unknown] = {}  # whether they take requests, by the UID of the Pod
    room: dict[str, Quantity] | None = None  # what the nodes have left; None: nobody has read them

    @property
    def owner_kind(self) -> str:
        return "RayService"

    @property
    def has_unknown(self) -> bool:
        unsure = (self.endpoints, *self.pods.values())
        return self.objects.has_unknown or any(isinstance(each, Unknown) for each in unsure)

    @property
    def status(self) -> JsonObject:
        return self.tree.get("status") or {}

    @property
    def active_name(self) -> str:
        return str((self.status.get(ACTIVE) or {}).get("rayClusterName") or "")

    @property
    def pending_name(self) -> str:
        return str((self.status.get(PENDING) or {}).get("rayClusterName") or "")

    def find(self, kind: KindName, name: str) -> Found:
        return self.objects.find(kind, name)

    def find_if_read(self, kind: KindName, name: str) -> JsonObject | None:
        return self.objects.find_if_read(kind, name)

    def list_owned(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        return self.objects.list_owned(kind, self.service.metadata.uid)

    def owns(self, tree: JsonObject) -> bool:
        return is_controlled_by(tree, self.service.metadata.uid)

    def find_cluster(self, name: str) -> Found:
        """None also for one that is not ours."""
        found = self.find(RAY_CLUSTER_NAME, name) if name else None
        return found if not isinstance(found, dict) or self.owns(found) else None

    def find_active(self) -> Found:
        return self.find_cluster(self.active_name)

    def find_pending(self) -> Found:
        return self.find_cluster(self.pending_name)

    def spec_of(self, cluster: str) -> RayClusterSpec:
        """What this cluster was made from, whatever was edited since; of one that is not there, what it would be."""
        found = self.find_cluster(cluster)
        if not isinstance(found, dict):
            return self.service.spec.ray_cluster_config
        return read_cluster_spec(found)

    def find_head_service(self) -> Found:
        return self.find(SERVICE, service_head_service_name(self.service.metadata.name))

    def find_serve_service(self) -> Found:
        return self.find(SERVICE, service_serve_service_name(self.service))

    def list_serve_services(self, settings: Settings) -> tuple[str, ...]:
        """The Services whose endpoints are counted."""
        is_incremental = is_incremental_upgrade(self.service.spec, settings)
        return list_serve_services(self.service, (self.active_name, self.pending_name), is_incremental=is_incremental)

    def routed_cluster(self) -> str:
        """The cluster that the serve Service sends requests to; empty when there is none, or none is known."""
        found = self.find_serve_service()
        if not isinstance(found, dict) or not self.owns(found):
            return ""
        return str((found["spec"].get("selector") or {}).get(labels.CLUSTER) or "")

    def find_head(self, cluster: str) -> PodView | None:
        """The head Pod, if there is exactly one that stays."""
        pods = self.pods.get(cluster, ())
        if isinstance(pods, Unknown):
            return None
        heads = [pod for pod in pods if pod.labels.get(labels.NODE_TYPE) == labels.HEAD and not is_terminating(pod)]
        return heads[0] if len(heads) == 1 else None


class Look(Struct, frozen=True):
    """All that a RayService with an accepted spec is decided from."""

    observed: ObservedService
    settings: Settings
    remembered: Remembered
    now: float

    @property
    def is_incremental(self) -> bool:
        """Whether requests are moved step by step, through a Gateway."""
        return is_incremental_upgrade(self.observed.service.spec, self.settings)


def observe_service(
    tree: JsonObject,
    objects: Iterable[JsonObject],
    serve: dict[str, Fact[ServeInfo] | Unknown] | None = None,
    proxies: dict[str, Fact[bool] | Unknown] | None = None,
    settings: Settings = DEFAULT_SETTINGS,
) -> ObservedService:
    """The view that a complete list of objects gives: what is not in the list is not there."""
    service = read_typed(tree, RayService)
    namespace = service.metadata.namespace
    here = [each for each in map(take_in, objects) if (each["metadata"].get("namespace") or namespace) == namespace]
    kinds: dict[KindName, list[JsonObject]] = {kind: [] for kind in (*KINDS, RAY_CLUSTER_NAME, ENDPOINT_SLICE)}
    pods: dict[str, list[PodView]] = {}
    for each in here:
        kind = kind_name(each["apiVersion"], each["kind"])
        if kind == "Pod":
            pods.setdefault(label_of(each, labels.CLUSTER), []).append(see_pod(each))
        elif kind in kinds or kind == GATEWAY_CLASS:  # a list that has none is not of them: a Gateway has a class
            kinds.setdefault(kind, []).append(each)
    listed = ListedObjects({kind: tuple(found) for kind, found in kinds.items()})
    observed = ObservedService(
        service=service,
        tree=tree,
        objects=listed,
        pods={cluster: tuple(found) for cluster, found in pods.items()},
        serve=serve or {},
        proxies=proxies or {},
    )
    names = observed.list_serve_services(settings)
    slices = [each for each in kinds[ENDPOINT_SLICE] if label_of(each, SERVICE_OF_SLICE) in names]
    return replace(observed, endpoints=count_ready(each.get("endpoints") or () for each in slices))
