"""Conditions that KubeRay does not have: they are there only while a person can mend what is wrong, and say how.

``Hindered``: something around the cluster cannot be made, found or read, and no condition of KubeRay's tells it.
``SpecNotApplied``: the spec was changed in a way that running Pods do not follow (``raycluster.unapplied``).
KubeRay's conditions stay as they are; waits that end by themselves are not told.
Differs from KubeRay: hindered, spec-not-applied.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.kube.conditions import TRUE, build_condition, remove_condition, set_condition
from heliostat.kube.plan import Wait
from heliostat.plan.because import Hold
from heliostat.plan.reasons import waiting

HINDERED = "Hindered"
SPEC_NOT_APPLIED = "SpecNotApplied"
OWN_CONDITIONS = (HINDERED, SPEC_NOT_APPLIED)

_LONGEST = 2000  # characters; a server may quote a whole object


class Hindrance(Struct, frozen=True):
    """Why something cannot go on, and what ends it, in words that follow "when"."""

    reason: str  # CamelCase
    message: str
    until: str

    def __str__(self) -> str:
        message = self.message if len(self.message) <= _LONGEST else f"{self.message[:_LONGEST]}…"
        return f"{message}; this ends when {self.until}"


def is_for_people(wait: Wait) -> bool:
    return bool(waiting(wait).mended_by)


def list_waits_for_people(waits: Iterable[Wait]) -> tuple[Hindrance, ...]:
    """Without a refusal of the spec: that has an event of its own, as in KubeRay."""
    told = (wait for wait in waits if is_for_people(wait) and wait.reason != Hold.REFUSED)
    return tuple(Hindrance(wait.reason, wait.message, wait.until) for wait in told)


def hindered(hindrances: Sequence[Hindrance]) -> JsonObject | None:
    """One condition for all of them; its reason is the first one's."""
    if not hindrances:
        return None
    return build_condition(HINDERED, TRUE, hindrances[0].reason, "\n".join(dict.fromkeys(map(str, hindrances))))


def show_own(conditions: Sequence[JsonObject], own: Iterable[JsonObject], now: str) -> list[JsonObject]:
    """The conditions with exactly these of our own, after all that others have written."""
    shown, now_own = list(conditions), {condition["type"]: condition for condition in own}
    for type_ in OWN_CONDITIONS:
        condition = now_own.get(type_)
        shown = remove_condition(shown, type_) if condition is None else set_condition(shown, condition, now)
    return shown
