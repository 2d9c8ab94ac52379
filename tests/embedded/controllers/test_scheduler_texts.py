"""The whole sentences, as ``kubectl describe`` shows them."""

from typing import Any

from embedded.controllers.cluster_shapes import cluster, node, place, pod
from heliostat.embedded.controllers.scheduler.verdicts import shorten_note

TAINTED = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}


def by_name(*names: str) -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def test_no_nodes() -> None:
    assert place(pod(), cluster([])) == "no nodes available to schedule pods"


def test_reasons_are_counted_and_sorted_as_texts() -> None:
    where = cluster([node("a", spec=TAINTED), node("b"), node("c")])
    assert place(pod(requests={"cpu": "11"}), where) == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_nobody_of_lower_priority() -> None:
    where = cluster([node("a", spec=TAINTED), node("b")], [pod("there", nodeName="b", requests={"cpu": "5"})])
    assert place(pod(requests={"cpu": "6", "memory": "1Gi"}), where) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )


def test_removing_everybody_would_not_be_enough() -> None:
    there = pod("there", nodeName="a", requests={"cpu": "9"}, priority=100)
    weak = pod("weak", nodeName="a", requests={"cpu": "1"})
    assert place(pod(requests={"cpu": "5"}, priority=10), cluster([node("a")], [there, weak])) == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_who_may_never_preempt() -> None:
    where = cluster([node("a")], [pod("there", nodeName="a", requests={"cpu": "9"})])
    assert place(pod(requests={"cpu": "5"}, priority=10, preemptionPolicy="Never"), where) == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never."
    )


def test_a_reason_of_the_whole_pod_stands_alone() -> None:
    blocked = "pod has unbound immediate PersistentVolumeClaims"
    assert place(pod(), cluster([node("a"), node("b")]), blocked) == (
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_a_node_called_by_name_is_the_only_one_looked_at() -> None:
    where = cluster([node("a"), node("b"), node("c")])
    assert place(pod(requests={"cpu": "11"}, **by_name("b")), where) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_names_that_exclude_each_other() -> None:
    assert place(pod(**by_name("a", "b")), cluster([node("a"), node("b")])) == (
        "0/2 nodes are available: pod affinity terms conflict. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_notes_of_events_have_a_limit() -> None:
    assert shorten_note("x" * 1024) == "x" * 1024
    assert shorten_note("x" * 1025) == "x" * 1020 + " ..."
    assert len(shorten_note("ä" * 600).encode()) <= 1024
