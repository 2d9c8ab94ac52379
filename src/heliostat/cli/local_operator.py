"""The flags for the operator: ``heliostat run`` and ``up`` take them and hand them on to ``heliostat operator``."""

import argparse

from heliostat.operator.flags import parse_feature_gates
from heliostat.operator.usage_error import UsageError


def add_local_operator_flags(parser: argparse.ArgumentParser, when: str = "") -> None:
    """``when`` they count, for the help."""
    parser.add_argument(
        "--feature-gates",
        type=parse_gates,
        default="",
        metavar="NAME=BOOL,…",
        help=f"{when}what the operator does beyond its defaults, or does not: RayCronJob=true,RayClusterMTLS=true",
    )


def build_local_operator_flags(options: argparse.Namespace) -> tuple[str, ...]:
    """The same, to be handed on."""
    return (f"--feature-gates={options.feature_gates}",) if options.feature_gates else ()


def parse_gates(text: str) -> str:
    """As it was given, once it is known to be good."""
    try:
        parse_feature_gates(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
