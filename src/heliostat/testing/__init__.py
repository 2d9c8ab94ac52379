"""The public test kit: a real Kubernetes API server inside a test, and faults to try a controller with."""

from heliostat.testing.apiserver import ApiServer, api_server_in_thread
from heliostat.testing.faults import Cut, Delay, Drop, Fault, Faults, Refuse, Stale
from heliostat.testing.virtual_time import VirtualTimeLoop, run_virtual

__all__ = [
    "ApiServer",
    "Cut",
    "Delay",
    "Drop",
    "Fault",
    "Faults",
    "Refuse",
    "Stale",
    "VirtualTimeLoop",
    "api_server_in_thread",
    "run_virtual",
]
