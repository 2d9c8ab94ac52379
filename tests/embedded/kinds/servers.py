"""The embedded server in process, as a ``Call``, with the admission that a whole cluster has."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from embedded.kinds.exchange import Call
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Request, Response
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import encode_json

ADMIN = User("admin", groups=(MASTERS,))
NOW = 1_800_000_000.0
WHOLE = AdmissionOptions(service_accounts=True, storage_protection=True)


def caller(core: ApiCore) -> Call:
    async def call(method: str, path: str, body: Any, content_type: str) -> tuple[int, Any]:
        parts = urlsplit(path)
        request = Request(
            method=method,
            path=parts.path,
            user=ADMIN,
            query=parse_qs(parts.query),
            headers={"content-type": content_type, "accept": "application/json"},
            body=b"" if body is None else encode_json(body),
        )
        answer = await core.handle(request)
        assert isinstance(answer, Response), answer
        return answer.status, msgspec.json.decode(answer.body) if answer.body.startswith(b"{") else answer.body.decode()

    return call


def serve(test: Callable[[Call], Awaitable[None]], options: AdmissionOptions = WHOLE) -> None:
    """Run an asynchronous test against a fresh server; a bug inside the server fails it."""
    serve_core(lambda core: test(caller(core)), options)


def serve_core(test: Callable[[ApiCore], Awaitable[None]], options: AdmissionOptions) -> None:
    async def run() -> None:
        bugs: list[BaseException] = []
        chance = random.Random(0)  # noqa: S311
        numbers = iter(range(1, 1_000_000))
        async with Store(MemoryJournal()) as store:
            authority = Authority(
                now=lambda: NOW,
                new_uid=lambda: f"00000000-0000-0000-0000-{next(numbers):012d}",
                random_index=chance.randrange,
            )
            core = ApiCore(store, authority, lambda _user, _what: None, on_bug=bugs.append, admission_options=options)
            await core.bootstrap()
            await test(core)
        assert bugs == []

    asyncio.run(run())
