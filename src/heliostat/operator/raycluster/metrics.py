"""KubeRay's own metrics of RayClusters, under its names: one series for each cluster that is there.

Rules: everything follows the cache, so a cluster that is gone leaves no series behind; how long provisioning took is
told by the process that saw RayClusterProvisioned turn true, and stays until the cluster goes, so a cluster that was
provisioned when it was first seen has none; the numbers are the object's own times, so a watch that was late changes
nothing. Scrapes come from another thread and see what was noted here, never a cache in the middle of a change.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from heliostat.api.cluster_features import ORIGIN_KIND_LABEL, is_managed_here
from heliostat.kube.conditions import TRUE
from heliostat.kube.objects import Key
from heliostat.kube.timestamps import TimestampError, parse_timestamp
from heliostat.operator.kinds import WholeObject
from heliostat.plan.raycluster.status_conditions import PROVISIONED
from heliostat.runtime.cache import Cache
from heliostat.runtime.metrics import Labels, Registry

NOBODY: Final = "None"  # the owner_kind of a cluster that a user made


class _Condition(Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str = ""


class _Status(Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Spec(Struct, frozen=True, rename="camel"):
    managed_by: str | None = None


class Noted(Struct, frozen=True):
    """What the metrics know of one cluster."""

    uid: str
    owner_kind: str
    is_provisioned: bool
    provisioned_after: float | None = None  # seconds; None: it was not seen to happen

    def follow(self, before: "Noted | None", seconds: Callable[[], float | None]) -> "Noted":
        """The same with what is known from before; ``seconds`` is asked when it was just provisioned."""
        if before is None or before.uid != self.uid:
            return self
        has_flipped = self.is_provisioned and not before.is_provisioned
        known = seconds() if has_flipped else before.provisioned_after
        return msgspec.structs.replace(self, provisioned_after=known)


Series: TypeAlias = dict[Labels, float]


class ClusterMetrics:
    def __init__(self, registry: Registry, clusters: Iterable[Cache[WholeObject]]) -> None:
        """From here on it listens to the caches, one for each namespace or one for all."""
        self._changing = threading.Lock()
        self._sights: dict[Key, Noted] = {}
        self._declare(registry)
        for cache in clusters:
            cache.subscribe(self._changed)

    def _declare(self, registry: Registry) -> None:
        registry.read_gauge(
            "kuberay_cluster_provisioned_duration_seconds",
            "Seconds from the creation of a RayCluster until its condition RayClusterProvisioned turned true.",
            *("name", "namespace", "uid"),
            read=self._durations,
        )
        registry.read_gauge(
            "kuberay_cluster_info",
            "1 for each RayCluster; owner_kind is None, RayJob or RayService.",
            *("name", "namespace", "uid", "owner_kind"),
            read=self._infos,
        )
        registry.read_gauge(
            "kuberay_cluster_condition_provisioned",
            "1 for each RayCluster; condition tells whether it is provisioned.",
            *("name", "namespace", "uid", "condition"),
            read=self._provisioned,
        )

    def _changed(self, before: WholeObject | None, after: WholeObject | None) -> None:
        if after is not None:
            key = after.metadata.key
            sight = _look_at(after).follow(self._sights.get(key), lambda: _provisioned_after(after))
            with self._changing:
                self._sights[key] = sight
        elif before is not None:
            with self._changing:
                self._sights.pop(before.metadata.key, None)

    def _seen(self) -> list[tuple[Key, Noted]]:
        with self._changing:
            return list(self._sights.items())

    def _durations(self) -> Series:
        return {
            (key.name, key.namespace, sight.uid): sight.provisioned_after
            for key, sight in self._seen()
            if sight.provisioned_after is not None
        }

    def _infos(self) -> Series:
        return {(key.name, key.namespace, sight.uid, sight.owner_kind): 1.0 for key, sight in self._seen()}

    def _provisioned(self) -> Series:
        return {
            (key.name, key.namespace, sight.uid, "true" if sight.is_provisioned else "false"): 1.0
            for key, sight in self._seen()
        }


def _look_at(cluster: WholeObject) -> Noted:
    condition = _provisioned_condition(cluster)
    return Noted(
        uid=cluster.metadata.uid,
        owner_kind=cluster.metadata.labels.get(ORIGIN_KIND_LABEL, NOBODY),
        is_provisioned=condition is not None and condition.status == TRUE,
    )


def _provisioned_condition(cluster: WholeObject) -> _Condition | None:
    """None as well for a status that no operator of ours can have written: what is not known to be true is not."""
    try:
        status = msgspec.json.decode(cluster.status, type=_Status)
    except msgspec.DecodeError:
        return None
    return next((each for each in status.conditions or () if each.type == PROVISIONED), None)


def _provisioned_after(cluster: WholeObject) -> float | None:
    """None when somebody else provisioned it, or when its times cannot be read.

    Differs from KubeRay: provisioned-seconds.
    """
    condition, created = _provisioned_condition(cluster), cluster.metadata.creation_timestamp
    if condition is None or created is None or not _is_ours(cluster):
        return None
    try:
        return max(0.0, parse_timestamp(condition.last_transition_time) - parse_timestamp(created))
    except TimestampError:
        return None


def _is_ours(cluster: WholeObject) -> bool:
    try:
        return is_managed_here(msgspec.json.decode(cluster.spec, type=_Spec).managed_by)
    except msgspec.DecodeError:
        return False
