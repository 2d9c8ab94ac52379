"""The server in process, on memory, with a clock and uids that a test can foresee."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any

import msgspec

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Request, Response, Stream
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import encode_json

ADMIN = User("admin", groups=(MASTERS,))
NOW = 1_800_000_000.0
DEADLINE = 10.0


class Client:
    def __init__(self, core: ApiCore) -> None:
        self.core = core
        self.now = NOW

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **query: str
    ) -> tuple[int, Any]:
        """Status and decoded body; ``body`` may be bytes."""
        content = body if isinstance(body, bytes) else b"" if body is None else encode_json(body)
        request = Request(
            method=method,
            path=path,
            user=ADMIN,
            query={key: [value] for key, value in query.items()},
            headers={"content-type": content_type, "accept": "application/json"},
            body=content,
        )
        answer = await self.core.handle(request)
        assert isinstance(answer, Response), answer
        is_json = answer.content_type.startswith("application/json")
        return answer.status, msgspec.json.decode(answer.body) if is_json else answer.body.decode()

    async def ok(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        status, tree = await self.call(method, path, body, **query)
        assert status in (200, 201), tree
        return tree

    async def patch(self, path: str, body: Any, kind: str = "merge-patch+json", **query: str) -> tuple[int, Any]:
        return await self.call("PATCH", path, body, f"application/{kind}", **query)

    async def watch(self, path: str, count: int, **query: str) -> list[dict[str, Any]]:
        """The first ``count`` events of a watch."""
        return await Watch(self, path, query).take(count)

    async def open_watch(self, path: str, **query: str) -> "Watch":
        watch = Watch(self, path, query)
        await watch.open()
        return watch


class Watch:
    def __init__(self, client: Client, path: str, query: dict[str, str]) -> None:
        self._client = client
        self._path = path
        self._query = {key: [value] for key, value in {"watch": "true", **query}.items()}
        self._stream: Stream | None = None
        self._ready: list[dict[str, Any]] = []

    async def open(self) -> Stream:
        request = Request(method="GET", path=self._path, user=ADMIN, query=self._query)
        answer = await self._client.core.handle(request)
        assert isinstance(answer, Stream), answer
        self._stream = answer
        return answer

    async def take(self, count: int) -> list[dict[str, Any]]:
        stream = self._stream or await self.open()
        async with asyncio.timeout(DEADLINE):
            while len(self._ready) < count:
                chunk = await anext(stream.chunks)
                self._ready += [msgspec.json.decode(line) for line in chunk.splitlines()]
        taken, self._ready = self._ready[:count], self._ready[count:]
        return taken

    async def rest(self) -> list[dict[str, Any]]:
        """Everything until the stream ends."""
        stream = self._stream or await self.open()
        events = list(self._ready)
        async with asyncio.timeout(DEADLINE), aclosing(stream.chunks) as chunks:
            async for chunk in chunks:
                events += [msgspec.json.decode(line) for line in chunk.splitlines()]
        return events


def serve(
    test: Callable[[Client], Awaitable[None]], run_loop: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run
) -> None:
    """Run an asynchronous test against a fresh server; a bug inside the server fails it."""

    async def run() -> None:
        bugs: list[BaseException] = []
        async with Store(MemoryJournal()) as store:
            numbers = iter(range(1, 1_000_000))
            client: Client

            def new_uid() -> str:
                return f"00000000-0000-0000-0000-{next(numbers):012d}"

            chance = random.Random(0)  # noqa: S311
            authority = Authority(now=lambda: client.now, new_uid=new_uid, random_index=chance.randrange)
            core = ApiCore(store, authority, lambda _user, _attributes: None, on_bug=bugs.append)
            client = Client(core)
            await core.bootstrap()
            await test(client)
        assert bugs == []

    run_loop(run())


def config_map(name: str = "a", **metadata: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "data": {"k": "v"}}


MAPS = "/api/v1/namespaces/default/configmaps"
