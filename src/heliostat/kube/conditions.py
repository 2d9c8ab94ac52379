"""Status conditions as ``metav1.Condition`` has them: one entry per type, in order of first appearance.

Rules: the transition time changes only when the status does; a new type is appended; reason, message and generation may
change at any time. Lists go in and new lists come out: nothing is changed in place, and the time is given.
"""

from collections.abc import Sequence

from heliostat.kube.jsontree import JsonObject

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


def build_condition(type_: str, status: str, reason: str, message: str = "", generation: int = 0) -> JsonObject:
    """A condition without its transition time, which ``set_condition`` knows."""
    observed = {"observedGeneration": generation} if generation else {}
    return {"type": type_, "status": status, **observed, "reason": reason, "message": message}


def get_condition(conditions: Sequence[JsonObject] | None, type_: str) -> JsonObject | None:
    for condition in conditions or ():
        if condition.get("type") == type_:
            return condition
    return None


def is_condition_true(conditions: Sequence[JsonObject] | None, type_: str) -> bool:
    """False when it is missing, False or Unknown."""
    return condition_status(conditions, type_) == TRUE


def condition_status(conditions: Sequence[JsonObject] | None, type_: str) -> str | None:
    """The status of the type, None when there is no such condition."""
    condition = get_condition(conditions, type_)
    return None if condition is None else str(condition.get("status", UNKNOWN))


def set_condition(conditions: Sequence[JsonObject] | None, new: JsonObject, now: str) -> list[JsonObject]:
    """The list with ``new`` in place of the one of its type, or appended. ``now`` is RFC 3339 text.

    A transition time that ``new`` brings along counts instead of ``now``.
    """
    since = new.get("lastTransitionTime") or now
    old = get_condition(conditions, new["type"])
    if old is None:
        return [*(conditions or ()), {**new, "lastTransitionTime": since}]
    if old.get("status") == new["status"]:
        since = old.get("lastTransitionTime") or since
    updated = {**new, "lastTransitionTime": since}
    return [updated if condition is old else condition for condition in conditions or ()]


def remove_condition(conditions: Sequence[JsonObject] | None, type_: str) -> list[JsonObject]:
    return [condition for condition in conditions or () if condition.get("type") != type_]
