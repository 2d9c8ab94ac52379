"""The flags for the nodes of this machine: what they mean, how they are handed on, and what is refused."""

import argparse

import pytest

from heliostat.cli.errors import CommandError
from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags, build_node_wishes
from heliostat.embedded.controllers.views.nodes import Taint
from heliostat.local.machine import build_local_machines


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_local_node_flags(parser)
    return parser.parse_args(arguments, argparse.Namespace(strict=False))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--nodes=3",),
        ("--node-resources=nvidia.com/gpu=2,cpu=500m,memory=4Gi",),
        ("--nodes=100", "--node-resources=google.com/tpu=4", "--node-labels=example.com/zone=a,empty="),
        ("--nodes=2", "--node-labels=zone=a", "--node-labels=1:zone=b"),
        ("--node-taints=dedicated=ray:NoSchedule,spot:NoExecute",),
    ],
)
def test_flags_are_handed_on_as_they_were_given(arguments: tuple[str, ...]) -> None:
    options = parse(*arguments)
    assert build_local_node_flags(options) == arguments
    assert parse(*build_local_node_flags(options)) == options


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("--nodes=0", "'0' is not a number of nodes; give 1 to 100"),
        ("--nodes=101", "give 1 to 100"),
        ("--nodes=-1", "give 1 to 100"),
        ("--nodes=²", "give 1 to 100"),
        ("--node-resources=gpu=2", "'gpu' is no resource: those of others have a domain in front"),
        ("--node-resources=nvidia.com/gpu", "'nvidia.com/gpu' has no =; write it like nvidia.com/gpu=2,cpu=4"),
        ("--node-resources=nvidia.com/gpu=", "nvidia.com/gpu: '' is not an amount"),
        ("--node-resources=nvidia.com/gpu=1.5", "nvidia.com/gpu: '1.5' is not whole"),
        ("--node-resources=cpu=-1", "cpu: '-1' is less than nothing"),
        ("--node-resources=a/b/c=1", "'a/b/c': "),
        ("--node-labels=a b=c", "'a b': name part must consist of"),
        ("--node-labels=a=b c", "'b c': "),
        ("--node-labels=1:a", "'a' has no =; write it like"),
        ("--node-taints=spot", "'spot' has no effect; write it like dedicated=ray:NoSchedule"),
        ("--node-taints=a=b:Never", "'Never' is no effect of a taint: give NoSchedule, PreferNoSchedule, NoExecute"),
        ("--node-taints=a b:NoExecute", "'a b': name part must consist of"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(argument: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(argument)
    assert why in capsys.readouterr().err


def test_each_node_is_as_all_should_be_and_as_it_alone_should_be() -> None:
    options = parse(
        "--nodes=3",
        "--node-labels=zone=a,disk=slow",
        "--node-labels=1:zone=b",
        "--node-resources=2:nvidia.com/gpu=4",
        "--node-taints=dedicated=ray:NoSchedule",
        "--node-taints=2:dedicated=gpu:NoSchedule,spot:NoExecute",
    )
    machines = build_local_machines(build_node_wishes(options, "m"))
    assert [(machine.name, machine.labels["zone"], machine.labels["disk"]) for machine in machines] == [
        ("m", "a", "slow"),
        ("m-1", "b", "slow"),
        ("m-2", "a", "slow"),
    ]
    assert [machine.capacity.get("nvidia.com/gpu") for machine in machines] == [None, None, "4"]
    of_all = (Taint("dedicated", "NoSchedule", "ray"),)
    of_last = (Taint("dedicated", "NoSchedule", "gpu"), Taint("spot", "NoExecute"))
    assert [machine.taints for machine in machines] == [of_all, of_all, of_last]


def test_a_number_may_also_be_the_key_of_a_taint() -> None:
    (machine,) = build_local_machines(build_node_wishes(parse("--node-taints=0:NoSchedule")))
    assert machine.taints == (Taint("0", "NoSchedule"),)


def test_a_wish_for_a_node_that_there_is_not_is_refused() -> None:
    with pytest.raises(CommandError, match="there is no node 2, with --nodes=2 there are nodes 0 to 1"):
        build_node_wishes(parse("--nodes=2", "--node-labels=2:a=b"))
