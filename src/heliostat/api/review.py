"""Everything there is to say about one ray.io document: the API server's part, KubeRay's part, our own advice."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from heliostat.api.documents import Accepted, accept
from heliostat.api.kinds import RayObject
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.api.validation import (
    advice,
    cluster_problems,
    cronjob_problems,
    job_problems,
    refusal,
    service_problems,
)
from heliostat.kube.problems import Problem


class Review(Struct, frozen=True):
    """``object`` and ``tree`` (with defaults) are there when the API server would take the document in."""

    problems: tuple[Problem, ...]
    object: RayObject | None = None
    tree: JsonObject | None = None

    @property
    def refusal(self) -> Problem | None:
        """What stands in its way: the API server's first error, else KubeRay's."""
        return refusal(self.problems)


def review(tree: Any, settings: Settings) -> Review:
    answer = accept(tree)
    if not isinstance(answer, Accepted):
        return Review(answer.problems)
    problems = (*answer.warnings, *object_problems(answer.object, settings), *advice(answer.object))
    return Review(problems, answer.object, answer.tree)


def object_problems(value: RayObject, settings: Settings) -> Iterator[Problem]:
    """KubeRay's rules for whichever kind it is."""
    if isinstance(value, RayCluster):
        return cluster_problems(value, settings)
    if isinstance(value, RayJob):
        return job_problems(value, settings)
    if isinstance(value, RayService):
        return service_problems(value, settings)
    return cronjob_problems(value, settings)
