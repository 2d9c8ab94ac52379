"""The flags for the nodes of this machine: what they mean, how they are handed on, and what is refused."""

import argparse

import pytest

from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_local_node_flags(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--nodes=3",),
        ("--node-resources=nvidia.com/gpu=2,cpu=500m,memory=4Gi",),
        ("--nodes=100", "--node-resources=google.com/tpu=4", "--node-labels=example.com/zone=a,empty="),
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
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(argument: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(argument)
    assert why in capsys.readouterr().err
