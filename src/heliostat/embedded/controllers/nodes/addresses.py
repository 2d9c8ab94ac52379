"""Addresses of Pods on one simulated node: the next free one of its range, taken until the Pod is over or gone.

What the cache shows is what is taken; an address that was just handed out is kept for its Pod until the cache shows
it. The order of asking decides the addresses, nothing else.
"""

from ipaddress import IPv4Network

_RESERVED = 2  # the network itself and the node's end of it


class AddressesExhaustedError(LookupError):
    """Every address of the node's range is taken."""


class AddressPool:
    def __init__(self, network: str) -> None:
        self._network = IPv4Network(network)
        self._size = self._network.num_addresses - 1  # without the broadcast address
        self._owner: dict[str, str] = {}
        self._address: dict[str, str] = {}  # by the UID of the Pod
        self._next = _RESERVED

    def take(self, uid: str) -> str:
        """The address of this Pod, the same however often it is asked for."""
        if uid in self._address:
            return self._address[uid]
        for step in range(self._size - _RESERVED):
            offset = _RESERVED + (self._next - _RESERVED + step) % (self._size - _RESERVED)
            address = str(self._network[offset])
            if address not in self._owner:
                self._next = offset + 1
                self.occupy(uid, address)
                return address
        raise AddressesExhaustedError(f"all addresses of {self._network} are taken")

    def occupy(self, uid: str, address: str) -> None:
        if self._address.get(uid) != address:
            self.release(uid)
            self._owner[address], self._address[uid] = uid, address

    def release(self, uid: str) -> None:
        address = self._address.pop(uid, None)
        if address is not None and self._owner.get(address) == uid:
            del self._owner[address]
