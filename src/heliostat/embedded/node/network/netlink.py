"""Links, addresses and routes of one network namespace, by rtnetlink messages: the few that Pods need.

A ``Netlink`` speaks for the namespace that its socket was made in, whatever thread uses it later. Messages are built by
pure functions. Nothing is installed for this and no program is called; every refusal is an OSError that says what was
asked for.
"""

import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Final, TypeAlias

Attribute: TypeAlias = tuple[int, bytes]

_REQUEST, _ACK, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_ERROR: Final = 2
_NEW_LINK, _DELETE_LINK, _NEW_ADDRESS, _NEW_ROUTE, _DELETE_ROUTE = 16, 17, 20, 24, 25

_LINK_NAME, _LINK_MTU, _LINK_MASTER, _LINK_INFO, _LINK_NAMESPACE = 3, 4, 10, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_ADDRESS_LOCAL, _ADDRESS_ITSELF = 2, 1
_ROUTE_TO, _ROUTE_DEVICE, _ROUTE_GATEWAY = 1, 4, 5
_UP: Final = 1
_MAIN, _LOCAL = 254, 255
_UNICAST_TYPE, _LOCAL_TYPE = 1, 2
_STATIC: Final = 4
_UNIVERSE, _HOST = 0, 254
_INET: Final = socket.AF_INET


class Netlink:
    """To be made by a thread that is in the namespace."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._number = 0

    def close(self) -> None:
        self._socket.close()
        self._names.close()

    def add_bridge(self, name: str) -> None:
        self._ask(_NEW_LINK, _CREATE | _EXCLUSIVE, build_link(name, kind="bridge"), f"bridge {name}")

    def add_veth(self, name: str, peer: str, namespace: int, *, mtu: int = 65_535) -> None:
        """A cable from here to ``peer`` in the namespace that this open file stands for."""
        body = build_veth(name, peer, namespace, mtu)
        self._ask(_NEW_LINK, _CREATE | _EXCLUSIVE, body, f"veth {name} to {peer}")

    def set_up(self, name: str, *, master: str = "") -> None:
        attributes = [(_LINK_MASTER, _number(self.index_of(master)))] if master else []
        body = _link_header(self.index_of(name), is_up=True) + _attributes(attributes)
        self._ask(_NEW_LINK, 0, body, f"{name} up")

    def delete(self, name: str) -> None:
        self._ask(_DELETE_LINK, 0, _link_header(self.index_of(name)), f"delete {name}")

    def add_address(self, name: str, address: IPv4Interface) -> None:
        body = build_address(self.index_of(name), address)
        self._ask(_NEW_ADDRESS, _CREATE | _EXCLUSIVE, body, f"address {address} of {name}")

    def add_default_route(self, gateway: IPv4Address) -> None:
        self.add_route(IPv4Network(0).supernet(new_prefix=0), gateway)

    def add_route(self, network: IPv4Network, gateway: IPv4Address) -> None:
        attributes = [(_ROUTE_TO, network.network_address.packed)] if network.prefixlen else []
        body = _route_header(network.prefixlen, _MAIN, _UNIVERSE, _UNICAST_TYPE)
        body += _attributes([*attributes, (_ROUTE_GATEWAY, gateway.packed)])
        self._ask(_NEW_ROUTE, _CREATE | _EXCLUSIVE, body, f"route to {network} by {gateway}")

    def make_local(self, network: IPv4Network) -> None:
        """Every address of the network is this namespace's own."""
        self._ask(_NEW_ROUTE, _CREATE | _EXCLUSIVE, self._local_route(network), f"local network {network}")

    def forget_local(self, network: IPv4Network) -> None:
        """The opposite. Raises ProcessLookupError, as the kernel calls it, when there is nothing to forget."""
        self._ask(_DELETE_ROUTE, 0, self._local_route(network), f"local network {network} no more")

    def _local_route(self, network: IPv4Network) -> bytes:
        attributes = [(_ROUTE_TO, network.network_address.packed), (_ROUTE_DEVICE, _number(self.index_of("lo")))]
        return _route_header(network.prefixlen, _LOCAL, _HOST, _LOCAL_TYPE) + _attributes(attributes)

    def make_rest_local(self) -> None:
        """Every address that no other route leads to is this namespace's own."""
        body = _route_header(0, _MAIN, _HOST, _LOCAL_TYPE) + _attributes(
            [(_ROUTE_DEVICE, _number(self.index_of("lo")))]
        )
        self._ask(_NEW_ROUTE, _CREATE | _EXCLUSIVE, body, "local network of the rest")

    def index_of(self, name: str) -> int:
        """Raises OSError when there is no such link."""
        request = struct.pack("16sI12x", name.encode(), 0)
        try:
            answer = fcntl.ioctl(self._names, _SIOCGIFINDEX, request)
        except OSError as error:
            raise OSError(error.errno, f"link {name}: {error.strerror}") from error
        index: int = struct.unpack_from("I", answer, 16)[0]
        return index

    def has(self, name: str) -> bool:
        try:
            self.index_of(name)
        except OSError:
            return False
        return True

    def _ask(self, kind: int, flags: int, body: bytes, what: str) -> None:
        self._number += 1
        self._socket.send(build_message(kind, _REQUEST | _ACK | flags, self._number, body))
        while True:
            answer = self._socket.recv(65536)
            _length, answered, _flags, number, _pid = _MESSAGE.unpack_from(answer)
            if answered == _ERROR and number == self._number:
                break
        code: int = -struct.unpack_from("i", answer, _MESSAGE.size)[0]
        if code:
            raise OSError(code, f"{what}: {os.strerror(code)}")


