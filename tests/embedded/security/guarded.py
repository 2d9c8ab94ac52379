"""A server of our own with its keys at hand, so that a test can forge whatever an attacker would."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from embedded.security.wire import ABREAST, Asked, Told, Wire, ask_all
from heliostat.embedded.access.certificates import Credential, build_client_certificate
from heliostat.embedded.access.identity import Identity, load_identity
from heliostat.embedded.access.tls import build_client_context
from heliostat.embedded.access.users import MASTERS
from heliostat.embedded.server.limits import Limits
from heliostat.embedded.serving import EmbeddedServer, ServerOptions
from heliostat.kube.jsontree import encode_json

JSON = ("Content-Type", "application/json")
PATCHES = ("Content-Type", "application/merge-patch+json")


class Guarded(Struct, frozen=True):
    server: EmbeddedServer
    identity: Identity
    bugs: list[BaseException]
    _contexts: dict[tuple[str, ...], ssl.SSLContext] = {}

    def tls(self, credential: Credential | None = None) -> ssl.SSLContext:
        return build_client_context(self.identity.authority.certificate, credential)

    def tls_of(self, user: str, *groups: str) -> ssl.SSLContext:
        """With a certificate for this user, the same for as long as the server runs."""
        if (user, *groups) not in self._contexts:
            certificate = build_client_certificate(self.identity.authority, user, groups, time.time())
            self._contexts[(user, *groups)] = self.tls(certificate)
        return self._contexts[(user, *groups)]

    def admin(self) -> ssl.SSLContext:
        return self.tls_of("admin", MASTERS)

    def wire(self, tls: ssl.SSLContext) -> Wire:
        return Wire(self.server.port, tls)

    async def ask_all(self, tls: ssl.SSLContext, requests: list[Asked], abreast: int = ABREAST) -> list[Told]:
        return await ask_all(self.server.port, tls, requests, abreast)

    async def do(self, method: str, path: str, body: Any = None, *, tls: ssl.SSLContext | None = None) -> Told:
        """One request, as the administrator unless somebody else is given."""
        content = b"" if body is None else encode_json(body)
        headers = (PATCHES,) if method == "PATCH" else (JSON,)
        return (await self.ask_all(tls or self.admin(), [Asked(method, path, headers, content)]))[0]

    async def make(self, path: str, *bodies: Any) -> list[Any]:
        """As the administrator; each must succeed."""
        answers = await self.ask_all(
            self.admin(), [Asked("POST", path, (JSON,), msgspec.json.encode(body)) for body in bodies]
        )
        assert [told.status for told in answers] == [201] * len(bodies), answers
        return [told.tree for told in answers]


@asynccontextmanager
async def guarded_server(data: Path, limits: Limits | None = None) -> AsyncIterator[Guarded]:
    """Its bugs, if it met any, are the test's failure."""
    bugs: list[BaseException] = []
    options = ServerOptions(data=data, synchronous="NORMAL", limits=limits or Limits())
    async with EmbeddedServer(options, on_bug=bugs.append) as server:
        yield Guarded(server, load_identity(data / "keys", time.time()), bugs)
    if bugs:
        raise bugs[0]


def guarding(
    data: Path, test: Callable[[Guarded], Awaitable[None]], limits: Limits | None = None, *, seconds: float = 60.0
) -> None:
    async def run() -> None:
        async with guarded_server(data, limits) as guarded, asyncio.timeout(seconds):
            await test(guarded)

    asyncio.run(run())
