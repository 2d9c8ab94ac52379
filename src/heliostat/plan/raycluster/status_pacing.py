"""When a status that is due is written: at once, or a moment later together with what changes meanwhile.

What somebody may be waiting for is written at once: another state or reason, and a condition that has become true or
no longer is. Everything else counts things that are on their way, and each Pod that comes up changes it: it is written
when it has been out of date for ``HOLD_SECONDS``, so the status costs the server as much as the cluster has turning
points, and not as much as it has Pods. It may show counts that are that old; it never stays behind.
"""

from msgspec import Struct, structs

from heliostat.api.markers import JsonObject
from heliostat.kube.plan import Plan
from heliostat.plan.draft import soonest

HOLD_SECONDS = 2.0  # as long as KubeRay lets pass between a status write and its next look

AWAITED = ("state", "reason")


class PacedPlan(Struct, frozen=True):
    """The plan to carry out now, and until when its status is held back."""

    plan: Plan
    held_until: float | None = None


def pace_status(plan: Plan, shown: JsonObject, held_until: float | None, now: float) -> PacedPlan:
    """``shown`` is the status as it reads now; ``held_until`` is what the last pace of this object said."""
    if plan.status is None or is_awaited(shown, plan.status.status):
        return PacedPlan(plan)
    until = now + HOLD_SECONDS if held_until is None else held_until
    left = until - now
    if not 0 < left <= HOLD_SECONDS:  # more than that, and somebody has set the clock back
        return PacedPlan(plan)
    return PacedPlan(structs.replace(plan, status=None, wake_after=soonest((plan.wake_after, left))), until)


def is_awaited(shown: JsonObject, due: JsonObject) -> bool:
    """Whether somebody may be waiting for what the new status says and the old one does not."""
    if any((shown.get(field) or "") != (due.get(field) or "") for field in AWAITED):
        return True
    return _true_conditions(shown) != _true_conditions(due)


def _true_conditions(status: JsonObject) -> set[str]:
    return {condition["type"] for condition in status.get("conditions") or () if condition["status"] == "True"}
