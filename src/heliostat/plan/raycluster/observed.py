"""What was seen of a RayCluster and of everything around it: the view that a plan is decided from.

"Unknown" is a value: a kind that was not read, or whose reading failed, is never taken for "there is none". Objects are
found by kind and name; whether one is ours is told by its controller's UID, never by a label or a name alone.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.desired import labels
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import KINDS, Found, KindName, ListedObjects, Objects, kind_name
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.pods import PodView
from heliostat.plan.observing import read_typed, see_pod, take_in


class ObservedCluster(Struct, frozen=True, kw_only=True, dict=True):
    cluster: RayCluster
    status: JsonObject  # as it reads now, unknown fields included
    pods: tuple[PodView, ...] | Unknown  # labelled with the cluster's name, whoever controls them
    objects: Objects

    @property
    def owner_kind(self) -> str:
        return "RayCluster"

    @property
    def has_unknown(self) -> bool:
        """Whether something that was looked for could not be read."""
        return self.objects.has_unknown or isinstance(self.pods, Unknown)

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
        """By name, so that every decision over Pods has one order.

        Differs from KubeRay: R5-6 goes by labels alone, also for Pods that a deleted cluster has left.
        """
        if isinstance(self.pods, Unknown):
            return self.pods
        uid = self.cluster.metadata.uid
        own = (pod for pod in self.pods if uid and pod.controller_uid == uid)
        return tuple(sorted(own, key=lambda pod: pod.name))


def observe_objects(cluster_tree: JsonObject, objects: Iterable[JsonObject]) -> ObservedCluster:
    """The view that a complete list of objects gives: what is not in the list is not there.

    Objects of other namespaces are left out; one without a namespace counts as in the cluster's. An object that is not
    shaped like one raises ``ObservationError``.
    """
    cluster = read_typed(cluster_tree, RayCluster)
    around = [tree for tree in map(take_in, objects) if _is_near(tree, cluster.metadata.namespace)]
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
            yield see_pod(_place(tree, cluster.metadata.namespace))


def _name(tree: JsonObject) -> str:
    return str(tree["metadata"]["name"])
