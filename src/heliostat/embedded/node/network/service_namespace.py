"""A namespace of its own for the addresses of services, so that Pods on the host network may have the same ports.

    Pod ── bridge in the infra namespace ── veth ── this namespace, to which every ClusterIP belongs

Pods with ``hostNetwork`` live in the infra namespace and may listen at any port on all of its addresses; a ClusterIP
with the same port there would collide with them. It lives for as long as the node does, as its listeners do. Where it
cannot be made, services stay in the infra namespace, and such a collision is told by whoever cannot listen.
"""

import contextlib
import errno
import os
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from heliostat.embedded.node.network.namespaces import NamespaceVisitor
from heliostat.embedded.node.network.netlink import Netlink

_OWN = "/proc/thread-self/ns/net"
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_INNER, _OUTER = "services", "eth0"  # the two ends of the cable
_INNER_ADDRESS, _OUTER_ADDRESS = IPv4Interface("169.254.253.1/30"), IPv4Interface("169.254.253.2/30")


class ServiceNamespace:
    """Held by an open file."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.path = Path(f"/proc/self/fd/{file}")

    def close(self) -> None:
        os.close(self._file)


async def open_service_namespace(
    visitor: NamespaceVisitor, infra: Path, pods: IPv4Network, services: IPv4Network
) -> ServiceNamespace:
    """Raises OSError, and then everything is as it was."""
    file = await visitor.visit_new(lambda: os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC))
    made = ServiceNamespace(file)
    try:
        await visitor.visit(infra, lambda: _FORWARDING.write_text("1"))
        await visitor.visit(infra, lambda: _lay_cable(file))
        await visitor.visit(made.path, lambda: _own_services(pods, services))
        await visitor.visit(infra, lambda: _lead_there(services))
    except BaseException:
        made.close()
        raise
    return made


def _lay_cable(file: int) -> None:
    """The one of an earlier life may still be there, and go any moment."""
    with contextlib.closing(Netlink()) as netlink:
        try:
            netlink.delete(_INNER)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
        netlink.add_veth(_INNER, _OUTER, file)


def _own_services(pods: IPv4Network, services: IPv4Network) -> None:
    with contextlib.closing(Netlink()) as netlink:
        netlink.set_up("lo")
        netlink.add_address(_OUTER, _OUTER_ADDRESS)
        netlink.set_up(_OUTER)
        netlink.add_route(pods, _INNER_ADDRESS.ip)
        netlink.make_local(services)


def _lead_there(services: IPv4Network) -> None:
    """In place of what an earlier life may have had in the infra namespace itself."""
    with contextlib.closing(Netlink()) as netlink:
        netlink.add_address(_INNER, _INNER_ADDRESS)
        netlink.set_up(_INNER)
        netlink.add_route(services, _OUTER_ADDRESS.ip)
        with contextlib.suppress(ProcessLookupError):
            netlink.forget_local(services)
