"""One of the two clusters as the status shows it: its name, its share of an incremental upgrade, its applications.

A value: what a plan finds out is put into a copy, and ``shown`` is the text of the status.
"""

import math

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.kube.timestamps import format_timestamp, moment_of
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.observed import PENDING, ObservedService
from heliostat.plan.rayservice.serving import ServeSight
from heliostat.plan.rayservice.shares import Share


class Slot(Struct, frozen=True, kw_only=True):
    """``capacity`` and ``traffic`` are None as long as nobody has decided about them."""

    name: str
    cluster: JsonObject | None = None
    applications: JsonObject = {}
    capacity: int | None = None
    traffic: int | None = None
    moved: str = ""

    def share(self, capacity: int, traffic: int) -> Share:
        """Where nothing is said, these count."""
        return Share(
            capacity if self.capacity is None else self.capacity,
            traffic if self.traffic is None else self.traffic,
            moment_of(self.moved) if self.moved else None,
        )

    def showing(self, serve: ServeSight | None) -> "Slot":
        """What Serve says; its silence leaves what is shown."""
        if serve is None or serve.applications is None:
            return self
        return replace(self, applications=serve.applications)

    def having(self, capacity: int) -> "Slot":
        return replace(self, capacity=capacity)

    def seen(self, weight: int | None, now: float) -> "Slot":
        """The route gives it this much; None: it is not on the route.

        The second is rounded up, so that no interval that is counted from it is shorter than it should be.
        """
        if weight is None or weight == self.traffic:
            return self
        return replace(self, traffic=weight, moved=format_timestamp(math.ceil(now)))

    def shown(self) -> JsonObject:
        share = {statuses.CAPACITY: self.capacity, statuses.TRAFFIC: self.traffic, statuses.MOVED: self.moved or None}
        told = {key: value for key, value in share.items() if value is not None}
        return statuses.describe_slot(self.name, self.cluster, self.applications, told)


def read_slot(observed: ObservedService, slot: str) -> Slot:
    told: JsonObject = observed.status.get(slot) or {}
    found = observed.find_pending() if slot == PENDING else observed.find_active()
    return Slot(
        name=str(told.get("rayClusterName") or ""),
        cluster=found if isinstance(found, dict) else None,
        applications=told.get("applicationStatuses") or {},
        capacity=told.get(statuses.CAPACITY),
        traffic=told.get(statuses.TRAFFIC),
        moved=str(told.get(statuses.MOVED) or ""),
    )
