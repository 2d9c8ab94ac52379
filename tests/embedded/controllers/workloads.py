"""Deployments, ReplicaSets and Pods for tests, and Pods that come to life in a world."""

from collections.abc import Iterator
from typing import Any

from embedded.controllers.plan_world import World
from heliostat.embedded.controllers.deployments.reconciler import DeploymentReconciler
from heliostat.embedded.controllers.replicasets.reconciler import ReplicaSetReconciler
from heliostat.embedded.controllers.views.deployments import DEPLOYMENTS
from heliostat.embedded.controllers.views.pods import PODS
from heliostat.embedded.controllers.views.replicasets import REPLICA_SETS
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan, Ref, ref_of
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.errors import RefusedError
from heliostat.runtime.outcome import FailedAction, Outcome

LABELS = {"app": "web"}


def template(image: str = "a", **labels: str) -> JsonObject:
    return {"metadata": {"labels": {**LABELS, **labels}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def replica_set(name: str = "web", replicas: int = 2, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template(), **spec},
        "status": {"replicas": 0},
    }


def deployment(replicas: int = 3, **spec: Any) -> JsonObject:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    defaults = {"strategy": strategy, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": template(),
            **defaults,
            **spec,
        },
        "status": {},
    }


def pod(name: str, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": LABELS, **metadata},
        "spec": {"containers": [{"name": "c"}]},
        "status": {"phase": "Pending"},
    }


def failed(tag: str, message: str) -> Outcome:
    """How a plan ended with which one write failed."""
    write = Effect("any", {}, "", "")
    return Outcome(failures=(FailedAction(write, RefusedError(403, "Forbidden", message), tag),))


def controlled_by(tree: JsonObject) -> list[JsonObject]:
    owner = tree["metadata"]
    place = {"apiVersion": tree["apiVersion"], "kind": tree["kind"]}
    return [{**place, "name": owner["name"], "uid": owner["uid"], "controller": True, "blockOwnerDeletion": True}]


class Workloads(World):
    """A world of Deployments, ReplicaSets and Pods, with their two controllers."""

    def __init__(self) -> None:
        super().__init__(DEPLOYMENTS, REPLICA_SETS, PODS)
        self.deployments = DeploymentReconciler(self.caches)
        self.replica_sets = ReplicaSetReconciler(self.caches)

    def passes(self) -> Iterator[Plan]:
        for tree in self.of("Deployment"):
            yield self.reconcile(self.deployments, key_of(tree))
        for tree in self.of("ReplicaSet"):
            yield self.reconcile(self.replica_sets, key_of(tree))

    def run(self, tree: JsonObject) -> None:
        """A node takes the Pod, and it becomes ready."""
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": format_timestamp(self.now)}
        self.change(ref_of(tree), spec={"nodeName": "n"}, status={"phase": "Running", "conditions": [ready]})

    def break_down(self, tree: JsonObject) -> None:
        self.change(ref_of(tree), status={"conditions": [{"type": "Ready", "status": "False"}]})

    def run_all(self) -> None:
        for tree in self.of("Pod"):
            if tree["status"].get("phase") == "Pending":
                self.run(tree)

    def bury(self) -> None:
        """The Pods that were asked to go are gone."""
        for tree in self.of("Pod"):
            if tree["metadata"].get("deletionTimestamp"):
                self.remove(ref_of(tree))

    def live(self, limit: int = 100) -> None:
        """Until nobody wants to write and every Pod runs or is gone."""
        for _ in range(limit):
            plans = list(self.passes())
            quiet = all(plan.is_empty for plan in plans)
            before = self._version
            self.run_all()
            self.bury()
            if quiet and before == self._version:
                return
        raise AssertionError(f"not settled after {limit} rounds")

    def notes(self) -> list[str]:
        return [event.note for event in self.events]


def key_of(tree: JsonObject) -> Key:
    return Key(tree["metadata"].get("namespace", ""), tree["metadata"]["name"])


DEPLOYMENT_REF = Ref("apps/v1", "Deployment", "ns", "web")
REPLICA_SET_REF = Ref("apps/v1", "ReplicaSet", "ns", "web")
