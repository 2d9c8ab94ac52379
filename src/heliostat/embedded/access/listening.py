"""Where the server may listen, and which requests can only come from a web page that has no business here.

Rules: loopback needs nothing; any other address needs TLS and authentication; a name in the Host header must be one of
ours (a page whose name was pointed at our address, DNS rebinding, brings its own name), while an address is as good as
the connection; a page may only speak to us from our own origin, so a foreign ``Origin`` or ``Sec-Fetch-Site`` is
refused for every method, reads and WebSockets included. Programs send none of these, or our own.
"""

import ipaddress
from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.refusals import RefusedError

DEFAULT_ADDRESS = "127.0.0.1"


class ListenError(Exception):
    """An address the server refuses to listen on, and what would make it acceptable."""


def refuse_exposure(address: str, *, has_tls: bool, has_authentication: bool) -> ListenError | None:
    """Why the server must not listen on ``address``; None when it may."""
    missing = [need for need, met in (("TLS", has_tls), ("authentication", has_authentication)) if not met]
    if not missing or is_loopback(address):
        return None
    shown = address or "every address"
    return ListenError(
        f"refusing to listen on {shown} without {' and '.join(missing)}: other machines could control this cluster; "
        f"switch {' and '.join(missing)} on, or listen on {DEFAULT_ADDRESS}"
    )


def is_loopback(address: str) -> bool:
    """An address that only this machine reaches. Of names only ``localhost`` is: others mean what DNS says."""
    if address.rstrip(".").lower() == "localhost":
        return True
    found = _read_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    return found is not None and (mapped or found).is_loopback


class Gate(Struct, frozen=True):
    """The names this server answers to, in lower case, without ports."""

    names: frozenset[str]

    def refuse(self, host: str | None, origin: str | None = None, fetch_site: str | None = None) -> RefusedError | None:
        """A refusal for what only a foreign web page would send; None for everything else."""
        if host is None or (name := _host_name(host)) is None:
            return RefusedError(400, "BadRequest", "the request has no valid Host header")
        if name not in self.names and _read_address(name) is None:
            return _forbidden(f"the host {name!r} is not a name of this server")
        is_foreign = fetch_site is not None and fetch_site.lower() not in ("same-origin", "none")
        if is_foreign or (origin is not None and origin.lower() not in _own_origins(host)):
            return _forbidden("requests from web pages of another origin are refused")
        return None


def build_gate(names: Iterable[str]) -> Gate:
    return Gate(frozenset(name.rstrip(".").lower() for name in names))


def _own_origins(host: str) -> tuple[str, str]:
    lower = host.lower()
    return f"https://{lower}", f"http://{lower}"


def _host_name(host: str) -> str | None:
    """The name or address in a Host header, without the port; None for what is not one."""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        is_valid = bool(bracket) and _read_address(name) is not None
    else:
        name, colon, port = host.partition(":")
        rest = colon + port
        is_valid = bool(name) and all(character.isalnum() or character in "-._" for character in name)
    if not is_valid or not host.isascii() or not _is_port(rest):
        return None
    return name.rstrip(".").lower()


def _is_port(rest: str) -> bool:
    return not rest or (rest[0] == ":" and rest[1:].isdigit() and int(rest[1:6]) <= 65535 and len(rest) <= 6)


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _forbidden(message: str) -> RefusedError:
    return RefusedError(403, "Forbidden", message)
