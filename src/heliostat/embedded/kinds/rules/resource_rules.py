"""Resource names and amounts: what containers, Pods, claims and quotas may ask for.

Rules: a name without a slash must be one Kubernetes knows; extended resources and huge pages cannot be overcommitted,
so their request equals their limit; amounts are not negative, and countable things are whole.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from heliostat.embedded.kinds.rules.causes import (
    NOT_NEGATIVE,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from heliostat.embedded.kinds.rules.name_rules import label_key_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity, QuantityError

NameCheck: TypeAlias = Callable[[str, str], list[Cause]]

CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_REQUESTED = ("cpu", "memory", "ephemeral-storage")
COUNTED = (
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
)  # fmt: skip
QUOTA_RESOURCES = frozenset(
    {*_REQUESTED, *(f"requests.{name}" for name in (*_REQUESTED, "storage")),
     *(f"limits.{name}" for name in _REQUESTED), *COUNTED}
)  # fmt: skip
STANDARD_RESOURCES = QUOTA_RESOURCES | {"storage"}
_POD_LEVEL = ("cpu", "hugepages-", "memory")
HUGE_PAGES = "hugepages-"


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def can_be_overcommitted(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


def is_counted(name: str) -> bool:
    """Only whole numbers of it make sense."""
    return name in COUNTED or not is_native(name)


def read_quantity(value: Any) -> Quantity:
    """Zero for what is no quantity; decoding has refused that already."""
    try:
        return Quantity.parse(value)
    except QuantityError:
        return Quantity(0)


def amount_causes(name: str, value: str, path: str) -> list[Cause]:
    return each_invalid(path, value, _amount_problems(value, is_counted(name)))


@lru_cache(maxsize=4096)
def _amount_problems(value: str, counted: bool) -> tuple[str, ...]:
    quantity = read_quantity(value)
    negative = (NOT_NEGATIVE,) if quantity.nano < 0 else ()
    return (*negative, "must be an integer") if counted and quantity.nano % 10**9 else negative


def known_resource_causes(name: str, path: str) -> list[Cause]:
    if problems := label_key_problems(name):
        return each_invalid(path, name, problems)
    if "/" not in name and name not in STANDARD_RESOURCES and not _is_huge_pages(name):
        return [invalid(path, name, "must be a standard resource type or fully qualified")]
    return []


def _is_huge_pages(name: str) -> bool:
    return name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def container_resource_causes(name: str, path: str) -> list[Cause]:
    if name in CONTAINER_RESOURCES:
        return []
    causes = known_resource_causes(name, path)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES):
            causes.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and (name.startswith("requests.") or label_key_problems(f"requests.{name}")):
        causes.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return causes


def pod_resource_causes(name: str, path: str) -> list[Cause]:
    causes = known_resource_causes(name, path)
    if not causes and not name.startswith(_POD_LEVEL):
        causes.append(not_supported(path, name, _POD_LEVEL))
    return causes


def quota_resource_causes(name: str, path: str) -> list[Cause]:
    causes = known_resource_causes(name, path)
    if "/" not in name and name not in QUOTA_RESOURCES and not _is_huge_pages(name):
        causes.append(invalid(path, name, "must be a standard resource for quota"))
    return causes


def requirement_causes(
    resources: JsonObject, claims: frozenset[str], path: str, check_name: NameCheck = container_resource_causes
) -> Iterator[Cause]:
    """The ``resources`` of a container or a Pod."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, value in limits.items():
        yield from _one_amount(name, value, f"{path}.limits[{name}]", check_name)
    for name, value in requests.items():
        yield from _one_amount(name, value, f"{path}.requests[{name}]", check_name)
        if limits.get(name) != value:
            yield from _against_limit(name, value, limits, path)
    names = limits.keys() | requests.keys()
    if not names & {"cpu", "memory"} and any(name.startswith(HUGE_PAGES) for name in names):
        yield forbidden(path, "HugePages require cpu or memory")
    if "claims" in resources:
        yield from _claim_causes(resources["claims"], claims, f"{path}.claims")


def _one_amount(name: str, value: str, path: str, check_name: NameCheck) -> list[Cause]:
    causes = check_name(name, path) + amount_causes(name, value, path)
    return causes + _huge_page_causes(name, value, path) if name.startswith(HUGE_PAGES) else causes


def _against_limit(name: str, value: str, limits: JsonObject, path: str) -> Iterator[Cause]:
    limit = limits.get(name)
    if limit is None:
        if not can_be_overcommitted(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    asked, most = read_quantity(value), read_quantity(limit)
    if asked != most and not can_be_overcommitted(name):
        yield invalid(f"{path}.requests", value, f"must be equal to {name} limit of {limit}")
    elif asked > most:
        yield invalid(f"{path}.requests", value, f"must be less than or equal to {name} limit of {limit}")


def _huge_page_causes(name: str, value: str, path: str) -> list[Cause]:
    size = read_quantity(name.removeprefix(HUGE_PAGES))
    if size.nano > 0 and read_quantity(value).nano % size.nano == 0:
        return []
    return [invalid(path, value, f"{value} is not positive integer multiple of {name}")]


def _claim_causes(used: list[JsonObject], claims: frozenset[str], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(used):
        name = claim.get("name", "")
        if not name:
            yield required(f"{path}[{index}]")
            continue
        key = f"{name}/{claim['request']}" if claim.get("request") else name
        if key in seen:
            yield duplicate(f"{path}[{index}]", key)
        elif name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            yield not_found(f"{path}[{index}]", name, f"must be one of the names in pod.spec.resourceClaims{known}")
        seen.add(key)
