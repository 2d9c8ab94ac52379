"""How workloads replace their Pods: the strategies of Deployments, DaemonSets and StatefulSets."""

from collections.abc import Iterator
from typing import Any

from heliostat.embedded.kinds.rules.causes import (
    each_invalid,
    forbidden,
    inner,
    invalid,
    negative,
    not_supported,
    required,
)
from heliostat.embedded.kinds.rules.text_rules import percent_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject


def amount_or_percent_causes(value: Any, path: str) -> list[Cause]:
    """An integer that is not negative, or a percentage."""
    if isinstance(value, str):
        return each_invalid(path, value, percent_problems(value))
    return negative(path, value)


def _percent_of(value: Any) -> int | None:
    return int(value[:-1]) if isinstance(value, str) and not percent_problems(value) else None


def _is_nothing(value: Any) -> bool:
    percent = _percent_of(value)
    return value == 0 if percent is None else percent == 0


def at_most_all_causes(value: Any, path: str) -> list[Cause]:
    percent = _percent_of(value)
    return [invalid(path, value, "must not be greater than 100%")] if percent is not None and percent > 100 else []


def deployment_strategy_causes(strategy: JsonObject) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    path = "spec.strategy"
    if kind == "Recreate":
        if rolling is not None:
            yield forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    elif kind == "RollingUpdate" and rolling is not None:
        at = f"{path}.rollingUpdate"
        for name in ("maxUnavailable", "maxSurge"):
            yield from amount_or_percent_causes(rolling.get(name), f"{at}.{name}")
        if _is_nothing(rolling.get("maxUnavailable")) and _is_nothing(rolling.get("maxSurge")):
            yield invalid(f"{at}.maxUnavailable", rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
        yield from at_most_all_causes(rolling.get("maxUnavailable"), f"{at}.maxUnavailable")
    else:
        yield not_supported(path, inner(Type=kind, RollingUpdate=rolling), ("Recreate", "RollingUpdate"))


def daemon_strategy_causes(strategy: JsonObject) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate") or {}
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = inner(Type=kind, RollingUpdate=strategy.get("rollingUpdate"))
        yield not_supported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))
        return
    path = "spec.updateStrategy.rollingUpdate"
    for check in (amount_or_percent_causes, at_most_all_causes):
        for name in ("maxUnavailable", "maxSurge"):
            yield from check(rolling.get(name), f"{path}.{name}")
    unavailable, surge = (not _is_nothing(rolling.get(name)) for name in ("maxUnavailable", "maxSurge"))
    if unavailable and surge:
        yield invalid(f"{path}.maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero")
    elif not unavailable and not surge:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def stateful_strategy_causes(strategy: JsonObject) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            shown = inner(Partition=rolling.get("partition", 0), MaxUnavailable=rolling.get("maxUnavailable"))
            yield invalid("spec.updateStrategy.rollingUpdate", shown, why)
    elif kind == "RollingUpdate":
        yield from negative("spec.updateStrategy.rollingUpdate.partition", (rolling or {}).get("partition"))
    else:
        shown = inner(Type=kind, RollingUpdate=rolling)
        yield invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
