from typing import Any

import msgspec
import pytest

from embedded.controllers.cluster_shapes import cluster, node, place, pod, refusal
from heliostat.embedded.controllers.scheduler.demand import build_demand

SOFT = {"taints": [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]}


def test_the_emptiest_node_comes_first() -> None:
    there = [
        pod("x", nodeName="a", requests={"cpu": "2", "memory": "2Gi"}),
        pod("y", nodeName="c", requests={"cpu": "1", "memory": "1Gi"}),
    ]
    where = cluster([node("a"), node("b"), node("c")], there)
    assert place(pod(requests={"cpu": "1", "memory": "1Gi"}), where) == "b"


def test_the_share_counts_and_not_the_amount() -> None:
    there = [pod("x", nodeName="big", requests={"cpu": "4", "memory": "4Gi"})]
    where = cluster([node("big", cpu="100", memory="100Gi"), node("small", cpu="2", memory="2Gi")], there)
    assert place(pod(requests={"cpu": "1", "memory": "1Gi"}), where) == "big"


def test_pods_that_ask_for_nothing_spread_too() -> None:
    there = [pod(f"x{index}", nodeName="a") for index in range(5)]
    assert place(pod(), cluster([node("a"), node("b")], there)) == "b"


def test_balance_between_cpu_and_memory_counts() -> None:
    there = [pod("x", nodeName="a", requests={"cpu": "5", "memory": "1Gi"})]
    there += [pod("y", nodeName="b", requests={"cpu": "1", "memory": "5Gi"})]
    assert place(pod(requests={"cpu": "4", "memory": "100Mi"}), cluster([node("a"), node("b")], there)) == "b"


def test_equal_nodes_are_taken_by_pods_and_name() -> None:
    assert place(pod(), cluster([node("b"), node("a")])) == "a"


def test_a_taint_that_asks_to_stay_away_weighs_more_than_free_capacity() -> None:
    there = [pod("x", nodeName="b", requests={"cpu": "5", "memory": "5Gi"})]
    where = cluster([node("a", spec=SOFT), node("b")], there)
    new = pod(requests={"cpu": "1", "memory": "1Gi"})
    assert place(new, where) == "b"
    tolerant = pod(requests={"cpu": "1", "memory": "1Gi"}, tolerations=[{"key": "k", "operator": "Exists"}])
    assert place(tolerant, where) == "a"


