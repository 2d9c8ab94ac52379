"""What a node has and promises."""

from heliostat.embedded.controllers.nodes.machines import Judgement, Machine
from heliostat.embedded.controllers.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from heliostat.embedded.controllers.views.nodes import Taint
from heliostat.embedded.networks import POD_NETWORK

__all__ = [
    "NO_EXECUTE",
    "NO_SCHEDULE",
    "POD_NETWORK",
    "PREFER_NO_SCHEDULE",
    "Judgement",
    "Machine",
    "Taint",
]