_SIOCGIFINDEX: Final = 0x8933
_MESSAGE: Final = struct.Struct("IHHII")


def build_message(kind: int, flags: int, number: int, body: bytes) -> bytes:
    return _MESSAGE.pack(_MESSAGE.size + len(body), kind, flags, number, 0) + body


def build_link(name: str, *, kind: str) -> bytes:
    info = _attributes([(_INFO_KIND, kind.encode())])
    return _link_header() + _attributes([(_LINK_NAME, _text(name)), (_LINK_INFO, info)])


def build_veth(name: str, peer: str, namespace: int, mtu: int) -> bytes:
    of_peer = [(_LINK_NAME, _text(peer)), (_LINK_NAMESPACE, _number(namespace)), (_LINK_MTU, _number(mtu))]
    data = _attributes([(_VETH_PEER, _link_header() + _attributes(of_peer))])
    info = _attributes([(_INFO_KIND, b"veth"), (_INFO_DATA, data)])
    return _link_header() + _attributes([(_LINK_NAME, _text(name)), (_LINK_MTU, _number(mtu)), (_LINK_INFO, info)])


def build_address(index: int, address: IPv4Interface) -> bytes:
    header = struct.pack("BBBBI", _INET, address.network.prefixlen, 0, _UNIVERSE, index)
    return header + _attributes([(_ADDRESS_LOCAL, address.ip.packed), (_ADDRESS_ITSELF, address.ip.packed)])


def _link_header(index: int = 0, *, is_up: bool = False) -> bytes:
    up = _UP if is_up else 0
    return struct.pack("BxHiII", socket.AF_UNSPEC, 0, index, up, up)


def _route_header(prefix: int, table: int, scope: int, kind: int) -> bytes:
    return struct.pack("BBBBBBBBI", _INET, prefix, 0, 0, table, _STATIC, scope, kind, 0)


def _attributes(attributes: Iterable[Attribute]) -> bytes:
    """Each with its length and type, filled up to whole words."""
    built = b""
    for kind, value in attributes:
        built += struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)
    return built


def _text(name: str) -> bytes:
    return name.encode() + b"\0"


def _number(value: int) -> bytes:
    return struct.pack("I", value)
