"""Which Pod of this node has which address: one of the pool for each, kept in a file of the Pod's, so that it stays
the same over restarts; a Pod in the network of the node has the node's."""

import contextlib
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from heliostat.embedded.node.network.addresses import choose_address

_FILE = "address"


class PodAddresses:
    def __init__(self, network: IPv4Network) -> None:
        self._network = network
        self._known: dict[str, str] = {}  # by the UID of the Pod
        self._last: IPv4Address | None = None

    def of(self, uid: str) -> str:
        """Empty: it has none."""
        return self._known.get(uid, "")

    def recover(self, place: Path) -> None:
        with contextlib.suppress(OSError):
            self._known[place.name] = (place / _FILE).read_text()

    def give(self, place: Path, host_address: str = "") -> str:
        """That of the host, or the one that the Pod has already, or a new one."""
        uid = place.name
        if not self.of(uid):
            address = host_address or self._choose()
            (place / _FILE).write_text(address)
            self._known[uid] = address
        return self._known[uid]

    def _choose(self) -> str:
        used = {IPv4Address(found) for found in self._known.values()}
        self._last = choose_address(self._network, used, self._last)
        return str(self._last)

    def take_back(self, place: Path) -> None:
        (place / _FILE).unlink(missing_ok=True)
        self._known.pop(place.name, None)
