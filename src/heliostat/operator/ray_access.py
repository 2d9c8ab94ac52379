"""How the operator comes to Ray: the dashboard of a cluster by the address that a status holds, with its token if any.

A token is read when it is needed and kept nowhere: no cache of ours holds what is in a Secret.
"""

import base64
import binascii

import msgspec
from msgspec import Struct

from heliostat.desired.auth import TOKEN_KEY
from heliostat.operator.kinds import SECRET
from heliostat.ray.dashboard import RayDashboard
from heliostat.ray.ways import Way, Ways
from heliostat.runtime.client import Client
from heliostat.runtime.errors import UnavailableError


class Place(Struct, frozen=True):
    """A dashboard: ``address`` is host and port as a Pod calls them; ``secret`` is empty when no token is asked."""

    namespace: str
    address: str
    secret: str = ""

    @property
    def service(self) -> str:
        return self.address.partition(".")[0]


class _Secret(Struct):
    data: dict[str, str] = {}


class RayAccess:
    def __init__(self, client: Client, ways: Ways) -> None:
        self._client = client
        self._ways = ways

    async def open(self, place: Place) -> RayDashboard:
        """Raises what the API server says about the Secret."""
        token = await self._read_token(place) if place.secret else ""
        way = self._ways.to_dashboard(place.namespace, place.service, place.address)
        return RayDashboard(way, token=token, fence=self._client.fence)

    def way_to_pod(self, namespace: str, pod: str, ip: str, port: int) -> Way:
        return self._ways.to_pod(namespace, pod, ip, port)

    async def _read_token(self, place: Place) -> str:
        body = await self._client.get(SECRET, place.namespace, place.secret)
        where = f"Secret {place.namespace}/{place.secret}"
        text = msgspec.json.decode(body, type=_Secret).data.get(TOKEN_KEY)
        if text is None:
            raise UnavailableError(f"{where} has no key {TOKEN_KEY}, which holds the token of Ray's dashboard")
        try:
            return base64.b64decode(text, validate=True).decode().strip()
        except (binascii.Error, UnicodeDecodeError):
            raise UnavailableError(f"{where}: what {TOKEN_KEY} holds is not text") from None
