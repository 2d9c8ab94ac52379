"""Health of a process that runs a host: its loop turns, its watches move, its caches are complete, the lease is seen.

Rules: alive is the loop's heartbeat and the progress of watches, nothing else; ready means that work is done here, or
would be as soon as the lease is ours, so a stand-by that can read the lease is ready. Checks are asked by the thread
that serves them.
"""

from collections.abc import Callable
from typing import Any

from heliostat.runtime.cache import Cache
from heliostat.runtime.client import Exchange
from heliostat.runtime.health import Health
from heliostat.runtime.host import Host
from heliostat.runtime.loop_lag import LoopPulse
from heliostat.runtime.problems import Problems

_MOST_SHOWN = 3


class ProcessHealth:
    def __init__(self, clock: Callable[[], float], problems: Problems, on_lag: Callable[[float], None]) -> None:
        self.checks = Health()
        self.pulse = LoopPulse(clock, on_lag=on_lag, problems=self._watch_problems)
        self._problems = problems
        self._host: Host | None = None
        self._needed: tuple[Cache[Any], ...] = ()
        self._stands_by = False
        self.checks.add_liveness("event-loop", self.pulse.loop_problem)
        self.checks.add_liveness("watches", self.pulse.seen_problem)
        self.checks.add_readiness("caches", self._cache_problem)

    def watch_over(self, host: Host) -> None:
        """From now on this host is the work; it is ready once it has begun, on caches that are complete."""
        self._needed = host.caches.needed()
        self._host = host

    def stand_by(self, lease: "LeaseSight") -> None:
        """Not to work is well, for as long as the lease can be seen."""
        self._stands_by = True
        self.checks.add_readiness("lease", lease.problem)

    def _watch_problems(self) -> list[str]:
        return self._host.problems() if self._host is not None else []

    def _cache_problem(self) -> str | None:
        if self._host is None:
            return None if self._stands_by else "not synced yet"
        missing = [cache for cache in self._needed if not cache.synced.is_set() or cache.refused]
        if not missing:
            return None if self._host.has_begun else "not synced yet"
        shown = "; ".join(map(self._describe, missing[:_MOST_SHOWN]))
        return f"{len(missing)} of {len(self._needed)} are not complete: {shown}"

    def _describe(self, cache: Cache[Any]) -> str:
        return self._problems.last(f"watch of {cache.kind}") or f"{cache.kind} has not been listed"


class LeaseSight:
    """Whether the lease can be read and, when it is our turn, written."""

    def __init__(self) -> None:
        self._reading: str | None = "the lease has not been read"
        self._writing: str | None = None

    def problem(self) -> str | None:
        return self._reading or self._writing

    def exchanged(self, exchange: Exchange) -> None:
        if exchange.verb == "get" and exchange.outcome in ("200", "404"):
            self._reading = None
        elif exchange.outcome in ("200", "201"):
            self._writing = None

    def failed(self, what: str, error: Exception) -> None:
        if what.startswith("read"):
            self._reading = f"{what}: {error}"
        else:
            self._writing = f"{what}: {error}"
