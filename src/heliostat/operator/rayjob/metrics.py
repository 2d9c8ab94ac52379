"""KubeRay's own metrics of RayJobs, under its names (rayjob.md §18): one series for each job that is there.

Rules: everything follows the cache, so a job that is gone leaves no series behind; how long an attempt took is told by
the process that saw it end, from the object's own start to the moment it was seen, and stays until the job goes.
Scrapes come from another thread and see what was noted here, never a cache in the middle of a change.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Key
from heliostat.kube.timestamps import moment_of
from heliostat.operator.kinds import WholeObject
from heliostat.plan.rayjob.phases import TERMINAL, Phase
from heliostat.runtime.cache import Cache
from heliostat.runtime.metrics import Labels, Registry

Series: TypeAlias = dict[Labels, float]
_ENDS = frozenset({*TERMINAL, Phase.RETRYING})


class _Status(Struct, frozen=True, rename="camel"):
    job_deployment_status: str = ""
    start_time: str = ""
    failed: int = 0


class Noted(Struct, frozen=True):
    """What the metrics know of one job; ``ended`` are its attempts: phase and retry count, and how long they took."""

    uid: str
    phase: str
    ended: tuple[tuple[str, str, float], ...] = ()


class JobMetrics:
    def __init__(
        self, registry: Registry, jobs: Iterable[Cache[WholeObject]], now: Callable[[], float] = time.time
    ) -> None:
        self._now = now
        self._changing = threading.Lock()
        self._sights: dict[Key, Noted] = {}
        self._declare(registry)
        for cache in jobs:
            cache.subscribe(self._changed)

    def _declare(self, registry: Registry) -> None:
        registry.read_gauge(
            "kuberay_job_execution_duration_seconds",
            "Seconds from the start of an attempt of a RayJob until it was over.",
            *("name", "namespace", "uid", "job_deployment_status", "retry_count"),
            read=self._durations,
        )
        registry.read_gauge("kuberay_job_info", "1 for each RayJob.", *("name", "namespace", "uid"), read=self._infos)
        registry.read_gauge(
            "kuberay_job_deployment_status",
            "1 for each RayJob; deployment_status is its jobDeploymentStatus.",
            *("name", "namespace", "uid", "deployment_status"),
            read=self._phases,
        )

    def _changed(self, before: WholeObject | None, after: WholeObject | None) -> None:
        if after is None:
            if before is not None:
                with self._changing:
                    self._sights.pop(before.metadata.key, None)
            return
        key = after.metadata.key
        sight = _follow(self._sights.get(key), before, after, self._now)
        with self._changing:
            self._sights[key] = sight

    def _seen(self) -> list[tuple[Key, Noted]]:
        with self._changing:
            return list(self._sights.items())

    def _durations(self) -> Series:
        return {
            (key.name, key.namespace, sight.uid, phase, retries): seconds
            for key, sight in self._seen()
            for phase, retries, seconds in sight.ended
        }

    def _infos(self) -> Series:
        return {(key.name, key.namespace, sight.uid): 1.0 for key, sight in self._seen()}

    def _phases(self) -> Series:
        return {(key.name, key.namespace, sight.uid, sight.phase): 1.0 for key, sight in self._seen()}


def _follow(known: Noted | None, before: WholeObject | None, after: WholeObject, now: Callable[[], float]) -> Noted:
    status, uid = _read(after), after.metadata.uid
    sight = Noted(uid, status.job_deployment_status)
    if known is None or known.uid != uid or before is None:
        return sight
    then = _read(before)
    started = moment_of(then.start_time)
    has_ended = status.job_deployment_status in _ENDS and then.job_deployment_status not in _ENDS
    if not has_ended or started is None:
        return msgspec.structs.replace(sight, ended=known.ended)
    took = (status.job_deployment_status, str(then.failed), max(0.0, now() - started))
    return msgspec.structs.replace(sight, ended=(*known.ended, took))


def _read(job: WholeObject) -> _Status:
    """Nothing for a status that no operator of ours can have written."""
    try:
        return msgspec.json.decode(job.status, type=_Status)
    except msgspec.DecodeError:
        return _Status()