def test_preferred_labels_by_weight() -> None:
    def preferred(weight: int, value: str) -> dict[str, Any]:
        expression = {"key": "zone", "operator": "In", "values": [value]}
        return {"weight": weight, "preference": {"matchExpressions": [expression]}}

    wishes = [preferred(1, "x"), preferred(10, "y")]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}
    where = cluster([node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c")])
    assert place(pod(affinity=affinity), where) == "b"
    assert refusal(pod(affinity=affinity), cluster([node("c")])) == ()


def near(side: str, match: dict[str, str], key: str = "zone", **more: Any) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": match}, **more}
    return {"affinity": {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


ZONES = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c", labels={"zone": "y"})]


def test_a_pod_goes_where_its_companions_are() -> None:
    where = cluster(ZONES, [pod("head", nodeName="b", labels={"app": "ray"}, requests={"cpu": "1"})])
    assert place(pod(**near("podAffinity", {"app": "ray"})), where) == "c"


def test_the_first_of_a_group_may_go_anywhere_and_strangers_may_not() -> None:
    group = near("podAffinity", {"app": "ray"})
    assert place(pod(labels={"app": "ray"}, **group), cluster(ZONES)) == "a"
    assert place(pod(labels={"app": "other"}, **group), cluster(ZONES)) == (
        "0/3 nodes are available: 3 node(s) didn't match pod affinity rules. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_who_wants_to_be_alone_keeps_away_and_keeps_others_away() -> None:
    loner = near("podAntiAffinity", {"app": "ray"})
    there = pod("loner", nodeName="b", labels={"app": "ray"}, **loner)
    where = cluster(ZONES, [there])
    assert place(pod("second", labels={"app": "ray"}, **loner), where) == "a"
    assert place(pod("plain", labels={"app": "ray"}), where) == "a"
    crowded = cluster(ZONES[1:], [there])
    assert refusal(pod("plain", labels={"app": "ray"}), cluster(ZONES[1:2], [there])) == (
        "node(s) didn't satisfy existing pods anti-affinity rules",
    )
    assert "2 node(s) didn't match pod anti-affinity rules" in place(pod("second", **loner), crowded)


@pytest.mark.parametrize(
    ("more", "is_near"),
    [
        ({}, False),
        ({"namespaces": ["default", "other"]}, True),
        ({"namespaceSelector": {}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "ml"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "web"}}}, False),
    ],
)
def test_companions_in_other_namespaces(more: dict[str, Any], is_near: bool) -> None:
    there = pod("head", nodeName="b", labels={"app": "ray"})
    there = msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, namespace="other"))
    where = cluster(ZONES, [there], {"other": {"team": "ml"}})
    assert (place(pod(**near("podAffinity", {"app": "ray"}, **more)), where) in ("b", "c")) is is_near


def spread(key: str = "zone", **more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": "ray"}}, **more}]}


def test_pods_spread_over_zones() -> None:
    where = cluster(ZONES, [pod("one", nodeName="a", labels={"app": "ray"})])
    assert place(pod(labels={"app": "ray"}, **spread()), where) in ("b", "c")
    full = cluster(
        [ZONES[0], node("b", labels={"zone": "y"}, cpu="1")], [pod("one", nodeName="a", labels={"app": "ray"})]
    )
    assert place(pod(labels={"app": "ray"}, requests={"cpu": "2"}, **spread()), full) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints. "
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )


def test_spreading_needs_the_label_and_enough_domains() -> None:
    assert refusal(pod(labels={"app": "ray"}, **spread()), cluster([node("a")])) == (
        "node(s) didn't match pod topology spread constraints (missing required label)",
    )
    where = cluster(ZONES[:1], [pod("one", nodeName="a", labels={"app": "ray"})])
    assert refusal(pod(labels={"app": "ray"}, **spread()), where) == ()
    assert refusal(pod(labels={"app": "ray"}, **spread(minDomains=2)), where) == (
        "node(s) didn't match pod topology spread constraints",
    )


def test_constraints_that_only_prefer_refuse_nobody() -> None:
    assert refusal(pod(**spread(whenUnsatisfiable="ScheduleAnyway")), cluster([node("a")])) == ()


def test_spreading_of_one_revision_by_its_label() -> None:
    old = pod("old", nodeName="a", labels={"app": "ray", "revision": "1"})
    where = cluster(ZONES[:1], [old])
    fresh = {"app": "ray", "revision": "2"}
    rule = spread(minDomains=2)
    assert refusal(pod(labels=fresh, **rule), where) != ()
    rule["topologySpreadConstraints"][0]["matchLabelKeys"] = ["revision"]
    assert refusal(pod(labels=fresh, **rule), where) == ()


def test_room_made_for_somebody_counts_as_taken_for_the_weaker() -> None:
    chosen = pod("strong", requests={"cpu": "8"}, priority=10, status={"nominatedNodeName": "a"})
    where = cluster([node("a")], [chosen])
    assert refusal(pod(requests={"cpu": "5"}), where) == ("Insufficient cpu",)
    assert place(pod(requests={"cpu": "5"}, priority=11), where) == "a"
    assert place(chosen, where) == "a"


def test_room_made_for_somebody_is_free_again_once_it_is_bound_elsewhere() -> None:
    chosen = pod("strong", requests={"cpu": "8"}, priority=10, status={"nominatedNodeName": "a"})
    where = cluster([node("a"), node("b")], [chosen])
    where.change_pod(
        chosen, pod("strong", requests={"cpu": "8"}, priority=10, nodeName="b", status={"nominatedNodeName": "a"})
    )
    assert not where.has_nominated
    assert place(pod(requests={"cpu": "9"}), where) == "a"


def test_pods_that_ask_for_the_same_have_the_same_shape() -> None:
    one, two = build_demand(pod("one", requests={"cpu": "1"})), build_demand(pod("two", requests={"cpu": "1"}))
    other = build_demand(pod("three", requests={"cpu": "1"}, nodeSelector={"a": "b"}))
    assert one.shape == two.shape != other.shape
