"""KubeRay's own metrics of RayServices, under its names (rayservice.md §12): one series for each service that is there.

Scrapes come from another thread and see what was noted here, never a cache in the middle of a change.
"""

import threading
from collections.abc import Iterable
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Key
from heliostat.operator.kinds import WholeObject
from heliostat.plan.rayservice.status import READY, UPGRADE
from heliostat.runtime.cache import Cache
from heliostat.runtime.metrics import Labels, Registry

Series: TypeAlias = dict[Labels, float]


class _Condition(Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(Struct, frozen=True):
    conditions: list[_Condition] = []


class Noted(Struct, frozen=True):
    """``conditions`` are those of the status: true or false."""

    uid: str
    conditions: dict[str, str]


class ServiceMetrics:
    def __init__(self, registry: Registry, services: Iterable[Cache[WholeObject]]) -> None:
        self._changing = threading.Lock()
        self._sights: dict[Key, Noted] = {}
        named = ("name", "namespace", "uid")
        registry.read_gauge("kuberay_service_info", "1 for each RayService.", *named, read=self._infos)
        for metric, type_ in (("ready", READY), ("upgrade_in_progress", UPGRADE)):
            registry.read_gauge(
                f"kuberay_service_condition_{metric}",
                f"1 for each RayService; condition is whether {type_} is true.",
                *(*named, "condition"),
                read=partial(self._conditions, type_),
            )
        for cache in services:
            cache.subscribe(self._changed)

    def _changed(self, before: WholeObject | None, after: WholeObject | None) -> None:
        with self._changing:
            if after is not None:
                self._sights[after.metadata.key] = Noted(after.metadata.uid, _read(after))
            elif before is not None:
                self._sights.pop(before.metadata.key, None)

    def _seen(self) -> list[tuple[Key, Noted]]:
        with self._changing:
            return list(self._sights.items())

    def _infos(self) -> Series:
        return {(key.name, key.namespace, sight.uid): 1.0 for key, sight in self._seen()}

    def _conditions(self, type_: str) -> Series:
        """A condition that is not there yet is not true."""
        return {
            (key.name, key.namespace, sight.uid, sight.conditions.get(type_, "false")): 1.0
            for key, sight in self._seen()
        }


def _read(service: WholeObject) -> dict[str, str]:
    """Nothing for a status that no operator of ours can have written."""
    try:
        status = msgspec.json.decode(service.status, type=_Status)
    except msgspec.DecodeError:
        return {}
    return {each.type: "true" if each.status == "True" else "false" for each in status.conditions}
