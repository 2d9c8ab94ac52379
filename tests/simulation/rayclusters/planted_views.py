"""Planted bugs in what an operator sees and may do: old expectations, silent watches, leases, errors, odd Pods."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import structs

from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.kube.pods import PodCondition, PodStatus
from heliostat.operator import labelled
from heliostat.operator.kinds import RAY_PODS, RayPod
from heliostat.runtime import lease_decisions
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.executor import Executor
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.reconciler import Subject
from heliostat.runtime.reflector import Reflector
from simulation.mutants import replaced
from simulation.rayclusters import reasons


def expectations_outlive_their_cluster() -> Any:
    """kuberay#4039: what was made is waited for by name, and also by another cluster of the same name."""

    def wrote(self: Freshness, subject: str, resource: Any, metadata: Any, original: Any = Freshness.wrote) -> None:
        original(self, subject, resource, metadata)
        for cache in self._of(resource) if resource.plural == "pods" else ():
            self.until(subject, partial(_was_seen, cache, metadata.key), "it is not seen yet")

    def writer_for(self: Executor, subject: Subject) -> str:
        return f"{self._name}/{subject.ref}"

    kept = (Freshness, "forget", lambda _self, _subject: None)
    return replaced((Freshness, "wrote", wrote), (Executor, "writer_for", writer_for), kept)


def _was_seen(cache: Any, key: Key) -> bool:
    return cache.get(key) is not None


def the_first_error_ends_the_look() -> Any:
    """kuberay#2343: whatever comes after it never happens."""

    async def carry_out(
        self: Executor,
        subject: Any,
        plan: Plan,
        is_wanted: Callable[[], bool],
        take_seat: Callable[[], bool],
        original: Callable[..., Awaitable[Any]] = Executor.carry_out,
    ) -> Any:
        names = [stage.name for stage in plan.stages]
        stages = tuple(structs.replace(stage, needs=tuple(names[:n])) for n, stage in enumerate(plan.stages))
        return await original(self, subject, structs.replace(plan, stages=stages), is_wanted, take_seat)

    return replaced((Executor, "carry_out", carry_out))


def no_fence() -> Any:
    """Who was the leader once goes on writing."""
    return replaced((LeaseFence, "check", lambda _self: None))


def a_lease_never_expires() -> Any:
    return replaced((lease_decisions, "expires_at", lambda seen, _settings: seen.changed_at + 1e6))


def silence_is_not_noticed() -> Any:
    """A watch that tells nothing and never ends is listened to for ever."""

    async def watch(self: Any, command: Any, original: Callable[..., Awaitable[None]] = Reflector._watch) -> None:
        self._settings = structs.replace(self._settings, silence_seconds=1e6)
        await original(self, command)

    return replaced((Reflector, "_watch", watch))


class _StrictCondition(PodCondition, frozen=True, gc=False, rename="camel"):
    last_transition_time: str = ""


class _StrictStatus(PodStatus, frozen=True, gc=False, rename="camel"):
    conditions: tuple[_StrictCondition, ...] = ()


class _StrictPod(RayPod, frozen=True, gc=False):
    status: _StrictStatus = _StrictStatus()


def an_unreadable_pod_is_gone() -> Any:
    """A time of null is a mistake to it, and what it cannot read is not there."""
    strict: Any = structs.replace(RAY_PODS, shape=_StrictPod)

    def mark(self: CacheWriter[Any], found: Any) -> None:
        self._cache.change(found.metadata.key, None)

    return replaced((labelled, "RAY_PODS", strict), (reasons, "RAY_PODS", strict), (CacheWriter, "mark", mark))
