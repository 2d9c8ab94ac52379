"""How planners hand over what they decided: a ``Part``; and how parts become a plan: a ``Draft``.

A part is a value: writes, waits, events. ``is_blocked`` says that what depends on this part must not go on now; that
is where KubeRay's reconcile would return an error. A draft collects parts as stages; a blocked stage turns every
stage that needs it into one wait, so nothing is planned on ground that is known to be missing. No decision is taken
here.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.kube.plan import Action, Event, Plan, Stage, Wait, WriteStatus
from heliostat.plan.because import Hold
from heliostat.plan.reasons import WhyWaiting


class Part(Struct, frozen=True, kw_only=True):
    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    events: tuple[Event, ...] = ()
    is_blocked: bool = False
    wake_after: float | None = None


NOTHING = Part()


def join(parts: Iterable[Part]) -> Part:
    """Several parts as one; one that is blocked blocks the whole."""
    parts = tuple(parts)
    return Part(
        actions=tuple(action for part in parts for action in part.actions),
        waits=tuple(wait for part in parts for wait in part.waits),
        events=tuple(event for part in parts for event in part.events),
        is_blocked=any(part.is_blocked for part in parts),
        wake_after=soonest(part.wake_after for part in parts),
    )


def soonest(times: Iterable[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)


def wait_for(reason: WhyWaiting, message: str, until: str, *, events: tuple[Event, ...] = ()) -> Part:
    """Nothing to write, and what depends on this waits too."""
    return Part(waits=(Wait(reason, message, until),), events=events, is_blocked=True)


def wait_beside(
    reason: WhyWaiting,
    message: str,
    until: str,
    *,
    events: tuple[Event, ...] = (),
    wake_after: float | None = None,
) -> Part:
    """Worth telling, but nothing depends on it."""
    return Part(waits=(Wait(reason, message, until),), events=events, wake_after=wake_after)


class Draft:
    """A plan in the making. Stages keep the order in which they were added."""

    def __init__(self) -> None:
        self._stages: list[Stage] = []
        self._waits: list[Wait] = []
        self._events: list[Event] = []
        self._wakes: list[float] = []
        self._blocked: set[str] = set()

    def add(self, name: str, part: Part, needs: tuple[str, ...] = ()) -> None:
        missing = [need for need in needs if need in self._blocked] if self._blocked else []
        if missing:
            part = wait_for(Hold.BLOCKED, f"{name} needs {' and '.join(missing)}", "that wait is over")
        if part.is_blocked:
            self._blocked.add(name)
        if part.actions:
            planned = {stage.name for stage in self._stages}
            self._stages.append(Stage(name, part.actions, tuple(need for need in needs if need in planned)))
        self._waits += part.waits
        self._events += part.events
        if part.wake_after is not None:
            self._wakes.append(part.wake_after)

    def tell(self, *events: Event) -> None:
        """Beside everything else."""
        self._events += events

    def is_blocked(self, *names: str) -> bool:
        """Whether one of these stages (without names: any stage) is blocked."""
        return bool(self._blocked.intersection(names) if names else self._blocked)

    @property
    def waits(self) -> tuple[Wait, ...]:
        """So far."""
        return tuple(self._waits)

    def finish(self, *, status: WriteStatus | None = None, wake_after: float | None = None) -> Plan:
        return Plan(
            stages=tuple(self._stages),
            waits=tuple(self._waits),
            status=status,
            events=tuple(self._events),
            wake_after=soonest((*self._wakes, wake_after)),
        )
