"""A TCP proxy that can fall silent: connections stay open, and not one byte passes, as in a dead route."""

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from heliostat.runtime.side_thread import SideThread

_CHUNK = 65536


class SilentProxy:
    """It does not look into what it forwards. Its methods may be called by any thread."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._target = (parts.hostname or "", parts.port or 443)
        self._pumps: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._flows = asyncio.Event()
        self._flows.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def withhold(self) -> None:
        self._loop.call_soon_threadsafe(self._flows.clear)

    def forward(self) -> None:
        self._loop.call_soon_threadsafe(self._flows.set)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._target)
        for source, sink in ((reader, back), (there, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            try:
                while chunk := await source.read(_CHUNK):
                    await self._flows.wait()
                    sink.write(chunk)
                    await sink.drain()
            finally:
                sink.close()


@contextmanager
def silent_proxy(address: str) -> Iterator[SilentProxy]:
    """In a thread of its own."""
    proxy = SilentProxy(address)
    with SideThread("proxy") as side:
        asyncio.run_coroutine_threadsafe(proxy.start(), side.loop).result()
        try:
            yield proxy
        finally:
            asyncio.run_coroutine_threadsafe(proxy.close(), side.loop).result()
