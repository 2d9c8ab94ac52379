"""LimitRanges: the least, the usual and the most of a resource stand in that order."""

from collections.abc import Iterator
from typing import TypeAlias

from heliostat.embedded.kinds.pods.pod_resources import Amounts, read_amounts
from heliostat.embedded.kinds.rules.causes import duplicate, each_invalid, forbidden, invalid, required
from heliostat.embedded.kinds.rules.name_rules import label_key_problems
from heliostat.embedded.kinds.rules.resource_rules import (
    can_be_overcommitted,
    container_resource_causes,
    known_resource_causes,
)
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_PARTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = Quantity.parse(1)

# smaller part, larger part, where it is told, whose value is shown, in which words
_ORDER = (
    ("min", "max", "min", "min", "min value {0} is greater than max value {1}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest",
     "min value {0} is greater than default request value {1}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest",
     "default request value {0} is greater than max value {1}"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest",
     "default request value {0} is greater than default limit value {1}"),
    ("min", "default", "default", "min", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "max", "default value {0} is greater than max value {1}"),
)  # fmt: skip

_Parts: TypeAlias = dict[str, Amounts]


def limit_range_causes(tree: JsonObject) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, limit in enumerate((tree.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type", "")
        yield from _type_causes(kind, f"{path}.type")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _part_causes(limit, kind, path)
        parts = {part: read_amounts(limit.get(part)) for part in _PARTS}
        if kind == "Pod":
            parts |= {"default": {}, "defaultRequest": {}}
        for name in sorted({name for amounts in parts.values() for name in amounts}):
            yield from _amount_causes(name, parts, path)


def _type_causes(kind: str, path: str) -> Iterator[Cause]:
    problems = label_key_problems(kind)
    yield from each_invalid(path, kind, problems)
    if not problems and "/" not in kind and kind not in _TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _part_causes(limit: JsonObject, kind: str, path: str) -> Iterator[Cause]:
    check = container_resource_causes if kind in ("Pod", "Container") else known_resource_causes
    for part in _PARTS:
        if part == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            yield from _storage_causes(limit, path)
        if kind == "Pod" and part in ("default", "defaultRequest"):
            if limit.get(part):
                yield forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            continue
        for name in limit.get(part) or ():
            yield from check(name, f"{path}.{part}[{name}]")


def _storage_causes(limit: JsonObject, path: str) -> Iterator[Cause]:
    if "storage" not in (limit.get("min") or {}) and "storage" not in (limit.get("max") or {}):
        why = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", why)


def _amount_causes(name: str, parts: _Parts, path: str) -> Iterator[Cause]:
    for less, more, told, shown, words in _ORDER:
        if name in parts[less] and name in parts[more] and parts[less][name] > parts[more][name]:
            why = words.format(parts[less][name], parts[more][name])
            yield invalid(f"{path}.{told}[{name}]", str(parts[shown][name]), why)
    if name in parts["maxLimitRequestRatio"]:
        yield from _ratio_causes(name, parts, f"{path}.maxLimitRequestRatio[{name}]")
    usual, asked = parts["default"].get(name), parts["defaultRequest"].get(name)
    if usual is not None and asked is not None and usual != asked and not can_be_overcommitted(name):
        why = f"default value {usual} must equal to defaultRequest value {asked} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", str(asked), why)


def _ratio_causes(name: str, parts: _Parts, path: str) -> Iterator[Cause]:
    ratio = parts["maxLimitRequestRatio"][name]
    if ratio < _ONE:
        yield invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    least, most = parts["min"].get(name), parts["max"].get(name)
    if least is not None and most is not None and not least.is_zero:
        largest = most.nano / least.nano
        if ratio.nano / 10**9 > largest:
            yield invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {largest:f}")
