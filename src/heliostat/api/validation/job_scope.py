"""What the rules of a RayJobSpec look at. It stands in a RayJob (``spec``) or a RayCronJob (``spec.jobTemplate``)."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from heliostat.api.cluster_features import is_autoscaling
from heliostat.api.rayjob import RayJobSpec
from heliostat.api.settings import Settings
from heliostat.kube.paths import Path, format_path
from heliostat.kube.problems import Problem

JOB_SPEC_REASON = "InvalidRayJobSpec"
SPEC_PREFIX = "The RayJob spec is invalid: "


class JobScope(Struct, frozen=True, kw_only=True):
    spec: RayJobSpec
    annotations: dict[str, str]
    settings: Settings
    at: Path

    @property
    def is_autoscaling(self) -> bool:
        return self.spec.ray_cluster_spec is not None and is_autoscaling(self.spec.ray_cluster_spec)

    def where(self, *tail: str | int) -> str:
        return format_path(self.at + tail)

    def problem(self, rule: str, tail: Path, problem: str, fix: str) -> Problem:
        return self.bare_problem(rule, tail, SPEC_PREFIX + problem, fix)

    def bare_problem(self, rule: str, tail: Path, problem: str, fix: str) -> Problem:
        """KubeRay: some rules report their text without the usual prefix (rayjob.md §16)."""
        return Problem(path=self.at + tail, problem=problem, fix=fix, rule=rule, reason=JOB_SPEC_REASON)


JobRule: TypeAlias = Callable[[JobScope], Iterator[Problem]]
