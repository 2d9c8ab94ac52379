"""What holds for every Pod of this node."""

from collections.abc import Mapping

from msgspec import Struct

from heliostat.embedded.node.imaging.images import Image


class NodeFacts(Struct, frozen=True, kw_only=True):
    host_address: str
    dns_address: str
    domain: str = "cluster.local"
    allocatable: Mapping[str, str] = {}
    images: tuple[Image, ...] = ()
    images_file: str = "images.toml"  # where users add to them
    hidden: tuple[str, ...] = ()  # directories of the host that no container sees
    plain_because: str = ""  # why nothing is kept apart for Pods; empty: they have namespaces
    outbound_ports: tuple[int, ...] = ()  # of other machines, that Pods reach
    has_strict_cpu: bool = False  # CPU limits are kept; otherwise they only weigh when processors are short
