"""The flags for the nodes that this machine plays, which ``heliostat up`` takes and hands on to ``heliostat node``."""

import argparse
import re
from collections.abc import Callable

from heliostat.kube.names import label_key_problems, label_value_problems
from heliostat.kube.quantity import Quantity, QuantityError

MOST_NODES = 100
_OWN_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
_FRACTIONAL = ("cpu",)

Pairs = dict[str, str]


def add_local_node_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nodes",
        type=parse_count,
        default=1,
        metavar="N",
        help="play so many nodes; with --strict they share what the machine has (1)",
    )
    parser.add_argument(
        "--node-resources",
        type=parse_resources,
        default={},
        metavar="NAME=AMOUNT,…",
        help="what each node offers besides, or instead: nvidia.com/gpu=2,cpu=4; nobody checks that it is there",
    )
    parser.add_argument(
        "--node-labels", type=parse_labels, default={}, metavar="KEY=VALUE,…", help="labels that each node gets"
    )


def build_local_node_flags(options: argparse.Namespace) -> tuple[str, ...]:
    """The same, to be handed on."""
    flags = [f"--nodes={options.nodes}"] if options.nodes > 1 else []
    for name, pairs in (("--node-resources", options.node_resources), ("--node-labels", options.node_labels)):
        if pairs:
            flags.append(f"{name}={','.join(f'{key}={value}' for key, value in pairs.items())}")
    return tuple(flags)


def parse_count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes; give 1 to {MOST_NODES}")
    return int(text)


def parse_resources(text: str) -> Pairs:
    return _parse_pairs(text, _find_resource_problem, "write it like nvidia.com/gpu=2,cpu=4")


def parse_labels(text: str) -> Pairs:
    return _parse_pairs(text, _find_label_problem, "write it like example.com/zone=a,disk=fast")


def _parse_pairs(text: str, find_problem: Callable[[str, str], str], form: str) -> Pairs:
    pairs: Pairs = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, is_pair, value = part.partition("=")
        problem = find_problem(key, value) if is_pair else f"{part!r} has no ="
        if problem:
            raise argparse.ArgumentTypeError(f"{problem}; {form}")
        pairs[key] = value
    return pairs


def _find_resource_problem(name: str, amount: str) -> str:
    if name not in _OWN_RESOURCES and "/" not in name:
        return f"{name!r} is no resource: those of others have a domain in front, ours are {', '.join(_OWN_RESOURCES)}"
    for problem in label_key_problems(name):
        return f"{name!r}: {problem}"
    try:
        quantity = Quantity.parse(amount)
    except QuantityError:
        return f"{name}: {amount!r} is not an amount"
    if quantity.as_float() < 0:
        return f"{name}: {amount!r} is less than nothing"
    is_whole = quantity.as_float() == quantity.ceil()
    return "" if is_whole or name in _FRACTIONAL else f"{name}: {amount!r} is not whole"


def _find_label_problem(key: str, value: str) -> str:
    for problem in label_key_problems(key):
        return f"{key!r}: {problem}"
    for problem in label_value_problems(value):
        return f"{value!r}: {problem}"
    return ""
