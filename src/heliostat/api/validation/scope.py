"""What the rules of a RayClusterSpec look at, and how they phrase what they find.

A spec can stand at three places: in a RayCluster, in a RayJob (``spec.rayClusterSpec``) and in a RayService
(``spec.rayClusterConfig``). The scope knows where, so that every path and every piece of advice points into the
document at hand. Rules are generators over a scope: each yields what it finds and lets the next one look, whatever it
found.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from heliostat.api.raycluster import HeadGroupSpec, RayClusterSpec, WorkerGroupSpec
from heliostat.api.settings import Settings
from heliostat.kube.paths import Path, format_path
from heliostat.kube.problems import Problem

SPEC_REASON = "InvalidRayClusterSpec"


class SpecScope(Struct, frozen=True, kw_only=True):
    spec: RayClusterSpec
    annotations: dict[str, str]
    settings: Settings
    at: Path

    @property
    def head(self) -> HeadGroupSpec:
        return self.spec.head_group_spec

    @property
    def groups(self) -> list[WorkerGroupSpec]:
        return self.spec.worker_group_specs or []

    def where(self, *tail: str | int) -> str:
        """The full path of a field, as people read it."""
        return format_path(self.at + tail)

    def problem(self, rule: str, tail: Path, problem: str, fix: str) -> Problem:
        """A refusal of the field at ``tail`` below the spec."""
        return Problem(path=self.at + tail, problem=problem, fix=fix, rule=rule, reason=SPEC_REASON)

    def annotation_problem(self, rule: str, key: str, problem: str, fix: str) -> Problem:
        """A refusal of an annotation, which always stands on the document itself."""
        path: Path = ("metadata", "annotations", key)
        return Problem(path=path, problem=problem, fix=fix, rule=rule, reason=SPEC_REASON)


SpecRule: TypeAlias = Callable[[SpecScope], Iterator[Problem]]

HEAD_TEMPLATE: Path = ("headGroupSpec", "template", "spec")
HEAD_CONTAINER: Path = (*HEAD_TEMPLATE, "containers", 0)
HEAD_ENV: Path = (*HEAD_CONTAINER, "env")


def group_path(index: int, *tail: str | int) -> Path:
    return ("workerGroupSpecs", index, *tail)
