"""The flags for nodes without processes, which two commands take."""

import argparse
from typing import TYPE_CHECKING

from heliostat.cli.errors import CommandError

if TYPE_CHECKING:
    from heliostat.embedded.doors.simulated_nodes import Simulation


def add_node_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--simulated-nodes",
        type=_count,
        default=0,
        metavar="N",
        help="register this many simulated nodes: their Pods become Ready, end and go without any process (0)",
    )
    parser.add_argument(
        "--stages",
        choices=("default", "fast"),
        default="default",
        help="how Pods live there: as their annotation heliostat.dev/simulate asks (default), or with the fewest"
        " writes, Ready at once and never ending by themselves (fast)",
    )


def build_simulation(options: argparse.Namespace) -> "Simulation | None":
    """What simulates is loaded here: a server that has no such nodes starts without it."""
    if not options.simulated_nodes:
        return None
    from heliostat.embedded.doors.simulated_nodes import (
        DEFAULT_STAGES,
        FAST_STAGES,
        Simulation,
        TooManyMachinesError,
        build_machines,
    )

    try:
        machines = build_machines(options.simulated_nodes)
    except TooManyMachinesError:
        raise CommandError("--simulated-nodes: there is room for 256 nodes at most") from None
    return Simulation(machines, FAST_STAGES if options.stages == "fast" else DEFAULT_STAGES)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes; give 0 or more")
    return int(text)
