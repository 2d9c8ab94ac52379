"""What the probes of a container say, from what was checked so far: when to check next, and what its health is. Pure.

| probe | until it has an answer | it counts after | while it fails |
|---|---|---|---|
| startup | not started; the two others wait | successThreshold, failureThreshold in a row | the container is stopped |
| readiness | not ready | the same | not ready |
| liveness | alive | the same | the container is stopped |

A check that could not be made at all counts for nothing. A probe that has doomed its container is not asked again.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct

from heliostat.embedded.node.lifecycle import Health
from heliostat.embedded.node.pods import Container, NodePod, Probe
from heliostat.embedded.node.shim.journal import Run


class ProbeKind(StrEnum):
    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


class ProbeResult(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"  # it could not be checked


class Tally(Struct, frozen=True):
    """The answers of one probe about one run."""

    stands: ProbeResult = ProbeResult.UNKNOWN  # what counts: the last answer that came often enough
    last: ProbeResult = ProbeResult.UNKNOWN
    streak: int = 0  # how often the last answer came in a row
    checked_at: float | None = None


Tallies = Mapping[ProbeKind, Tally]

_NEW: Final = Tally()
_DOOMING: Final = (ProbeKind.STARTUP, ProbeKind.LIVENESS)


def find_probes(container: Container) -> dict[ProbeKind, Probe]:
    """Those that the container has."""
    found = {
        ProbeKind.STARTUP: container.startup_probe,
        ProbeKind.READINESS: container.readiness_probe,
        ProbeKind.LIVENESS: container.liveness_probe,
    }
    return {kind: probe for kind, probe in found.items() if probe is not None}


def count(tally: Tally, probe: Probe, answer: ProbeResult, checked_at: float) -> Tally:
    """The tally with one more answer in it."""
    if answer is ProbeResult.UNKNOWN:
        return msgspec.structs.replace(tally, checked_at=checked_at)
    streak = tally.streak + 1 if tally.last is answer else 1
    needed = probe.success_threshold if answer is ProbeResult.SUCCESS else probe.failure_threshold
    stands = answer if streak >= needed else tally.stands
    return Tally(stands, answer, streak, checked_at)


def decide_next_check(
    kind: ProbeKind, container: Container, tallies: Tallies, started_at: float, now: float
) -> float | None:
    """Seconds until the probe is due; None: not before something else happens."""
    probe, tally = find_probes(container)[kind], tallies.get(kind, _NEW)
    if not _may_be_asked(kind, container, tallies):
        return None
    due = started_at + probe.initial_delay_seconds
    if tally.checked_at is not None:
        due = max(due, tally.checked_at + probe.period_seconds)
    return max(0.0, due - now)


def _may_be_asked(kind: ProbeKind, container: Container, tallies: Tallies) -> bool:
    if kind in _DOOMING and find_doom(container, tallies) is not None:
        return False
    return has_started(container, tallies) != (kind is ProbeKind.STARTUP)


def has_started(container: Container, tallies: Tallies) -> bool:
    return container.startup_probe is None or _stands(ProbeKind.STARTUP, tallies) is ProbeResult.SUCCESS


def find_doom(container: Container, tallies: Tallies) -> ProbeKind | None:
    """The probe because of which the container has to be stopped."""
    probes = find_probes(container)
    return next((kind for kind in _DOOMING if kind in probes and _stands(kind, tallies) is ProbeResult.FAILURE), None)


def _stands(kind: ProbeKind, tallies: Tallies) -> ProbeResult:
    return tallies.get(kind, _NEW).stands


def build_health(
    container: Container, tallies: Tallies, *, is_set_up: bool = True, hook_failed: bool = False
) -> Health:
    """``is_set_up``: its postStart hook is over, or it has none."""
    if hook_failed:
        return Health(has_started=False, is_ready=False, must_die="FailedPostStartHook")
    is_started = is_set_up and has_started(container, tallies)
    is_ready = container.readiness_probe is None or _stands(ProbeKind.READINESS, tallies) is ProbeResult.SUCCESS
    doom = find_doom(container, tallies)
    return Health(
        has_started=is_started,
        is_ready=is_started and is_ready,
        is_set_up=is_set_up,
        must_die=f"Container {container.name} failed {doom.lower()} probe" if doom is not None else "",
        grace_seconds=find_probes(container)[doom].termination_grace_period_seconds if doom is not None else None,
    )


def recall_tallies(pod: NodePod, run: Run) -> dict[ProbeKind, Tally]:
    """What the Pod's status says of a run that an earlier life of the node has started: it is not asked all anew."""
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        if str(status.get("containerID", "")).endswith(f"/{run.id}"):
            return dict(_recalled(status))
    return {}


def _recalled(status: Mapping[str, Any]) -> list[tuple[ProbeKind, Tally]]:
    flags = ((ProbeKind.STARTUP, "started"), (ProbeKind.READINESS, "ready"))
    return [(kind, Tally(stands=ProbeResult.SUCCESS)) for kind, flag in flags if status.get(flag)]
