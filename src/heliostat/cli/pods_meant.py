"""Which Pod and container a person means by ``POD``, ``pod/NAME``, ``RAYCLUSTER`` or ``raycluster/NAME``.

A bare name is a Pod if there is one, and otherwise a RayCluster, which stands for its head Pod.
"""

import msgspec

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError, MissingObjectError
from heliostat.desired import labels
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import find_likely, nearest_name
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.runtime.errors import NotFoundError

_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_POD_WORDS = ("pod", "pods", "po")
_CLUSTER_WORDS = ("raycluster", "rayclusters", "rayclusters.ray.io", "raycluster.ray.io")

JOB_WORDS = ("rayjob", "rayjobs", "rayjobs.ray.io", "rayjob.ray.io")


def join_target(words: list[str]) -> str:
    """``raycluster hello`` is raycluster/hello."""
    kind, *names = words
    if len(names) == 1 and kind.lower() in (*_POD_WORDS, *_CLUSTER_WORDS, *JOB_WORDS) and "/" not in names[0]:
        return f"{kind}/{names[0]}"
    if names:
        raise CommandError(f"{' '.join(words)!r} is more than one target; name one RayCluster or Pod")
    return kind


async def fetch_pod(cluster: Cluster, target: str) -> JsonObject:
    """Raises CommandError."""
    word, slash, name = target.rpartition("/")
    if slash and word.lower() not in (*_POD_WORDS, *_CLUSTER_WORDS):
        raise CommandError(f"{target!r}: only Pods and RayClusters have containers; write pod/NAME or raycluster/NAME")
    if word.lower() in _POD_WORDS:
        return await cluster.fetch_object(POD, name)
    pod = None if slash else await _find_pod(cluster, name)
    return pod or await _fetch_head(cluster, name, is_certain=bool(slash))


async def _find_pod(cluster: Cluster, name: str) -> JsonObject | None:
    try:
        tree: JsonObject = msgspec.json.decode(await cluster.client.get(POD, cluster.namespace, name))
    except NotFoundError:
        return None
    return tree


async def _fetch_head(cluster: Cluster, name: str, *, is_certain: bool) -> JsonObject:
    pods = await cluster.fetch_list(POD, cluster.namespace)
    of_cluster = [pod for pod in pods if _label(pod, labels.CLUSTER) == name]
    heads = [pod for pod in of_cluster if _label(pod, labels.NODE_TYPE) == labels.HEAD]
    if heads:
        return min(heads, key=lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
    if is_certain or of_cluster or await _has_cluster(cluster, name):
        await cluster.fetch_object(RAY_CLUSTER, name)
        raise CommandError(f"RayCluster {name} has no head Pod now; heliostat explain raycluster/{name} tells why", 1)
    known = [pod["metadata"]["name"] for pod in pods]
    known += list(dict.fromkeys(filter(None, (_label(pod, labels.CLUSTER) for pod in pods))))
    meant = find_likely(name, known)
    hint = f"did you mean {meant}?" if meant else "heliostat get shows what there is"
    raise MissingObjectError(f"there is no Pod or RayCluster {name!r} in namespace {cluster.namespace}; {hint}", 1)


async def _has_cluster(cluster: Cluster, name: str) -> bool:
    try:
        await cluster.client.get(RAY_CLUSTER, cluster.namespace, name)
    except NotFoundError:
        return False
    return True


def _label(pod: JsonObject, key: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(key, ""))


def pick_container(pod: JsonObject, named: str) -> str:
    """The named one, else the Pod's default, else its first. Raises CommandError for a name that it does not have."""
    spec = pod.get("spec") or {}
    lists = ("containers", "initContainers", "ephemeralContainers")
    names = [str(each.get("name")) for key in lists for each in spec.get(key) or ()]
    if named and named not in names:
        meant = nearest_name(named, names)
        hint = f"did you mean {meant}?" if meant else f"there are: {', '.join(names)}"
        raise CommandError(f"Pod {pod['metadata']['name']} has no container {named!r}; {hint}", 1)
    default = str((pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER, ""))
    return named or (default if default in names else names[0])
