"""Nodes and Pods for tests of scheduling and simulated nodes, written as the API writes them."""

from collections.abc import Iterable
from typing import Any

import msgspec

from heliostat.embedded.controllers.scheduler.decide import Cluster, schedule
from heliostat.embedded.controllers.scheduler.demand import Demand, build_demand
from heliostat.embedded.controllers.scheduler.preemption import NoPreemption, decide_preemption
from heliostat.embedded.controllers.scheduler.verdicts import Placement, Unschedulable, tell_unschedulable
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.jsontree import JsonObject


def node_tree(name: str, *, labels: dict[str, str] | None = None, spec: Any = None, **offered: str) -> JsonObject:
    """``offered`` resources, with _ for - and /; 10 CPUs, 10Gi and 110 Pods unless told."""
    allocatable = {"cpu": "10", "memory": "10Gi", "pods": "110"} | {
        key.replace("__", "/").replace("_", "-"): value for key, value in offered.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | (labels or {})},
        "spec": spec or {},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def pod_tree(name: str, *, requests: Any = None, labels: Any = None, status: Any = None, **spec: Any) -> JsonObject:
    container = {"name": "main", "image": "image", "resources": {"requests": requests or {}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-01-31T12:00:00Z",
            "labels": labels or {},
        },
        "spec": {"containers": [container], **spec},
        "status": {"phase": "Pending", **(status or {})},
    }


def node(name: str, **more: Any) -> Node:
    return msgspec.convert(node_tree(name, **more), Node)


def pod(name: str = "pod", **more: Any) -> Pod:
    return msgspec.convert(pod_tree(name, **more), Pod)


def cluster(nodes: Iterable[Node], pods: Iterable[Pod] = (), namespaces: Any = None) -> Cluster:
    made = Cluster(namespaces)
    for each in nodes:
        made.accounts.change_node(None, each)
    for one in pods:
        made.change_pod(None, one)
    return made


def place(new: Pod, where: Cluster, blocked: str = "") -> str:
    """The node, or the whole text of the refusal."""
    demand = build_demand(new)
    verdict = schedule(demand, where, blocked)
    return verdict.node if isinstance(verdict, Placement) else explain(demand, verdict, where)


def explain(demand: Demand, verdict: Unschedulable, where: Cluster) -> str:
    outcome = decide_preemption(demand, verdict, where)
    return tell_unschedulable(verdict, outcome.text if isinstance(outcome, NoPreemption) else "")


def refusal(new: Pod, where: Cluster) -> tuple[str, ...]:
    """The reasons of the only node."""
    verdict = schedule(build_demand(new), where)
    if isinstance(verdict, Placement):
        return ()
    (found,) = verdict.refusals.values()
    return found.reasons
