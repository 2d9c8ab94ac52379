"""All that a RayService is decided from: the view, the settings, what the operator remembers, and the time."""

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.api.validation.service import is_incremental_upgrade
from heliostat.plan.rayservice.observed import ObservedService, Remembered


class Look(Struct, frozen=True):
    observed: ObservedService
    settings: Settings
    remembered: Remembered
    now: float

    @property
    def is_incremental(self) -> bool:
        """Whether requests are moved step by step, through a Gateway."""
        return is_incremental_upgrade(self.observed.service.spec, self.settings)
