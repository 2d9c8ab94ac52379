"""What this machine promises as one node, and as several."""

import os
from pathlib import Path

import pytest

from heliostat import __version__
from heliostat.embedded.controllers.nodes.machines import build_node
from heliostat.kube.quantity import Quantity
from heliostat.local.machine import NodeWishes, Traits, build_local_machines
from heliostat.local.system_facts import describe_system


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
    wishes = NodeWishes(count=2, of_all=Traits(resources={"nvidia.com/gpu": "2", "cpu": "1"}, labels={"zone": "a"}))
    for machine in build_local_machines(wishes):
        assert (machine.capacity["nvidia.com/gpu"], machine.capacity["cpu"]) == ("2", "1")
        assert machine.labels == {"heliostat.dev/local": "true", "zone": "a"}


def test_the_node_says_what_the_machine_runs() -> None:
    (machine,) = build_local_machines(NodeWishes())
    info = build_node(machine, "2026-01-01T00:00:00Z")["status"]["nodeInfo"]
    assert info["kernelVersion"] == os.uname().release
    assert info["containerRuntimeVersion"] == f"heliostat://{__version__}"
    assert info["bootID"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert "simulated" not in " ".join(info.values())
    assert build_node(machine, "now")["metadata"]["labels"]["kubernetes.io/arch"] == info["architecture"]


@pytest.mark.parametrize(
    ("release", "name"),
    [({"PRETTY_NAME": "Ubuntu 24.04", "NAME": "Ubuntu"}, "Ubuntu 24.04"), ({"NAME": "x"}, "x"), ({}, "unknown")],
)
def test_a_system_without_a_pretty_name_has_another(release: dict[str, str], name: str) -> None:
    assert describe_system(release) == name
