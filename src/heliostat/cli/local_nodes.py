"""The flags for the nodes that this machine plays, which ``heliostat up`` takes and hands on to ``heliostat node``."""

import argparse
import re

from heliostat.cli.errors import CommandError
from heliostat.cli.node_traits import merge_wishes, parse_labels, parse_resources, parse_taints
from heliostat.embedded.doors.node_choices import AUTO, DEFAULT_PORTS, NONE, WAYS
from heliostat.local.machine import NodeWishes

MOST_NODES = 100
_LAST_PORT = 65_535


def add_local_node_flags(parser: argparse.ArgumentParser, when: str = "") -> None:
    """``when`` begins each help text."""
    parser.add_argument(
        "--nodes",
        type=parse_count,
        default=1,
        metavar="N",
        help=f"{when}register this many nodes; with --strict they share the machine's capacity (1)",
    )
    parser.add_argument(
        "--node-resources",
        type=parse_resources,
        action="append",
        default=[],
        metavar="[N:]NAME=AMOUNT,…",
        help=f"{when}what each node, or node N, offers besides, or instead: nvidia.com/gpu=2,cpu=4; nobody checks that"
        " it is there; may be repeated",
    )
    parser.add_argument(
        "--node-labels",
        type=parse_labels,
        action="append",
        default=[],
        metavar="[N:]KEY=VALUE,…",
        help=f"{when}labels that each node, or node N, gets; may be repeated",
    )
    parser.add_argument(
        "--node-taints",
        type=parse_taints,
        action="append",
        default=[],
        metavar="[N:]KEY[=VALUE]:EFFECT,…",
        help=f"{when}taints that each node, or node N, gets: dedicated=ray:NoSchedule; may be repeated",
    )
    parser.add_argument(
        "--isolation",
        choices=(AUTO, *WAYS),
        default=AUTO,
        help=f"{when}how Pods are isolated: as root, in a user namespace, or not at all; the first that works (auto)",
    )
    parser.add_argument(
        "--outbound",
        type=parse_ports,
        default=DEFAULT_PORTS,
        metavar="PORT,…",
        help=f"{when}TCP ports of other machines that Pods reach, or none ({','.join(map(str, DEFAULT_PORTS))})",
    )


def build_local_node_flags(options: argparse.Namespace) -> tuple[str, ...]:
    """The same, to be handed on."""
    flags = [f"--nodes={options.nodes}"] if options.nodes > 1 else []
    flags += [f"--node-resources={wish.text}" for wish in options.node_resources]
    flags += [f"--node-labels={wish.text}" for wish in options.node_labels]
    flags += [f"--node-taints={wish.text}" for wish in options.node_taints]
    if options.outbound != DEFAULT_PORTS:
        flags.append(f"--outbound={','.join(map(str, options.outbound)) or NONE}")
    if options.isolation != AUTO:
        flags.append(f"--isolation={options.isolation}")
    return tuple(flags)


def check_isolation(options: argparse.Namespace) -> None:
    """A wish that the system refuses is refused before anything is started. Raises CommandError."""
    if options.isolation in (AUTO, NONE):
        return
    from heliostat.embedded.doors.node_choices import isolation

    try:
        isolation.decide_isolation(options.isolation, isolation.observe_trials())
    except isolation.NoIsolationError as error:
        raise CommandError(str(error), 1) from None


def build_node_wishes(options: argparse.Namespace, name: str = "") -> NodeWishes:
    """Raises CommandError for a node that there is not."""
    wishes = (*options.node_resources, *options.node_labels, *options.node_taints)
    of_all, of_each = merge_wishes(wishes, options.nodes)
    return NodeWishes(name=name, count=options.nodes, is_strict=options.strict, of_all=of_all, of_each=of_each)


def parse_ports(text: str) -> tuple[int, ...]:
    """Of other machines; ``none`` for none."""
    if text == NONE:
        return ()
    ports = [int(part) if part.isascii() and part.isdecimal() else 0 for part in text.split(",")]
    if not all(1 <= port <= _LAST_PORT for port in ports):
        raise argparse.ArgumentTypeError(f"{text!r} are no TCP ports; write them like 80,443, or none")
    return tuple(dict.fromkeys(ports))


def parse_count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes; give 1 to {MOST_NODES}")
    return int(text)
