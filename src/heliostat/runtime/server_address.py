"""The way to a server: whether an address can be used, and through which proxy it is reached.

Rules: plain HTTP only to this machine (a ``kubectl proxy``), because credentials would travel readable; a proxy of the
kubeconfig comes before the environment's; NO_PROXY is read as Go programs read it (domains with their subdomains,
addresses, networks, ``*``), and this machine is never behind a proxy.
"""

from base64 import b64encode
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError


def check_address(server: str, where: str) -> str:
    """The address without a slash at its end."""
    parts = _split(server)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        shown = "has no server" if not server else "has a server that is no address"
        raise AccessError(where, shown, "write it like https://host:6443")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AccessError(where, "the server's address has more than host, port and path", "leave the rest out")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise AccessError(where, f"the server {server} is not encrypted", "use https, or http on this machine only")
    return server.rstrip("/")


def host_of(server: str) -> str:
    """Host and port of an address that was checked, as labels show them."""
    return urlsplit(server).netloc


def check_proxy(proxy: Hidden, where: str) -> Hidden:
    parts = _split(proxy.reveal())
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise AccessError(where, "the proxy is no http or https address", "write it like http://host:3128")
    return proxy


def split_proxy(proxy: Hidden) -> tuple[str, Hidden | None]:
    """Its address without name and password, which go into the Proxy-Authorization header."""
    parts = urlsplit(proxy.reveal())
    address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
    if parts.username is None:
        return address, None
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return address, Hidden("Basic " + b64encode(login.encode()).decode())


def decide_proxy(server: str, environ: Mapping[str, str]) -> Hidden | None:
    """The proxy that the environment wants for this server."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name)
    host = parts.hostname or ""
    if not proxy or is_loopback(host):
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if any(_excludes(entry.strip().lower(), host, port) for entry in exceptions.split(",")):
        return None
    return check_proxy(Hidden(proxy if "://" in proxy else f"http://{proxy}"), f"{name.upper()} in the environment")


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _excludes(entry: str, host: str, port: int) -> bool:
    if not entry:
        return False
    if entry == "*" or _is_in_network(host, entry):
        return True
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdecimal() and not name.count(":"):
        return int(wanted) == port and _excludes(name, host, port)
    domain = entry.removeprefix("*").removeprefix(".")
    return host.endswith(f".{domain}") or (host == domain and not entry.startswith((".", "*")))


def _is_in_network(host: str, entry: str) -> bool:
    try:
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return False


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises when it is none
    except ValueError:
        return None
    return parts
