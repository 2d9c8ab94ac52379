"""The ways to Ray: directly by address, or through the API server's proxy (KubeRay's ``--use-kubernetes-proxy``).

A way says which transport carries a call, what comes before its path, and how long it may take. The operator is given
one of the two kinds of ways; what asks Ray for something does not know which.
"""

from typing import Protocol

from msgspec import Struct

from heliostat.runtime.connection import Connection, Proof
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.quick_gets import QuickGets
from heliostat.runtime.transport import Transport

DIRECT_SECONDS = 2.0
PROXIED_SECONDS = 10.0
# A call that changes something must be over before another operator may lead: as long as a request to the API.
MOST_WRITE_SECONDS = 4.0
DASHBOARD = "dashboard"


class Way(Struct, frozen=True):
    transport: Transport
    base: str  # comes before the path
    seconds: float  # for a read
    write_seconds: float  # for a call that changes something
    is_proxied: bool = False


class Ways(Protocol):
    def to_dashboard(self, namespace: str, service: str, address: str) -> Way:
        """Of a head Service; ``address`` is its host and port as a Pod of the cluster would call it."""
        ...

    def to_pod(self, namespace: str, pod: str, ip: str, port: int) -> Way: ...


class DirectWays:
    """By address. With ``gateway`` (host:port) everything goes there, with namespace and name before the path.

    A gateway stands for all dashboards at once: a scripted Ray on one port of this machine.
    """

    def __init__(self, transport: Transport, gateway: str = "") -> None:
        self._transport = transport
        self._gateway = gateway

    def to_dashboard(self, namespace: str, service: str, address: str) -> Way:
        return self._way(f"//{self._gateway}/{namespace}/{service}" if self._gateway else f"//{address}")

    def to_pod(self, namespace: str, pod: str, ip: str, port: int) -> Way:
        host = f"[{ip}]" if ":" in ip else ip
        return self._way(f"//{self._gateway}/{namespace}/{pod}" if self._gateway else f"//{host}:{port}")

    def _way(self, base: str) -> Way:
        return Way(self._transport, base, DIRECT_SECONDS, DIRECT_SECONDS)


class ProxiedWays:
    """Through the API server, with our own rights there (``services/proxy`` and ``pods/proxy``)."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def to_dashboard(self, namespace: str, service: str, address: str) -> Way:  # noqa: ARG002
        return self._way(f"/api/v1/namespaces/{namespace}/services/{service}:{DASHBOARD}/proxy")

    def to_pod(self, namespace: str, pod: str, ip: str, port: int) -> Way:  # noqa: ARG002
        return self._way(f"/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy")

    def _way(self, base: str) -> Way:
        return Way(self._transport, base, PROXIED_SECONDS, MOST_WRITE_SECONDS, is_proxied=True)


class _Nobody:
    """Ray knows no credentials of ours; its token is a header of the call."""

    def at_once(self) -> Proof:
        return Proof()

    async def fetch(self) -> Proof:
        return Proof()

    def refused(self, proof: Proof) -> None:
        """There is nothing to forget."""

    async def close(self) -> None:
        """Nothing is held."""


def open_direct_transport(user_agent: str = "heliostat") -> QuickGets:
    """One for all dashboards: the address stands in the path of each call, after two slashes."""
    return QuickGets(HttpsTransport(Connection(server="http:", credentials=_Nobody()), user_agent), user_agent)
