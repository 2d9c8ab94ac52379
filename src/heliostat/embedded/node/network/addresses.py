"""Which address a Pod gets: the lowest that no living Pod has, never one that was given back a moment ago first.

Pure. The pool goes round, so that a new Pod does not get the address of the one that has just gone while somebody
still talks to that.
"""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network

_KEPT_BELOW = 2  # the network itself and the gateway


class AddressesExhaustedError(Exception):
    """Every address of the Pod network is in use."""


def gateway_of(network: IPv4Network) -> IPv4Address:
    return network.network_address + 1


def choose_address(network: IPv4Network, used: Collection[IPv4Address], last: IPv4Address | None) -> IPv4Address:
    """The first free one after the last that was given."""
    size = network.num_addresses - _KEPT_BELOW - 1
    first = network.network_address + _KEPT_BELOW
    start = int(last) - int(first) + 1 if last is not None and last in network else 0
    for step in range(size):
        candidate = first + (start + step) % size
        if candidate not in used:
            return candidate
    raise AddressesExhaustedError(f"all {size} addresses of {network} are in use; delete Pods or take a larger network")
