"""What a Pod asks for as a whole: the sum of its containers, the most of its init containers, its quality of service.

Rules: init containers run one after the other beside the sidecars started before them; overhead comes on top; what the
Pod itself says (``spec.resources``) wins for the resources it names. Quality looks at processor and memory alone.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity

Amounts: TypeAlias = dict[str, Quantity]

_COMPUTE = ("cpu", "memory")
GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


def read_amounts(resources: dict[str, Any] | None) -> Amounts:
    return {name: Quantity.parse(value) for name, value in (resources or {}).items()}


def add_amounts(left: Amounts, right: Amounts) -> Amounts:
    total = dict(left)
    for name, quantity in right.items():
        total[name] = total[name] + quantity if name in total else quantity
    return total


def most_of(left: Amounts, right: Amounts) -> Amounts:
    most = dict(left)
    for name, quantity in right.items():
        if name not in most or most[name] < quantity:
            most[name] = quantity
    return most


def pod_amounts(spec: JsonObject, part: str) -> Amounts:
    """``part`` is ``requests`` or ``limits``."""
    total = container_amounts(spec, part)
    own = read_amounts((spec.get("resources") or {}).get(part))
    total |= own
    overhead = read_amounts(spec.get("overhead"))
    if part == "limits":
        overhead = {name: quantity for name, quantity in overhead.items() if name in total}
    return add_amounts(total, overhead)


def container_amounts(spec: JsonObject, part: str) -> Amounts:
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = add_amounts(total, _asked(container, part))
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container, part)
        if container.get("restartPolicy") == "Always":
            sidecars = add_amounts(sidecars, asked)
            total = add_amounts(total, asked)
            most = most_of(most, sidecars)
        else:
            most = most_of(most, add_amounts(sidecars, asked))
    return most_of(total, most)


def _asked(container: JsonObject, part: str) -> Amounts:
    return read_amounts((container.get("resources") or {}).get(part))


def quality_of_service(spec: JsonObject) -> str:
    own = spec.get("resources")
    parts = [own] if own else [container.get("resources") or {} for container in _containers(spec)]
    requests: Amounts = {}
    limits: Amounts = {}
    is_guaranteed = True
    for part in parts:
        limited = _compute(part.get("limits"))
        requests = add_amounts(requests, _compute(part.get("requests")))
        limits = add_amounts(limits, limited)
        is_guaranteed = is_guaranteed and len(limited) == len(_COMPUTE)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if is_guaranteed and requests == limits else BURSTABLE


def _containers(spec: JsonObject) -> Iterable[JsonObject]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _compute(resources: dict[str, Any] | None) -> Amounts:
    if not resources:
        return {}
    amounts = {name: Quantity.parse(resources[name]) for name in _COMPUTE if name in resources}
    return {name: quantity for name, quantity in amounts.items() if quantity.nano > 0}
