"""How much of each resource a Pod asks for, by the formula that is part of Kubernetes' API.

Containers and sidecars count together; init containers run one after the other beside the sidecars started before
them, so the highest moment counts; what the Pod as a whole asks for takes the place of the sum; overhead comes on top.
Amounts are whole numbers: thousandths of a CPU, units of everything else, rounded up.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from heliostat.embedded.controllers.views.pods import Container, PodSpec
from heliostat.kube.quantity import Quantity

Amounts: TypeAlias = Mapping[str, int]

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
# What scoring assumes of a container that does not say what it needs.
ASSUMED: Amounts = {CPU: 100_000_000, MEMORY: 200 * 2**20 * 10**9}
_NANO = 10**9
_NANO_PER_MILLI = 10**6


def total_requests(spec: PodSpec, when_missing: Amounts | None = None) -> dict[str, int]:
    """``when_missing``: nano units that count for a container that does not name the resource."""
    total = _sum_containers(spec, when_missing or {})
    if spec.resources is not None:
        total |= {name: amount for name, amount in _nano(spec.resources.requests).items() if _is_for_whole_pods(name)}
    _add(total, _nano(spec.overhead))
    return {name: _whole(name, amount) for name, amount in total.items()}


@lru_cache(maxsize=4096)
def amount_of(name: str, text: str | int) -> int:
    return _whole(name, Quantity.parse(text).nano)


def _sum_containers(spec: PodSpec, when_missing: Amounts) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, _asked(container, when_missing))
    if not spec.init_containers:
        return total
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in spec.init_containers:
        asked = _asked(container, when_missing)
        if container.restart_policy == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            asked = sidecars
        else:
            _add(asked, sidecars)
        _raise(peak, asked)
    _raise(total, peak)
    return total


def _asked(container: Container, when_missing: Amounts) -> dict[str, int]:
    return {**when_missing, **_nano(container.resources.requests)}


def _nano(quantities: Mapping[str, str | int]) -> dict[str, int]:
    return {name: Quantity.parse(text).nano for name, text in quantities.items()}


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], least: Amounts) -> None:
    for name, amount in least.items():
        if amount > total.get(name, 0):
            total[name] = amount


def _is_for_whole_pods(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _whole(name: str, nano: int) -> int:
    return -(-nano // (_NANO_PER_MILLI if name == CPU else _NANO))
