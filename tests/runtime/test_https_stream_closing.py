"""A stream that is closed is gone at once: nothing is left for a loop that ends a moment later."""

import asyncio
from typing import Any

from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.transport import Call
from heliostat.testing import ApiServer

WATCH = Call(method="GET", path="/api/v1/namespaces", query=(("watch", "true"), ("timeoutSeconds", "60")))


async def _open_and_close() -> int:
    """The descriptor of the stream's socket one turn after it was closed, too early for a server's goodbye."""
    async with ApiServer() as server:
        transport = HttpsTransport(find_connection({}, server.kubeconfig))
        stream: Any = await transport.open(WATCH, 30.0)
        assert await anext(stream)
        socket = stream._body._exchange._transport.get_extra_info("socket")
        assert socket.fileno() >= 0
        await stream.aclose()
        await asyncio.sleep(0)
        descriptor = int(socket.fileno())
        await transport.close()
        return descriptor


def test_closing_a_watch_does_not_wait_for_the_server() -> None:
    assert asyncio.run(_open_and_close()) == -1
