"""Addresses and ranges that are read today and will not be for ever: leading zeros, IPv4 inside IPv6, odd spellings."""

import ipaddress
from collections.abc import Iterable, Iterator

from heliostat.embedded.kinds.rules.address_rules import read_ip, read_range
from heliostat.kube.go_text import go_quote

_LATER = "will be considered invalid in a future Kubernetes release"


def address_cautions(path: str, text: str) -> Iterator[str]:
    address = read_ip(text)
    if address is None:
        return
    plain = _plain(address)
    if plain != address or not _is_strict(text):
        yield f"{path}: non-standard IP address {go_quote(text)} {_LATER}: use {go_quote(str(plain))}"
    elif address.version == 6 and str(address) != text:
        yield f"{path}: IPv6 address {go_quote(text)} should be in RFC 5952 canonical format ({go_quote(str(address))})"


def each_address(path: str, texts: Iterable[str]) -> Iterator[str]:
    for index, text in enumerate(texts):
        yield from address_cautions(f"{path}[{index}]", text)


def range_cautions(path: str, text: str) -> Iterator[str]:
    network = read_range(text)
    if network is None:
        return
    address = read_ip(text.partition("/")[0])
    wanted = go_quote(str(network))
    is_clear, is_standard = address == network.network_address, _is_strict(text.partition("/")[0])
    if not is_clear:
        single = go_quote(f"{address}/{network.max_prefixlen}")
        yield f"{path}: CIDR value {go_quote(text)} is ambiguous in this context (should be {wanted} or {single}?)"
    if not is_standard:
        yield f"{path}: non-standard CIDR value {go_quote(text)} {_LATER}: use {wanted}"
    if is_clear and is_standard and network.version == 6 and str(network) != text:
        yield f"{path}: IPv6 CIDR value {go_quote(text)} should be in RFC 5952 canonical format ({wanted})"


def each_range(path: str, texts: Iterable[str]) -> Iterator[str]:
    for index, text in enumerate(texts):
        yield from range_cautions(f"{path}[{index}]", text)


def _plain(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address that an IPv6 address wraps, or the address itself."""
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return inner or address


def _is_strict(text: str) -> bool:
    """Whether a parser that forgives no leading zeros reads it."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
