"""What a supervisor tells its processes, by environment variables: to be thrifty, and when the one before ended.

The standard library alone and little of that, as in ``supervisor.py``.
"""

from collections.abc import Mapping

THRIFT = "HELIOSTAT_THRIFT"
EARLIER_LIFE = "HELIOSTAT_EARLIER_LIFE"
_READ_AT_ONCE = 32 * 1024  # bytes; a TLS record has at most half of that
_NEVER = "-inf"


def is_thrifty(environment: Mapping[str, str]) -> bool:
    """The machine is there for somebody's work: little memory before much speed."""
    return environment.get(THRIFT) == "1"


def use_small_buffers() -> None:
    """asyncio gives every TLS connection 256 kB to read into, and a program has one for each kind that it watches.

    That is 3 MB of the node and 6 MB of the operator.
    """
    from asyncio.sslproto import SSLProtocol  # noqa: PLC0415  the supervisor, which reads this file too, has no asyncio

    SSLProtocol.max_size = _READ_AT_ONCE


def tell_earlier_life(ended: float | None) -> dict[str, str]:
    """For a while after the end of the process before, its last writes may still land.

    ``ended`` is on the monotonic clock, None: nobody like it has run before.
    """
    return {EARLIER_LIFE: _NEVER if ended is None else repr(ended)}


def read_earlier_life(environment: Mapping[str, str]) -> float | None:
    """When the one before it ended, minus infinity when there was none; None when nobody has told."""
    try:
        return float(environment[EARLIER_LIFE])
    except (KeyError, ValueError):
        return None
