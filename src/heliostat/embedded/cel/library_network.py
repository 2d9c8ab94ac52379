"""IP addresses and networks in rules. As strict as the API server: no zones, no leading zeros, no IPv4 inside IPv6."""

import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import EvaluationError, NoSuchOverloadError
from heliostat.embedded.cel.prices import (
    CONTAINS_CIDR,
    CONTAINS_CIDR_TEXT,
    CONTAINS_IP,
    CONTAINS_IP_TEXT,
    READ,
    READ_TWICE,
)
from heliostat.embedded.cel.values import register_type

Address: TypeAlias = IPv4Address | IPv6Address

_BITS = re.compile(r"0|[1-9]\d{0,2}", re.ASCII)


class Ip(Struct, frozen=True):
    address: Address

    def __len__(self) -> int:
        return self.address.max_prefixlen // 8


class Network(Struct, frozen=True):
    address: Address
    bits: int

    def __len__(self) -> int:
        return (self.bits + 7) // 8

    @property
    def network(self) -> IPv4Network | IPv6Network:
        kind = IPv4Network if self.address.version == 4 else IPv6Network
        return kind((int(self.address), self.bits), strict=False)


def _read_address(text: str) -> Address:
    if "%" in text:
        raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
    try:
        address: Address = IPv6Address(text) if ":" in text else IPv4Address(text)
    except (AddressValueError, ValueError):
        reason = f'ParseAddr("{text}"): unable to parse IP'
        raise EvaluationError(f'IP Address "{text}" parse error during conversion from string: {reason}') from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _ip(text: str) -> Ip:
    return Ip(_read_address(text))


def _is_ip(text: str) -> bool:
    try:
        _read_address(text)
    except EvaluationError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return _address_text(_read_address(text)) == text


def _address_text(address: Address) -> str:
    return str(address)


def _cidr(text: str) -> Network:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _not_a_network(text, "no '/'")
    try:
        found = _read_address(address)
    except EvaluationError:
        raise _not_a_network(text, f'ParseAddr("{address}"): unable to parse IP') from None
    if _BITS.fullmatch(bits) is None:
        raise _not_a_network(text, f'bad bits after slash: "{bits}"')
    if int(bits) > found.max_prefixlen:
        raise _not_a_network(text, "prefix length out of range")
    return Network(found, int(bits))


def _not_a_network(text: str, reason: str) -> EvaluationError:
    problem = "network address parse error during conversion from string"
    return EvaluationError(f'{problem}: {problem}: netip.ParsePrefix("{text}"): {reason}')


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_ip(network: Network, ip: Ip) -> bool:
    return ip.address.version == network.address.version and ip.address in network.network


def _contains_ip_text(network: Network, text: str) -> bool:
    if not _is_ip(text):
        raise NoSuchOverloadError
    return _contains_ip(network, _ip(text))


def _contains_cidr(network: Network, other: Network) -> bool:
    same_family = other.address.version == network.address.version
    return same_family and other.bits >= network.bits and other.address in network.network


def _contains_cidr_text(network: Network, text: str) -> bool:
    if not _is_cidr(text):
        raise NoSuchOverloadError
    return _contains_cidr(network, _cidr(text))


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    is_broadcast = address == IPv4Address("255.255.255.255")
    others = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (is_broadcast or others)


def _is_link_local_multicast(ip: Ip) -> bool:
    if ip.address.version == 4:
        return ip.address in IPv4Network("224.0.0.0/24")
    return ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 0x02


register_type(Ip, "net.IP")
register_type(Network, "net.CIDR")

NETWORK: list[Declaration] = [
    function("ip(string) -> ip_address", run=_ip, price=READ),
    function("isIP(string) -> bool", run=_is_ip, price=READ),
    function("ip.isCanonical(string) -> bool", run=_is_canonical, price=READ_TWICE),
    function("string(ip_address) -> string", run=lambda ip: _address_text(ip.address)),
    method("ip_address.family() -> int", run=lambda ip: ip.address.version),
    method("ip_address.isUnspecified() -> bool", run=lambda ip: ip.address.is_unspecified),
    method("ip_address.isLoopback() -> bool", run=lambda ip: ip.address.is_loopback),
    method("ip_address.isLinkLocalMulticast() -> bool", run=_is_link_local_multicast),
    method("ip_address.isLinkLocalUnicast() -> bool", run=lambda ip: ip.address.is_link_local),
    method("ip_address.isGlobalUnicast() -> bool", run=_is_global_unicast),
    function("cidr(string) -> network", run=_cidr, price=READ),
    function("isCIDR(string) -> bool", run=_is_cidr, price=READ),
    function("string(network) -> string", run=lambda network: f"{network.address}/{network.bits}"),
    method("network.containsIP(string) -> bool", run=_contains_ip_text, price=CONTAINS_IP_TEXT),
    method("network.containsIP(ip_address) -> bool", run=_contains_ip, price=CONTAINS_IP),
    method("network.containsCIDR(string) -> bool", run=_contains_cidr_text, price=CONTAINS_CIDR_TEXT),
    method("network.containsCIDR(network) -> bool", run=_contains_cidr, price=CONTAINS_CIDR),
    method("network.ip() -> ip_address", run=lambda network: Ip(network.address)),
    method("network.masked() -> network", run=lambda n: Network(n.network.network_address, n.bits)),
    method("network.prefixLength() -> int", run=lambda network: network.bits),
]
