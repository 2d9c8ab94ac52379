"""Amounts of memory and storage that are no whole number of bytes."""

from collections.abc import Iterable, Iterator
from typing import Any

from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity

_MILLI, _WHOLE = 10**6, 1000  # nano units in a thousandth, thousandths in one


def fraction_cautions(amounts: dict[str, Any] | None, names: Iterable[str], path: str) -> Iterator[str]:
    for name in names:
        if amounts and name in amounts:
            quantity = Quantity.parse(amounts[name])
            if -(-quantity.nano // _MILLI) % _WHOLE:
                shown = go_quote(str(quantity))
                yield f"{path}[{name}]: fractional byte value {shown} is invalid, must be an integer"


def claim_spec_cautions(spec: JsonObject, path: str) -> Iterator[str]:
    resources = spec.get("resources") or {}
    for part in ("requests", "limits"):
        yield from fraction_cautions(resources.get(part), ("storage",), f"{path}.resources.{part}")
