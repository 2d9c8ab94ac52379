"""The public test kit: a real Kubernetes API server inside a test, and faults to try a controller with."""

from heliostat.testing.apiserver import ApiServer, api_server_in_thread
from heliostat.testing.faults import Cut, Delay, Drop, Fault, Faults, Refuse, Stale

__all__ = ["ApiServer", "Cut", "Delay", "Drop", "Fault", "Faults", "Refuse", "Stale", "api_server_in_thread"]
