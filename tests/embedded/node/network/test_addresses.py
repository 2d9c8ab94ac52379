"""Pod addresses: never one in use, never the network's own, and not the one just given back while others are free."""

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.node.network.addresses import AddressesExhaustedError, choose_address, gateway_of

SMALL = IPv4Network("10.244.0.0/28")
FREE = [address for address in SMALL.hosts() if address != gateway_of(SMALL)]


@given(st.sets(st.sampled_from(FREE), max_size=len(FREE) - 1), st.none() | st.sampled_from(FREE))
def test_a_free_host_address_is_chosen(used: set[IPv4Address], last: IPv4Address | None) -> None:
    chosen = choose_address(SMALL, used, last)
    assert chosen in FREE
    assert chosen not in used


def test_the_pool_goes_round() -> None:
    given: list[IPv4Address] = []
    for _ in range(len(FREE) + 2):
        given.append(choose_address(SMALL, (), given[-1] if given else None))
    assert given == [*FREE, *FREE[:2]]


def test_a_full_network_says_so() -> None:
    with pytest.raises(AddressesExhaustedError, match=r"all 13 addresses of 10\.244\.0\.0/28 are in use"):
        choose_address(SMALL, FREE, None)
