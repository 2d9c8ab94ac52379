"""The flags for the operator of this machine: how they are handed on, and what is refused."""

import argparse

import pytest

from heliostat.cli.local_operator import add_local_operator_flags, build_local_operator_flags


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_local_operator_flags(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize("arguments", [(), ("--feature-gates=RayCronJob=true,RayMultiHostIndexing=false",)])
def test_flags_are_handed_on_as_they_were_given(arguments: tuple[str, ...]) -> None:
    assert build_local_operator_flags(parse(*arguments)) == arguments


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ("RayCronJobs=true", "unknown feature gate 'RayCronJobs'; did you mean RayCronJob?"),
        ("RayCronJob", "must read RayCronJob=true or RayCronJob=false"),
    ],
)
def test_a_gate_that_nobody_knows_is_refused_before_anything_starts(
    gates: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(f"--feature-gates={gates}")
    assert why in capsys.readouterr().err
