"""How a supervisor tells a process that the machine is there for somebody's work: little memory before much speed."""

from collections.abc import Mapping

THRIFT = "HELIOSTAT_THRIFT"
_READ_AT_ONCE = 32 * 1024  # bytes; a TLS record has at most half of that


def is_thrifty(environment: Mapping[str, str]) -> bool:
    return environment.get(THRIFT) == "1"


def use_small_buffers() -> None:
    """asyncio gives every TLS connection 256 kB to read into, and a program has one for each kind that it watches.

    That is 3 MB of the node and 6 MB of the operator.
    """
    from asyncio.sslproto import SSLProtocol  # noqa: PLC0415  the supervisor, which reads this file too, has no asyncio

    SSLProtocol.max_size = _READ_AT_ONCE
