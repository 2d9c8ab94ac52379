"""The flags about how Pods are kept apart and where they get to: read, handed on, and refused in words."""

import argparse

import pytest

from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags, parse_ports
from heliostat.embedded.node.isolating.choices import DEFAULT_PORTS


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_local_node_flags(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    "flags", [(), ("--outbound=none",), ("--outbound=443,5432",), ("--isolation=user",), ("--isolation=none",)]
)
def test_what_is_asked_for_is_handed_on(flags: tuple[str, ...]) -> None:
    assert build_local_node_flags(parse(*flags)) == flags
    assert build_local_node_flags(parse(*build_local_node_flags(parse(*flags)))) == flags


@pytest.mark.parametrize(
    ("text", "ports"), [("none", ()), ("443", (443,)), ("80,443,80", (80, 443)), ("1,65535", (1, 65535))]
)
def test_ports_are_read(text: str, ports: tuple[int, ...]) -> None:
    assert parse_ports(text) == ports


def test_some_ports_are_reached_without_asking() -> None:
    assert parse().outbound == DEFAULT_PORTS


@pytest.mark.parametrize("text", ["", "0", "65536", "https", "80,", "-1", "80;443", "٤٤٣", "none,80"])
def test_what_is_no_port_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write them like 80,443, or none"):
        parse_ports(text)
