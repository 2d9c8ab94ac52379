"""How to reach one cluster and what to show it, as values: what a kubeconfig or a Pod's own folder boils down to.

Rules: everything secret is ``Hidden``; texts that live in files are asked for anew at every request, so a rotated
token, certificate or authority counts at once; what cannot be found out is an ``AccessError``, and nothing was sent.
A connection belongs to one event loop.
"""

from typing import Protocol

from msgspec import Struct

from heliostat.kube.hidden import Hidden
from heliostat.runtime.errors import UnavailableError


class AccessError(UnavailableError):
    """One sentence: where, what is wrong, and how to fix it."""

    def __init__(self, where: str, problem: str, fix: str) -> None:
        super().__init__(f"{where}: {problem}; {fix}")
        self.where = where
        self.problem = problem
        self.fix = fix


class Text(Protocol):
    """A text that may change: the same ``Hidden`` is given for as long as it does not."""

    def read(self) -> Hidden:
        """Raises AccessError."""
        ...


class Certificate(Struct, frozen=True):
    """A client certificate with its key, both PEM."""

    chain: Hidden
    key: Hidden


class Proof(Struct, frozen=True):
    """What one request shows of who we are."""

    authorization: Hidden | None = None  # the whole header value
    certificate: Certificate | None = None


class Credentials(Protocol):
    def at_once(self) -> Proof | None:
        """What to show now, if nothing has to be waited for. Raises AccessError."""
        ...

    async def fetch(self) -> Proof:
        """What to show now. Raises AccessError."""
        ...

    def refused(self, proof: Proof) -> None:
        """The server did not accept this one: whatever remembers proofs must not show it again."""
        ...

    async def close(self) -> None: ...


class Connection(Struct, frozen=True, kw_only=True):
    server: str  # https://host:port, perhaps with a path that comes before every other
    credentials: Credentials
    namespace: str = "default"
    authority: Text | None = None  # PEM; None: those that the system trusts
    tls_server_name: str = ""  # the name to verify, when it is not the address
    skip_tls_verify: bool = False
    proxy: Hidden | None = None
    impersonation: tuple[tuple[str, str], ...] = ()  # headers
    is_in_cluster: bool = False  # we are a Pod of it
