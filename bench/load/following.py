"""A client that makes many objects and sees in a watch when all of them are ready, and when they are gone.

Ready is what people wait for: a Pod's Ready condition, a RayCluster's state. It asks over HTTPS with a bearer token,
with as many connections as a busy client has; one more feeds its watch.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from load.targets import Target

CONNECTIONS = 32
LIMIT_SECONDS = 600.0


class _Metadata(Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str


class _Condition(Struct, frozen=True):
    type: str
    status: str


class _Status(Struct, frozen=True):
    state: str = ""
    conditions: list[_Condition] = []

    @property
    def is_ready(self) -> bool:
        return self.state == "ready" or any(each.type == "Ready" and each.status == "True" for each in self.conditions)


class _Object(Struct, frozen=True):
    metadata: _Metadata
    status: _Status = _Status()


class _Line(Struct, frozen=True):
    type: str
    object: _Object


class Follower:
    """One collection, and which of its objects are ready."""

    def __init__(self, session: aiohttp.ClientSession, path: str) -> None:
        self.path = path
        self.ready: dict[str, float] = {}  # when it was seen
        self.present: set[str] = set()
        self._session = session
        self._changed = asyncio.Event()
        self._is_watching = asyncio.Event()
        self._version = ""
        self._failure: BaseException | None = None
        self._decoder = msgspec.json.Decoder(_Line)

    async def follow(self) -> None:
        """As clients do: kube-apiserver closes watches that cannot keep up, and they go on where they were."""
        async with self._session.get(self.path) as listed:
            page = msgspec.json.decode(await listed.read())
        self._version = page["metadata"]["resourceVersion"]
        self.present = {item["metadata"]["name"] for item in page["items"]}
        while True:
            params = {"watch": "1", "resourceVersion": self._version}
            async with self._session.get(self.path, params=params) as watched:
                self._is_watching.set()
                await self._read(watched)

    async def _read(self, watched: aiohttp.ClientResponse) -> None:
        rest = b""
        async for chunk in watched.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(self._decoder.decode(line))
            self._changed.set()

    def _take(self, line: _Line) -> None:
        name, self._version = line.object.metadata.name, line.object.metadata.resource_version
        if line.type == "DELETED":
            self.present.discard(name)
            self.ready.pop(name, None)
            return
        self.present.add(name)
        if line.object.status.is_ready:
            self.ready.setdefault(name, time.perf_counter())

    def note_end(self, following: "asyncio.Task[None]") -> None:
        """A watch that failed ends the benchmark."""
        if not following.cancelled():
            self._failure = following.exception()
            self._changed.set()

    async def _until(self, test: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while not test():
                    self._changed.clear()
                    await self._changed.wait()
                    if self._failure is not None:
                        raise SystemExit(f"{self.path}: the watch failed: {self._failure!r}")
        except TimeoutError:
            seen = f"{len(self.present)} are there, {len(self.ready)} are ready"
            raise SystemExit(f"{self.path}: after {LIMIT_SECONDS:.0f} s not {what}: {seen}") from None

    async def make(self, trees: Iterable[Any]) -> float:
        """Seconds from the first request until the last one is ready."""
        bodies = {tree["metadata"]["name"]: msgspec.json.encode(tree) for tree in trees}
        await self._is_watching.wait()
        begun = time.perf_counter()
        await _ask(self._create, bodies.values())
        await self._until(lambda: self.ready.keys() >= bodies.keys(), "all ready")
        return max(self.ready[name] for name in bodies) - begun

    async def remove_all(self) -> None:
        await self._is_watching.wait()
        async with self._session.delete(self.path, params={"propagationPolicy": "Background"}) as answer:
            await answer.read()
        await self.wait_until_gone()

    async def wait_until_gone(self) -> None:
        await self._is_watching.wait()
        await self._until(lambda: not self.present, "all gone")

    async def _create(self, body: bytes) -> None:
        async with self._session.post(self.path, data=body) as answer:
            text = await answer.text()
            if answer.status != 201:
                raise SystemExit(f"{answer.url}: {answer.status} {text[:500]}")


@asynccontextmanager
async def followed(target: Target, path: str) -> AsyncIterator[Follower]:
    trust = ssl._create_unverified_context()  # noqa: S323, SLF001 - loopback, made a moment ago by this script
    headers = {"Authorization": f"Bearer {target.token}", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + 1, ssl=trust)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(target.url, headers=headers, connector=connector, timeout=timeout) as session:
        follower = Follower(session, path)
        following = asyncio.create_task(follower.follow())
        following.add_done_callback(follower.note_end)
        try:
            yield follower
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _ask(call: Callable[[bytes], Awaitable[None]], items: Iterable[bytes]) -> None:
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await call(item)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
