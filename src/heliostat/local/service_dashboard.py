"""The dashboard of a RayCluster through the API server's service proxy: no port has to be open anywhere.

The cluster's own token goes in a header of Ray's: ``Authorization`` is between us and the API server.
"""

from heliostat.ray.jobs import DashboardError
from heliostat.runtime.errors import ApiError, RefusedError
from heliostat.runtime.transport import Call, Transport

_SECONDS = 60.0
PORT_NAME = "dashboard"
_TOKEN_HEADER = "X-Ray-Authorization"  # noqa: S105 - the name of a header


class ServiceDashboard:
    def __init__(self, transport: Transport, namespace: str, service: str, token: str = "") -> None:
        self._transport = transport
        self._headers = ((_TOKEN_HEADER, f"Bearer {token}"),) if token else ()
        self._base = f"/api/v1/namespaces/{namespace}/services/{service}:{PORT_NAME}/proxy"

    async def request(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        path = f"{self._base}{path}"
        call = Call(method=method, path=path, body=body, content_type=content_type, headers=self._headers)
        try:
            reply = await self._transport.send(call, _SECONDS)
        except ApiError as error:
            status = error.code if isinstance(error, RefusedError) else 0
            raise DashboardError(status, str(error)) from None
        if reply.status >= 400:
            raise DashboardError(reply.status, reply.body[:2000].decode(errors="replace"))
        return reply.body
