"""The dashboard of a RayCluster through the API server's service proxy: no port has to be open anywhere.

The cluster's own token goes in a header of Ray's: ``Authorization`` is between us and the API server.
"""

from msgspec import structs

from heliostat.ray.dashboard import RayDashboard
from heliostat.ray.ways import DASHBOARD, ProxiedWays
from heliostat.runtime.transport import Transport

PORT_NAME = DASHBOARD
_SECONDS = 60.0  # a person waits, and nobody else: there is no lease


class ServiceDashboard(RayDashboard):
    def __init__(
        self, transport: Transport, namespace: str, service: str, token: str = "", seconds: float = _SECONDS
    ) -> None:
        way = ProxiedWays(transport).to_dashboard(namespace, service, "")
        super().__init__(structs.replace(way, seconds=seconds, write_seconds=seconds), token=token)
