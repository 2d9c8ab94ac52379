"""The CEL rules of the ray.io kinds that hold when an object is created, as plain predicates on the field's value.

They run on trees that were defaulted and fit their types. A rule that compares with ``oldSelf`` speaks about updates
and is not here.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

Predicate: TypeAlias = Callable[[Any], bool]

MANAGERS = ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")

CREATION_RULES: dict[str, Predicate] = {
    "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']": lambda value: value in MANAGERS,
    "!(has(self.jobStatus) && has(self.jobDeploymentStatus))": (
        lambda value: not ("jobStatus" in value and "jobDeploymentStatus" in value)
    ),
    "has(self.jobStatus) || has(self.jobDeploymentStatus)": (
        lambda value: "jobStatus" in value or "jobDeploymentStatus" in value
    ),
    "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))": (
        lambda value: not (("onSuccess" in value or "onFailure" in value) and "deletionRules" in value)
    ),
    "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))": (
        lambda value: ("onSuccess" in value and "onFailure" in value) or "deletionRules" in value
    ),
}


def creation_rule(rule: str) -> Predicate | None:
    """The predicate behind a rule's text; None for a rule that only an update can break."""
    return CREATION_RULES.get(rule)
