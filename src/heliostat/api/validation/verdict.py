"""From findings to a verdict and to the event that tells it.

Each event reason has a frame around the error text. KubeRay: constants.md §14.
"""

from collections.abc import Iterable

from heliostat.api.validation.autoscaler import V1_RESTART_RULE
from heliostat.kube.plan import Event
from heliostat.kube.problems import Problem

_FRAMES: dict[str, str] = {
    "InvalidRayClusterMetadata": "The RayCluster metadata is invalid {where}: {problem}",
    "InvalidRayClusterSpec": "The RayCluster spec is invalid {where}: {problem}",
    "InvalidRayClusterStatus": "The RayCluster status is invalid {where}, {problem}",
}
_FRAMES_OF_RULES: dict[str, str] = {
    "V-U1": "The RayCluster UpgradeStrategy is invalid {where}: {problem}",
    "V-U2": "The RayCluster UpgradeStrategy is invalid {where}: {problem}",
    V1_RESTART_RULE: "RayCluster spec warning {where}: {problem}",
}
_PLAIN_FRAME = "{where}: {problem}"  # RayJob, RayService and RayCronJob carry their prefix in the error text


def refusal(problems: Iterable[Problem]) -> Problem | None:
    """The first error, which is KubeRay's verdict; None when the object is accepted (perhaps with warnings)."""
    return next((problem for problem in problems if problem.severity == "error"), None)


def event_of(problem: Problem, namespace: str, name: str) -> Event:
    """The event KubeRay emits for this finding about the object ``namespace/name``."""
    frame = _FRAMES_OF_RULES.get(problem.rule) or _FRAMES.get(problem.reason, _PLAIN_FRAME)
    note = frame.format(where=f"{namespace}/{name}", problem=problem.problem)
    return Event("Warning", problem.reason, "Validate", note)
