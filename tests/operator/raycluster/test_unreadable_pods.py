"""A Pod that cannot be read is there all the same: no second head is made beside it."""

import msgspec

from heliostat.api.settings import Settings
from heliostat.kube.objects import Key, Metadata, Object
from heliostat.kube.plan import Create
from heliostat.operator.kinds import RAY_CLUSTERS, RAY_PODS, RayPod, WholeObject, kinds_around
from heliostat.operator.raycluster.reconciler import RayClusterReconciler
from heliostat.plan.because import Hold
from heliostat.plan.kind import UNKNOWN_POLL
from heliostat.runtime.cache import CacheWriter, Unreadable
from heliostat.runtime.caches import Caches
from plan.worlds import NAME, NAMESPACE, NOW, UID, cluster_tree

KEY = Key(NAMESPACE, NAME)


def reconciler_with(*unreadable: Metadata) -> RayClusterReconciler:
    caches = Caches()
    reconciler = RayClusterReconciler(caches, Settings())
    metadata = Metadata(name=NAME, namespace=NAMESPACE, uid=UID, resource_version="5", generation=1)
    spec = msgspec.Raw(msgspec.json.encode(cluster_tree()["spec"]))
    CacheWriter(caches.of(RAY_CLUSTERS)).replace([WholeObject(metadata, spec=spec)], 5)
    for kind in kinds_around(Settings()).values():
        CacheWriter(caches.dispensable(kind)).replace([], 5)
    pods = CacheWriter(caches.of(RAY_PODS))
    pods.replace([], 5)
    for each in unreadable:
        pods.mark(Unreadable(each, "its restartCount is a text"))
    return reconciler


def pod(cluster: str) -> Metadata:
    labels = {"ray.io/cluster": cluster, "ray.io/node-type": "head"}
    return Metadata(name="head", namespace=NAMESPACE, uid="u", resource_version="4", labels=labels)


def made_pods(reconciler: RayClusterReconciler) -> int:
    actions = reconciler.plan(KEY, NOW).actions()
    return sum(isinstance(action, Create) and action.ref.kind == "Pod" for action in actions)


def test_nothing_is_made_beside_a_pod_that_cannot_be_read() -> None:
    reconciler = reconciler_with(pod(NAME))
    assert made_pods(reconciler) == 0
    plan = reconciler.plan(KEY, NOW)
    (wait,) = [wait for wait in plan.waits if wait.reason == Hold.NOT_KNOWN]
    assert "Pod head cannot be read: its restartCount is a text" in wait.message
    assert plan.wake_after is not None
    assert plan.wake_after <= UNKNOWN_POLL


def test_another_clusters_pod_that_cannot_be_read_holds_up_nobody() -> None:
    assert made_pods(reconciler_with(pod("another"))) == made_pods(reconciler_with()) == 2


def test_a_time_that_nobody_knows_can_be_read() -> None:
    """A container that was lost has ended at no known time, which the API tells as null."""
    ended = {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": None}],
        "containerStatuses": [{"name": "ray-head", "state": {"terminated": ended}}],
    }
    tree = {"metadata": {"name": "head"}, "spec": {"containers": [{"name": "ray-head"}]}, "status": status}
    decoded: Object = msgspec.json.decode(msgspec.json.encode(tree), type=RayPod)
    assert decoded.metadata.name == "head"
