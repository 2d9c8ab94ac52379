"""A world of StatefulSets, their Pods and their claims, with their controller."""

from collections.abc import Iterator
from typing import Any

from embedded.controllers.plan_world import World
from embedded.controllers.workloads import LABELS, key_of, template
from heliostat.embedded.controllers.statefulsets.reconciler import StatefulSetReconciler
from heliostat.embedded.controllers.views.pods import PODS
from heliostat.embedded.controllers.views.statefulsets import STATEFUL_SETS
from heliostat.embedded.controllers.views.volume_claims import CLAIMS
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Plan, Ref, ref_of
from heliostat.kube.timestamps import format_timestamp

SET_REF = Ref("apps/v1", "StatefulSet", "ns", "db")


def stateful_set(replicas: int = 3, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "ns"},
        "spec": {
            "replicas": replicas,
            "serviceName": "dbs",
            "selector": {"matchLabels": LABELS},
            "template": template(),
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            **spec,
        },
        "status": {"replicas": 0, "availableReplicas": 0},
    }


def claim_template(name: str = "data") -> JsonObject:
    return {"metadata": {"name": name, "labels": {"kind": "disk"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}


class StatefulWorld(World):
    def __init__(self) -> None:
        super().__init__(STATEFUL_SETS, PODS, CLAIMS)
        self.sets = StatefulSetReconciler(self.caches)

    def one_pass(self) -> Plan:
        self.ever_created.clear()  # names come back, that is what it is for
        return self.reconcile(self.sets, key_of(self.one("StatefulSet")))

    def run(self, tree: JsonObject) -> None:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": format_timestamp(self.now)}
        self.change(ref_of(tree), spec={"nodeName": "n"}, status={"phase": "Running", "conditions": [ready]})

    def step(self) -> list[str]:
        """One pass, then every Pod that was asked to go is gone and every new one runs. Names, with what became."""
        before = {tree["metadata"]["name"] for tree in self.of("Pod")}
        self.one_pass()
        for tree in self.of("Pod"):
            if tree["metadata"].get("deletionTimestamp"):
                self.remove(ref_of(tree))
            elif tree["status"].get("phase") == "Pending":
                self.run(tree)
        after = {tree["metadata"]["name"] for tree in self.of("Pod")}
        return sorted([*(f"+{name}" for name in after - before), *(f"-{name}" for name in before - after)])

    def live(self) -> list[list[str]]:
        """Until there is nothing left to do: what happened, step by step."""
        return list(self._steps())

    def _steps(self) -> Iterator[list[str]]:
        for _ in range(100):
            version = self._version
            if step := self.step():
                yield step
            if version == self._version:
                return
        raise AssertionError("not settled after 100 steps")

    def names(self) -> list[str]:
        return [tree["metadata"]["name"] for tree in self.of("Pod")]
