"""When an object is looked at again although nothing has changed: what every kind's plans have in common."""

from typing import Protocol

from msgspec.structs import replace

from heliostat.kube.plan import Plan
from heliostat.plan.draft import soonest

UNKNOWN_POLL = 5.0  # seconds until a view that is not complete is looked at again


class Viewed(Protocol):
    @property
    def has_unknown(self) -> bool:
        """Whether something that was looked for could not be read."""
        ...


def look_again_while_unknown(plan: Plan, observed: Viewed) -> Plan:
    return replace(plan, wake_after=soonest((plan.wake_after, UNKNOWN_POLL))) if observed.has_unknown else plan
