"""What one plan of a RayCluster is made from: a single frozen value. The same situation gives the same plan."""

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.problems import Problem
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.remembered import Remembered


class Situation(Struct, frozen=True, kw_only=True):
    observed: ObservedCluster
    desired: DesiredCluster | None  # None only for a refused spec
    settings: Settings
    remembered: Remembered = Remembered()
    now: float  # epoch seconds
    refusal: Problem | None = None
    warnings: tuple[Problem, ...] = ()  # those with an event reason are told at every pass

    @property
    def parts(self) -> DesiredCluster:
        """What the RayCluster should consist of, once it is known that the spec is accepted."""
        if self.desired is None:
            raise ValueError("an accepted RayCluster is planned with the objects it should consist of")
        return self.desired
