import msgspec
import pytest

from embedded.controllers.cluster_shapes import cluster, node, pod
from heliostat.embedded.controllers.scheduler.decide import Cluster, schedule
from heliostat.embedded.controllers.scheduler.demand import build_demand
from heliostat.embedded.controllers.scheduler.preemption import NoPreemption, Preemption, decide_preemption
from heliostat.embedded.controllers.scheduler.verdicts import Unschedulable
from heliostat.embedded.controllers.views.pods import Pod

HALF = {"cpu": "5"}


def decide(new: Pod, where: Cluster) -> Preemption | NoPreemption:
    demand = build_demand(new)
    verdict = schedule(demand, where)
    assert isinstance(verdict, Unschedulable)
    return decide_preemption(demand, verdict, where)


def victims(outcome: Preemption | NoPreemption) -> tuple[str, list[str]]:
    assert isinstance(outcome, Preemption)
    return outcome.node, [load.metadata.name for load in outcome.victims]


def test_the_least_important_make_room() -> None:
    there = [
        pod("low", nodeName="a", requests=HALF, priority=1),
        pod("middle", nodeName="a", requests=HALF, priority=2),
    ]
    assert victims(decide(pod(requests=HALF, priority=9), cluster([node("a")], there))) == ("a", ["low"])


def test_among_equals_the_youngest_leaves() -> None:
    there = [
        pod("old", nodeName="a", requests=HALF, status={"startTime": "2026-01-01T00:00:00Z"}),
        pod("young", nodeName="a", requests=HALF, status={"startTime": "2026-01-02T00:00:00Z"}),
    ]
    assert victims(decide(pod(requests=HALF, priority=9), cluster([node("a")], there))) == ("a", ["young"])


@pytest.mark.parametrize(
    ("on_a", "on_b", "chosen"),
    [
        ([5], [4], "b"),  # the highest victim is lower
        ([5, 1], [5, 2], "a"),  # the sum is smaller
        ([5], [5, 0], "a"),  # fewer
    ],
)
def test_the_node_with_the_cheapest_victims(on_a: list[int], on_b: list[int], chosen: str) -> None:
    there = [
        pod(f"{place}{index}", nodeName=place, requests=HALF, priority=priority)
        for place, priorities in (("a", on_a), ("b", on_b))
        for index, priority in enumerate(priorities)
    ]
    node_name, _ = victims(decide(pod(requests={"cpu": "10"}, priority=9), cluster([node("a"), node("b")], there)))
    assert node_name == chosen


def test_whose_victims_are_still_leaving_waits() -> None:
    leaving = pod("leaving", nodeName="a", requests={"cpu": "10"})
    metadata = msgspec.structs.replace(leaving.metadata, deletion_timestamp="2026-01-31T12:00:30Z")
    going = msgspec.structs.replace(leaving, metadata=metadata)
    new = pod("new", requests=HALF, priority=9, status={"nominatedNodeName": "a"})
    outcome = decide(new, cluster([node("a")], [going]))
    assert outcome == NoPreemption(
        "not eligible due to a terminating pod on the nominated node.", keeps_nomination=True
    )


def test_who_keeps_a_stronger_one_away_by_affinity_can_be_removed() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "ray"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    there = pod("loner", nodeName="a", affinity=apart)
    outcome = decide(pod(labels={"app": "ray"}, priority=9), cluster([node("a")], [there]))
    assert victims(outcome) == ("a", ["loner"])
