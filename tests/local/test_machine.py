"""What this machine promises as one node, and as several."""

import os

import pytest

from heliostat.kube.quantity import Quantity
from heliostat.local.machine import NodeWishes, build_local_machines


def test_further_nodes_are_numbered_and_alike() -> None:
    machines = build_local_machines(NodeWishes(name="here", count=3))
    assert [machine.name for machine in machines] == ["here", "here-1", "here-2"]
    assert machines[0].capacity == machines[1].capacity == machines[2].capacity


def test_a_node_without_a_name_has_the_machine_s() -> None:
    (machine,) = build_local_machines(NodeWishes())
    assert machine.name


def test_samples_fit_on_each_node_unless_it_has_to_be_strict() -> None:
    (alone,) = build_local_machines(NodeWishes())
    among_three = build_local_machines(NodeWishes(count=3))[2]
    assert alone.capacity == among_three.capacity
    assert Quantity.parse(alone.capacity["cpu"]).as_float() > len(os.sched_getaffinity(0))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage"])
def test_strict_nodes_promise_together_no_more_than_there_is(resource: str, count: int) -> None:
    (alone,) = build_local_machines(NodeWishes(is_strict=True))
    shared = build_local_machines(NodeWishes(is_strict=True, count=count))
    total = sum(Quantity.parse(machine.capacity[resource]).as_float() for machine in shared)
    whole = Quantity.parse(alone.capacity[resource]).as_float()
    assert 0.99 * whole <= total <= whole


def test_what_is_wished_for_comes_besides_or_instead() -> None:
    wishes = NodeWishes(count=2, resources={"nvidia.com/gpu": "2", "cpu": "1"}, labels={"zone": "a"})
    for machine in build_local_machines(wishes):
        assert (machine.capacity["nvidia.com/gpu"], machine.capacity["cpu"]) == ("2", "1")
        assert machine.labels == {"heliostat.dev/local": "true", "zone": "a"}
