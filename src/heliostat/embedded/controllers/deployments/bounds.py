"""How far a rolling update may go from the size that was asked for: ``maxSurge`` above it, ``maxUnavailable`` below.

Rules: a percentage is of the replicas, rounded up for the surge and down for the rest; where both come out as zero, one
replica may be missing, or nothing would ever move. Recreate knows neither.
"""

import re
from fractions import Fraction
from math import ceil, floor

from msgspec import Struct

from heliostat.embedded.controllers.views.deployments import Deployment

_PERCENT = re.compile(r"[0-9]{1,9}%")


class Bounds(Struct, frozen=True):
    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        return self.replicas + self.surge

    @property
    def least_available(self) -> int:
        return self.replicas - self.unavailable


def bounds_of(deployment: Deployment) -> Bounds:
    replicas, strategy = deployment.spec.replicas, deployment.spec.strategy
    if strategy.type != "RollingUpdate" or strategy.rolling_update is None:
        return Bounds(replicas, 0, 0)
    surge = ceil(_share(strategy.rolling_update.max_surge, replicas))
    unavailable = floor(_share(strategy.rolling_update.max_unavailable, replicas))
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def _share(value: int | str, replicas: int) -> Fraction:
    """A text that is no percentage counts as zero; the API lets none of them in."""
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(int(value[:-1]) * replicas, 100) if _PERCENT.fullmatch(value) else Fraction(0)
