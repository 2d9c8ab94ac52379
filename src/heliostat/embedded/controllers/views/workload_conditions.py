"""Conditions of Deployments and ReplicaSets, and how their controllers change the list.

Rules: a condition with the same status and reason stays as it is, even if its message would differ; a changed one moves
to the end of the list and keeps its transition time while the status is the same.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.trees import tree_of


class WorkloadCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str
    last_update_time: str | None = None  # Deployments alone
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


Conditions = tuple[WorkloadCondition, ...]


def find_condition(conditions: Conditions, type_: str) -> WorkloadCondition | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def remove_condition(conditions: Conditions, type_: str) -> Conditions:
    return tuple(condition for condition in conditions if condition.type != type_)


def put_condition(conditions: Conditions, new: WorkloadCondition) -> Conditions:
    old = find_condition(conditions, new.type)
    if old is not None and old.status == new.status:
        if old.reason == new.reason:
            return conditions
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    return (*remove_condition(conditions, new.type), new)


def trees_of(conditions: Iterable[WorkloadCondition]) -> list[dict[str, str]]:
    trees: list[dict[str, str]] = tree_of(list(conditions))
    return trees
