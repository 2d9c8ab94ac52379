"""Bookmarks tell how far a watch is although nothing it shows has changed: every minute, and shortly before it ends."""

import asyncio
from typing import Any

import msgspec

from heliostat.runtime.transport import Call, Reply
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, SmallServer, small_server
from runtime.test_host import parent


async def watch(server: SmallServer, seconds: int, *, bookmarks: bool = True) -> list[tuple[float, str]]:
    """When which kinds of lines came, until the server ended it."""
    loop = asyncio.get_running_loop()
    query: tuple[tuple[str, str], ...] = (
        ("watch", "true"),
        ("resourceVersion", str(server.store.revision)),
        ("timeoutSeconds", str(seconds)),
    )
    query += (("allowWatchBookmarks", "true"),) if bookmarks else ()
    begun = loop.time()
    chunks = await server.transport.open(Call(method="GET", path="/api/v1/pods", query=query), 5.0)
    assert not isinstance(chunks, Reply)
    lines: list[tuple[float, str]] = []
    async for chunk in chunks:
        lines += [(loop.time() - begun, _told(line)) for line in chunk.splitlines()]
    return [*lines, (loop.time() - begun, "end")]


def _told(line: bytes) -> str:
    decoded: Any = msgspec.json.decode(line)
    return f"{decoded['type']} {decoded['object']['metadata']['resourceVersion']}"


def test_the_last_one_comes_shortly_before_the_end() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            watching = asyncio.ensure_future(watch(server, 45))
            await asyncio.sleep(1.0)
            await server.client.create(CONFIG_MAP, parent(0))  # of another kind: the watch has nothing to tell
            revision = server.store.revision
            assert await watching == [(43.0, f"BOOKMARK {revision}"), (45.0, "end")]

    run_virtual(scenario())


def test_a_long_watch_has_one_every_minute_too() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            moments = [moment for moment, _line in await watch(server, 150)]
            assert moments == [60.0, 120.0, 148.0, 150.0]

    run_virtual(scenario())


def test_a_watch_that_is_over_at_once_has_none_and_neither_has_who_did_not_ask() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            assert await watch(server, 2) == [(2.0, "end")]
            assert await watch(server, 45, bookmarks=False) == [(45.0, "end")]

    run_virtual(scenario())
