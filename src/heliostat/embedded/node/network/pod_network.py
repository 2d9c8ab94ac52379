"""What a node needs of the network that its Pods have, whichever kind that is."""

import socket
from ipaddress import IPv4Network
from pathlib import Path
from typing import Protocol

from heliostat.embedded.node.isolating.sandbox import Sandbox
from heliostat.embedded.node.isolating.shim_template import ShimTemplate
from heliostat.embedded.node.pods import NodePod


class PodNetwork(Protocol):
    @property
    def pool(self) -> IPv4Network: ...  # that addresses of Pods are from

    async def start_pod(self, pod: NodePod, place: Path, address: str, template: ShimTemplate) -> Sandbox:
        """Its sandbox, in this network."""

    async def connect(self, address: str, port: int) -> socket.socket:
        """From beside the Pods, as the node itself."""

    async def dial(self, address: str, port: int) -> socket.socket:
        """The same for Pods, and from the host for everybody else."""

    async def dial_inside(self, pod: Sandbox, port: int) -> socket.socket:
        """Within the Pod, where programs listen for themselves alone."""

    async def close(self) -> None:
        """Let go of it; Pods keep it."""
