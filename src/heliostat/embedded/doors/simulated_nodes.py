"""Nodes that exist only in the API, and how their Pods behave."""

from heliostat.embedded.controllers.nodes.machines import TooManyMachinesError, build_machines
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.nodes.stages import DEFAULT_STAGES, FAST_STAGES

__all__ = [
    "DEFAULT_STAGES",
    "FAST_STAGES",
    "Simulation",
    "TooManyMachinesError",
    "build_machines",
]
