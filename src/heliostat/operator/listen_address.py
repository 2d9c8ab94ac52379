"""Where a process listens, as Go writes it: ``:8080``, ``127.0.0.1:8080``, ``[::1]:8080``; ``0`` means nowhere.

Rule: an address without a host means every interface inside a cluster, where a Pod has its own, and loopback anywhere
else, where it would open a port of somebody's machine to the network.
"""

import re

from msgspec import Struct

from heliostat.operator.usage_error import UsageError

NOWHERE = "0"
# controller-runtime: an empty address of metrics is its own default; an empty one of probes is none.
_MEANT_BY_EMPTY = {"--metrics-addr": ":8080"}
LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]*)\]|(?P<host>[^\[\]:]*)):(?P<port>[0-9]{1,5})")
_LARGEST_PORT = 65535


class ListenAddress(Struct, frozen=True):
    host: str  # empty: not said
    port: int  # 0: any free one

    def bound(self, *, is_in_cluster: bool) -> "ListenAddress":
        """With a host that can be listened on; empty is every interface."""
        return self if self.host or is_in_cluster else ListenAddress(LOOPBACK, self.port)


def parse_address(text: str, told_by: str) -> ListenAddress | None:
    """None: nowhere. ``told_by`` is the flag or field that says so. Raises UsageError."""
    text = text or _MEANT_BY_EMPTY.get(told_by, NOWHERE)
    if text == NOWHERE:
        return None
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > _LARGEST_PORT:
        raise UsageError(f"{told_by}: {text!r} is no address; give HOST:PORT, :PORT, or {NOWHERE} for none")
    return ListenAddress(found["six"] or found["host"] or "", int(found["port"]))
