"""Whatever comes: no node is given more than it has, nobody waits who fits, and only the view decides."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.cluster_shapes import cluster, node, pod
from heliostat.embedded.controllers.scheduler.accounts import NodeAccount
from heliostat.embedded.controllers.scheduler.decide import Cluster, can_take, schedule
from heliostat.embedded.controllers.scheduler.demand import build_demand
from heliostat.embedded.controllers.scheduler.filters import why_not
from heliostat.embedded.controllers.scheduler.preemption import Preemption, decide_preemption
from heliostat.embedded.controllers.scheduler.scores import rank, score_all
from heliostat.embedded.controllers.scheduler.verdicts import Placement, Unschedulable
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import Pod

pytestmark = pytest.mark.slow

ZONES = st.sampled_from(["x", "y"])
TAINTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    made = []
    for index in range(draw(st.integers(1, 4))):
        taints = [{"key": "k", "effect": effect} for effect in draw(st.lists(TAINTS, max_size=1))]
        spec = {"taints": taints, "unschedulable": draw(st.integers(0, 7)) == 0}
        offered = {"cpu": str(draw(st.integers(0, 4))), "memory": f"{draw(st.integers(1, 4))}Gi"}
        offered |= {"pods": str(draw(st.integers(0, 4))), "nvidia.com__gpu": str(draw(st.integers(0, 2)))}
        made.append(node(f"n{index}", labels={"zone": draw(ZONES)}, spec=spec, **offered))
    return made


@st.composite
def a_pod(draw: st.DrawFn, name: str) -> Pod:
    requests = {"cpu": f"{draw(st.integers(0, 30))}00m", "memory": f"{draw(st.integers(0, 20))}00Mi"}
    if draw(st.booleans()):
        requests["nvidia.com/gpu"] = str(draw(st.integers(0, 2)))
    spec: dict[str, Any] = {"priority": draw(st.integers(0, 2))}
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"zone": draw(ZONES)}
    if draw(st.integers(0, 3)) == 0:
        spec["tolerations"] = [{"key": "k", "operator": "Exists"}]
    kind = draw(st.sampled_from(["", "", "", "podAntiAffinity", "podAffinity", "preferred"]))
    if kind == "preferred":
        wish = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [draw(ZONES)]}]}
        wishes = [{"weight": draw(st.integers(1, 9)), "preference": wish}]
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}
    elif kind:
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": draw(st.sampled_from("ab"))}}}
        spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, labels={"app": draw(st.sampled_from("ab"))}, requests=requests, **spec)


@st.composite
def some_pods(draw: st.DrawFn) -> list[Pod]:
    """Of few kinds, as the Pods of real clusters are."""
    kinds = [draw(a_pod("kind")) for _ in range(draw(st.integers(1, 3)))]
    return [named(draw(st.sampled_from(kinds)), f"p{index}") for index in range(draw(st.integers(1, 10)))]


def named(one: Pod, name: str) -> Pod:
    return msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, name=name, uid=f"uid-{name}"))


def bound(one: Pod, place: str) -> Pod:
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, node_name=place))


def state(account: NodeAccount) -> Any:
    used = {name: amount for name, amount in account.used.items() if amount}
    return used, account.scored_cpu, account.scored_memory, account.ports, set(account.loads)


@given(nodes=some_nodes(), pods=some_pods())
@settings(max_examples=60)
def test_no_node_is_given_more_than_it_has_and_nobody_waits_who_fits(nodes: list[Node], pods: list[Pod]) -> None:
    where = cluster(nodes)
    for one in pods:
        demand = build_demand(one)
        verdict = schedule(demand, where)
        if isinstance(verdict, Unschedulable):
            assert not any(can_take(demand, name, where) for name in where.accounts.registered)
            continue
        assert can_take(demand, verdict.node, where)
        where.accounts.assume(demand.load, verdict.node)
        for account in where.accounts.registered.values():
            assert len(account.loads) <= account.pod_limit
            assert all(amount <= account.allocatable.get(name, 0) for name, amount in account.used.items())


@given(nodes=some_nodes(), pods=some_pods(), data=st.data())
@settings(max_examples=60)
def test_only_the_view_decides_and_not_what_was_asked_before(
    nodes: list[Node], pods: list[Pod], data: st.DataObject
) -> None:
    """One cluster lives through everything; at each step a new one of the same view must agree with it."""
    where = cluster(nodes)
    there: dict[str, Pod] = {}
    for one in pods:
        demand = build_demand(one)
        verdict = schedule(demand, where)
        assert schedule(demand, cluster(reversed(nodes), there.values())) == verdict
        if isinstance(verdict, Placement):
            where.accounts.assume(demand.load, verdict.node)
            there[one.metadata.name] = bound(one, verdict.node)
            where.change_pod(one, there[one.metadata.name])
        leaving = data.draw(st.sampled_from(["", *there]))
        if leaving:
            where.change_pod(there.pop(leaving), None)


@given(
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    asked=st.lists(st.integers(1, 3), min_size=1, max_size=20),
    data=st.data(),
)
@settings(max_examples=60)
def test_shortlists_forget_nothing(sizes: list[int], asked: list[int], data: st.DataObject) -> None:
    """Plain Pods of few shapes on plain nodes, where each decision builds on the shortlist of the one before."""
    nodes = [node(f"n{index}", cpu=str(size), memory=f"{size}Gi") for index, size in enumerate(sizes)]
    where = cluster(nodes)
    there: dict[str, Pod] = {}
    for index, cpu in enumerate(asked):
        one = pod(f"p{index}", requests={"cpu": str(cpu), "memory": f"{cpu}Gi"})
        verdict = schedule(build_demand(one), where)
        assert verdict == schedule(build_demand(one), cluster(nodes, there.values()))
        if isinstance(verdict, Placement):
            there[one.metadata.name] = bound(one, verdict.node)
            where.change_pod(None, there[one.metadata.name])
        leaving = data.draw(st.sampled_from(["", *there]))
        if leaving:
            where.change_pod(there.pop(leaving), None)


@given(nodes=some_nodes(), pods=some_pods())
@settings(max_examples=60)
def test_the_chosen_node_has_the_best_rank(nodes: list[Node], pods: list[Pod]) -> None:
    where = cluster(nodes)
    for one in pods:
        demand = build_demand(one)
        verdict = schedule(demand, where)
        if isinstance(verdict, Placement):
            able = {
                name: account
                for name, account in where.accounts.registered.items()
                if why_not(demand, account, where.survey(demand)) is None
            }
            scores = score_all(demand, list(able.values()))
            ranks = [rank(score, able[name], name) for score, name in zip(scores, able, strict=True)]
            assert min(ranks)[2] == verdict.node
            where.accounts.assume(demand.load, verdict.node)


@given(nodes=some_nodes(), pods=some_pods(), data=st.data())
@settings(max_examples=60)
def test_accounts_kept_by_changes_equal_accounts_made_anew(
    nodes: list[Node], pods: list[Pod], data: st.DataObject
) -> None:
    where = cluster(nodes)
    names = [each.metadata.name for each in nodes]
    now: dict[str, Pod] = {}
    for _ in range(data.draw(st.integers(1, 15))):
        one = data.draw(st.sampled_from(pods))
        before = now.get(one.metadata.name)
        deed = data.draw(st.sampled_from(["bind", "assume", "end", "remove", "forget"]))
        place = data.draw(st.sampled_from([*names, "unknown"]))
        if deed == "assume" and (before is None or not before.spec.node_name):
            where.accounts.assume(build_demand(one).load, place)
        elif deed == "forget" and (before is None or not before.spec.node_name):
            where.accounts.forget(one.metadata.key)
        elif deed == "remove":
            where.change_pod(before, None)
            now.pop(one.metadata.name, None)
        elif deed in ("bind", "end"):
            after = bound(one, place)
            if deed == "end":
                after = msgspec.structs.replace(after, status=msgspec.structs.replace(after.status, phase="Failed"))
            where.change_pod(before, after)
            now[one.metadata.name] = after
            assert not where.accounts.assumed_place(one.metadata.key)
    for one in pods:
        if where.accounts.assumed_place(one.metadata.key):
            where.accounts.forget(one.metadata.key)
    fresh = cluster(nodes, now.values())
    for name in names:
        assert state(where.accounts.registered[name]) == state(fresh.accounts.registered[name])
    assert where.accounts.apart_count == fresh.accounts.apart_count


@given(nodes=some_nodes(), pods=some_pods(), data=st.data())
@settings(max_examples=60)
def test_victims_are_weaker_and_their_leaving_is_needed_and_enough(
    nodes: list[Node], pods: list[Pod], data: st.DataObject
) -> None:
    there = [bound(one, data.draw(st.sampled_from(nodes)).metadata.name) for one in pods]
    where = cluster(nodes, there)
    demand = build_demand(data.draw(a_pod("strong")))
    verdict = schedule(demand, where)
    if isinstance(verdict, Placement):
        return
    outcome = decide_preemption(demand, verdict, where)
    if not isinstance(outcome, Preemption):
        return
    assert all(victim.priority < demand.load.priority for victim in outcome.victims)
    leaving = {victim.key for victim in outcome.victims}
    assert fits_without(nodes, there, leaving, outcome.node, demand)
    for spared in leaving:
        assert not fits_without(nodes, there, leaving - {spared}, outcome.node, demand)


def fits_without(nodes: list[Node], there: list[Pod], leaving: Any, place: str, demand: Any) -> bool:
    left: Cluster = cluster(nodes, [one for one in there if one.metadata.key not in leaving])
    return can_take(demand, place, left)
