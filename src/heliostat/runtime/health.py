"""Whether the process is well: named checks, each None or one sentence about what is wrong.

Rules: alive means that the work makes progress (watches move, the loop turns), not that a process exists; ready means
alive and able to do its work now; a check that fails to answer is a problem by itself. Checks may be asked by any
thread, so they only read values that the loop leaves for them (``loop_lag``).
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

Check: TypeAlias = Callable[[], str | None]


class Finding(Struct, frozen=True):
    name: str
    problem: str | None


class HealthReport(Struct, frozen=True):
    """What an endpoint answers."""

    endpoint: str
    findings: tuple[Finding, ...]

    @property
    def is_well(self) -> bool:
        return all(finding.problem is None for finding in self.findings)

    def render(self) -> str:
        """In the words of kube-apiserver's own endpoints, and with the reason."""
        lines = [
            f"[+]{finding.name} ok" if finding.problem is None else f"[-]{finding.name} failed: {finding.problem}"
            for finding in self.findings
        ]
        return "\n".join([*lines, f"{self.endpoint} check {'passed' if self.is_well else 'failed'}", ""])


class Health:
    def __init__(self) -> None:
        self._alive: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}

    def add_liveness(self, name: str, check: Check) -> None:
        """When this fails for long, the process should be started again."""
        self._alive[name] = check

    def add_readiness(self, name: str, check: Check) -> None:
        """While this fails, the process should not be counted on."""
        self._ready[name] = check

    def remove(self, name: str) -> None:
        self._alive.pop(name, None)
        self._ready.pop(name, None)

    def livez(self, endpoint: str = "livez") -> HealthReport:
        return HealthReport(endpoint, tuple(_ask(name, check) for name, check in list(self._alive.items())))

    def readyz(self) -> HealthReport:
        checks = {**self._alive, **self._ready}
        return HealthReport("readyz", tuple(_ask(name, check) for name, check in checks.items()))


def _ask(name: str, check: Check) -> Finding:
    try:
        return Finding(name, check())
    except Exception as error:  # noqa: BLE001  whatever broke it, the answer is: not well
        return Finding(name, f"the check itself failed: {type(error).__name__}: {error}")
