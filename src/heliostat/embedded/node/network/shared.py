"""The network of Pods that nothing is kept apart for: the host's own, with its address and its ports.

No names and no services: whoever serves them would have to listen on the host (``plain_pods`` says what Pods get
instead). A Pod has the machine's address, as one with hostNetwork has anywhere; loopback would not do, because no
endpoint of a service may be one.
"""

import socket
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from heliostat.embedded.node.isolating.plain_pods import claim_ports
from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.isolating.shim_template import ShimTemplate
from heliostat.embedded.node.name_files import hostname_of
from heliostat.embedded.node.network.namespaces import connect_from_host
from heliostat.embedded.node.pods import NodePod

_LOOPBACK = IPv4Address("127.0.0.1")
_ANYWHERE = ("198.51.100.1", 9)  # an address of examples; nothing is sent there


class SharedNetwork:
    def __init__(self, address: IPv4Address) -> None:
        self.pool = IPv4Network(address)
        self._starting: set[str] = set()  # UIDs of Pods

    async def start_pod(self, pod: NodePod, place: Path, address: str, template: ShimTemplate) -> Sandbox:  # noqa: ARG002
        claim_ports(place, pod, self._starting)
        self._starting.add(place.name)
        try:
            return await start_sandbox(SandboxSpec(directory=place, hostname=hostname_of(pod), is_plain=True), template)
        finally:
            self._starting.discard(place.name)

    async def connect(self, address: str, port: int) -> socket.socket:
        return await connect_from_host(address, port)

    async def dial(self, address: str, port: int) -> socket.socket:
        return await connect_from_host(address, port)

    async def dial_inside(self, pod: Sandbox, port: int) -> socket.socket:  # noqa: ARG002
        return await connect_from_host(str(_LOOPBACK), port)

    async def close(self) -> None:
        """Nothing is held."""


def observe_host_address() -> IPv4Address:
    """The one that this machine speaks to others with; loopback when there are none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        try:
            asking.connect(_ANYWHERE)
        except OSError:
            return _LOOPBACK
        return IPv4Address(asking.getsockname()[0])
