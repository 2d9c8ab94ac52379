"""The write that was just carried out, if it was an operator's: to which resource, and what was there before."""

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import OPERATORS, is_terminating, name_of


def written(state: State, plural: str) -> tuple[JsonObject, JsonObject | None] | None:
    """After and before, if the last write was an operator's to this resource."""
    if state.by not in OPERATORS or state.last is None or state.last[0] != plural:
        return None
    return state.last[1], state.last[2]


def changed(state: State, plural: str) -> tuple[JsonObject, JsonObject] | None:
    found = written(state, plural)
    return None if found is None or found[1] is None else (found[0], found[1])


def created(state: State, plural: str) -> JsonObject | None:
    found = written(state, plural)
    return found[0] if found is not None and found[1] is None else None


def asked_to_go(state: State) -> JsonObject | None:
    """The Pod that an operator has just deleted, as it was before."""
    found = changed(state, "pods")
    if found is None or is_terminating(found[1]):
        return None
    after, before = found
    is_gone = state.get("pods", after["metadata"]["namespace"], name_of(after)) is None
    return before if is_terminating(after) or is_gone else None
