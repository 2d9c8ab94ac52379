"""What somebody types about the nodes of this machine: resources, labels and taints, of all nodes or of one.

    nvidia.com/gpu=2,cpu=4      1:disk=fast      dedicated=ray:NoSchedule      2:spot:PreferNoSchedule

A number in front means the node of that number; the first is 0.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from heliostat.cli.errors import CommandError
from heliostat.embedded.doors.machines import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint
from heliostat.kube.names import label_key_problems, label_value_problems
from heliostat.kube.quantity import Quantity, QuantityError
from heliostat.local.machine import Traits

_NUMBERED: Final = re.compile(r"(?:([0-9]{1,3}):)?(.*)", re.DOTALL | re.ASCII)
_TAINT: Final = re.compile(r"([^=:]*)(?:=([^:]*))?:(.*)", re.DOTALL)
_EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_OWN_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")
_FRACTIONAL: Final = ("cpu",)


class TraitWish(Struct, frozen=True):
    text: str  # as it was typed
    number: int | None  # of the node; None: of each
    traits: Traits


def parse_resources(text: str) -> TraitWish:
    form = "write it like nvidia.com/gpu=2,cpu=4, or 1:cpu=4 for node 1 alone"
    number, rest = _split_number(text)
    return TraitWish(text, number, Traits(resources=_parse_pairs(rest, _find_resource_problem, form)))


def parse_labels(text: str) -> TraitWish:
    form = "write it like example.com/zone=a,disk=fast, or 1:disk=slow for node 1 alone"
    number, rest = _split_number(text)
    return TraitWish(text, number, Traits(labels=_parse_pairs(rest, _find_label_problem, form)))


def parse_taints(text: str) -> TraitWish:
    number, rest = _split_number(text)
    if number is not None and rest in _EFFECTS:  # the number was the key of a taint
        number, rest = None, text
    return TraitWish(text, number, Traits(taints=tuple(map(_parse_taint, _parts(rest)))))


def merge_wishes(wishes: Iterable[TraitWish], count: int) -> tuple[Traits, Mapping[int, Traits]]:
    """Those of all nodes, and those of some. Raises CommandError for a node that there is not."""
    of_all, of_each = Traits(), dict[int, Traits]()
    for wish in wishes:
        if wish.number is None:
            of_all = of_all.with_more(wish.traits)
        elif wish.number < count:
            of_each[wish.number] = of_each.get(wish.number, Traits()).with_more(wish.traits)
        else:
            there = "node 0 alone" if count == 1 else f"nodes 0 to {count - 1}"
            raise CommandError(f"{wish.text!r}: there is no node {wish.number}, with --nodes={count} there are {there}")
    return of_all, of_each


def _split_number(text: str) -> tuple[int | None, str]:
    found = _NUMBERED.fullmatch(text)
    number, rest = found.groups() if found is not None else (None, text)
    return (int(number) if number is not None else None), rest


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_taint(part: str) -> Taint:
    found = _TAINT.fullmatch(part)
    if found is None:
        raise argparse.ArgumentTypeError(f"{part!r} has no effect; {_TAINT_FORM}")
    key, value, effect = found.group(1), found.group(2) or "", found.group(3)
    if effect not in _EFFECTS:
        raise argparse.ArgumentTypeError(f"{effect!r} is no effect of a taint: give {', '.join(_EFFECTS)}")
    problem = _find_label_problem(key, value)
    if problem:
        raise argparse.ArgumentTypeError(f"{problem}; {_TAINT_FORM}")
    return Taint(key, effect, value)


_TAINT_FORM: Final = "write it like dedicated=ray:NoSchedule, or 1:spot:NoExecute for node 1 alone"


def _parse_pairs(text: str, find_problem: Callable[[str, str], str], form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in _parts(text):
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
