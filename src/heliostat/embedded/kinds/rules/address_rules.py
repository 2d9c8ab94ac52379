"""IP addresses and ranges as Kubernetes 1.34 takes them: also with leading zeros, which it forgives for old objects."""

import ipaddress

from heliostat.embedded.kinds.rules.causes import invalid
from heliostat.embedded.refusals import Cause

_NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_A_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def read_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(_without_leading_zeros(text))
    except ValueError:
        return None


def read_range(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    address, slash, length = text.partition("/")
    if not slash or not length.isdecimal():
        return None
    try:
        return ipaddress.ip_network(f"{_without_leading_zeros(address)}/{length}", strict=False)
    except ValueError:
        return None


def _without_leading_zeros(text: str) -> str:
    if "." not in text or ":" in text:
        return text
    return ".".join(part.lstrip("0") or "0" if part.isdecimal() else part for part in text.split("."))


def ip_causes(path: str, text: str) -> list[Cause]:
    return [] if read_ip(text) is not None else [invalid(path, text, _NOT_AN_IP)]


def range_causes(path: str, text: str) -> list[Cause]:
    return [] if read_range(text) is not None else [invalid(path, text, _NOT_A_RANGE)]


def endpoint_ip_causes(path: str, text: str) -> list[Cause]:
    """An address that traffic can be sent to."""
    address = read_ip(text)
    if address is None:
        return [invalid(path, text, "must be a valid IP address")]
    if address.is_unspecified:
        return [invalid(path, text, f"may not be unspecified ({text})")]
    if address.is_loopback:
        return [invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")]
    if address.is_link_local:
        return [invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
    if address.is_multicast and str(address).startswith(("224.0.0.", "ff02:")):
        return [invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")]
    return []
