"""What a kind's ``add_controller`` is given: the host that its controller is added to, and what controllers share."""

from msgspec import Struct

from heliostat.operator.options import OperatorOptions
from heliostat.operator.ray_access import RayAccess
from heliostat.operator.ray_facts import RayFacts
from heliostat.runtime.client import Client
from heliostat.runtime.host import Host
from heliostat.runtime.metrics import Registry
from heliostat.runtime.program import Clocks


class Building(Struct, frozen=True, kw_only=True):
    host: Host
    client: Client
    options: OperatorOptions
    facts: RayFacts  # what Ray says, polled beside the loop
    access: RayAccess  # ways to Ray
    registry: Registry
    clocks: Clocks
