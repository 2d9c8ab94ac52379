"""What comes next in the life of a simulated Pod: a step that is due, a time to wait, or nothing.

A pure reading of the table: no clock, no chance. Jitter is a fraction that the caller derives from the Pod and the
stage, so that asking twice gives the same moment.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.controllers.nodes.conduct import EXIT_CODE, Conduct
from heliostat.embedded.controllers.nodes.life import Life, is_terminating_since, life_of, restarts_of
from heliostat.embedded.controllers.nodes.stages import EXIT, OF_BACK_OFF, OF_DEADLINE, Stage
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.backoff import Backoff
from heliostat.kube.timestamps import parse_timestamp

Fraction: TypeAlias = Callable[[str], float]  # from the name of a stage to [0, 1)

RESTART_BACKOFF = Backoff(first=10.0, factor=2.0, limit=300.0)
_DEFAULT_GRACE = 30


class Step(Struct, frozen=True):
    """Due now."""

    stage: str
    do: str
    exit_code: int = 0


class Later(Struct, frozen=True):
    stage: str
    seconds: float


class Rest(Struct, frozen=True):
    """Nothing happens until somebody changes the Pod."""


def no_jitter(_stage: str) -> float:
    return 0.0


def next_step(
    pod: Pod,
    now: float,
    stages: Iterable[Stage],
    conduct: Conduct,
    fraction: Fraction = no_jitter,
    seen_at: float | None = None,
) -> Step | Later | Rest:
    """``seen_at``: when the Pod was first seen in its place, which is finer than the whole seconds of the API."""
    life = life_of(pod)
    due: list[tuple[float, int, Stage]] = []
    for position, stage in enumerate(stages):
        if stage.when.matches(pod, life.stage, conduct):
            begin = _begin(pod, life, stage, seen_at)
            delay = _delay(pod, stage, conduct) + stage.after.jitter * fraction(stage.name)
            due.append((begin + delay if delay > 0 else 0.0, position, stage))
    if not due:
        return Rest()
    moment, _position, stage = min(due, key=lambda found: found[:2])
    if moment > now:
        return Later(stage.name, moment - now)
    return Step(stage.name, stage.do, _exit_code(stage, conduct))


def restart_delay(restarts: int) -> float:
    """The first restart comes at once, then the kubelet backs off."""
    return RESTART_BACKOFF.delay(restarts - 1) if restarts > 0 else 0.0


def _begin(pod: Pod, life: Life, stage: Stage, seen_at: float | None) -> float:
    if stage.after.own == OF_DEADLINE:
        return parse_timestamp(pod.status.start_time) if pod.status.start_time else 0.0
    since = is_terminating_since(pod) if stage.when.is_terminating else life.since
    return since if seen_at is None else max(since, min(seen_at, since + 1.0))


def _delay(pod: Pod, stage: Stage, conduct: Conduct) -> float:
    after = stage.after
    if after.own == OF_BACK_OFF:
        return restart_delay(restarts_of(pod))
    if after.own == OF_DEADLINE:
        return float(pod.spec.active_deadline_seconds or 0)
    seconds = conduct.value(after.asked, after.seconds)
    return min(seconds, _grace(pod)) if after.is_within_grace else seconds


def _grace(pod: Pod) -> float:
    given = pod.metadata.deletion_grace_period_seconds
    return float(given if given is not None else _DEFAULT_GRACE)


def _exit_code(stage: Stage, conduct: Conduct) -> int:
    return int(conduct.value(EXIT_CODE, stage.exit_code)) if stage.do == EXIT and stage.exit_code else stage.exit_code
