"""The Pods of everything that a file has made, found through their owners: those of the RayCluster, and those of a
Deployment, Job or Pod beside it that the cluster may depend on."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from heliostat.explain.objects import find_descendants
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.local.session import Session

POD = ResourceType("v1", "Pod", "pods")
# What stands between an object of a file and its Pods; other kinds own theirs.
_BETWEEN = {
    "Deployment": ResourceType("apps/v1", "ReplicaSet", "replicasets"),
    "CronJob": ResourceType("batch/v1", "Job", "jobs"),
}


class FilePods(Struct, frozen=True):
    of_cluster: tuple[JsonObject, ...] = ()
    others: tuple[JsonObject, ...] = ()

    @property
    def all(self) -> tuple[JsonObject, ...]:
        return (*self.of_cluster, *self.others)


async def fetch_file_pods(session: Session, trees: Sequence[JsonObject], cluster: JsonObject) -> FilePods:
    """``trees`` as the server has them, ``cluster`` among them."""
    around: list[JsonObject] = []
    for namespace in dict.fromkeys(filter(None, (tree["metadata"].get("namespace") for tree in trees))):
        kinds = {str(tree["kind"]) for tree in trees if tree["metadata"].get("namespace") == namespace}
        for resource in (POD, *(_BETWEEN[kind] for kind in sorted(kinds & set(_BETWEEN)))):
            around += [{**each, "kind": resource.kind} for each in await session.list_in(resource, namespace)]
    pods = {str(each["metadata"]["uid"]): each for each in around if each["kind"] == "Pod"}
    of_cluster = _pods_among(find_descendants(cluster, around))
    others = dict[str, JsonObject]()
    for tree in trees:
        uid = str(tree["metadata"]["uid"])
        others |= {uid: pods[uid]} if uid in pods else _pods_among(find_descendants(tree, around))
    beside = [pod for uid, pod in others.items() if uid not in of_cluster]
    return FilePods(tuple(_sorted(of_cluster.values())), tuple(_sorted(beside)))


def _pods_among(trees: Sequence[JsonObject]) -> dict[str, JsonObject]:
    return {str(tree["metadata"]["uid"]): tree for tree in trees if tree["kind"] == "Pod"}


def _sorted(pods: Iterable[JsonObject]) -> list[JsonObject]:
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
