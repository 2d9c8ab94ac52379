"""A client in the server's own process that does not wait long enough: what it sent is carried out all the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.runtime.errors import AmbiguousError
from heliostat.runtime.transport import Call

SERVICES = "/api/v1/namespaces/default/services"


class SlowDisk:
    """Nothing is durable before it is released."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.released.set()

    async def before_commit(self, _revision: int) -> None:
        await self.released.wait()


@asynccontextmanager
async def server(disk: SlowDisk) -> AsyncIterator[InProcessTransport]:
    numbers = iter(range(1, 1000))
    authority = Authority(now=lambda: 1.0, new_uid=lambda: f"uid-{next(numbers)}", random_index=lambda _size: 0)
    async with Store(MemoryJournal(disk.before_commit)) as store, asyncio.timeout(30):
        core = ApiCore(store, authority, lambda _user, _what: None, on_bug=lambda bug: pytest.fail(repr(bug)))
        await core.bootstrap()
        try:
            yield InProcessTransport(core.handle, User("controller", groups=(MASTERS,)))
        finally:
            disk.released.set()


def create(name: str) -> Call:
    body = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    return Call(method="POST", path=SERVICES, body=msgspec.json.encode(body))


async def addresses(transport: InProcessTransport) -> list[str]:
    reply = await transport.send(Call(method="GET", path=SERVICES), 10)
    items: list[Any] = msgspec.json.decode(reply.body)["items"]
    return [item["spec"]["clusterIP"] for item in items if item["metadata"]["name"] != "kubernetes"]


@pytest.mark.parametrize("way", ["timed out", "cancelled"])
def test_a_service_whose_client_is_gone_keeps_its_address(way: str) -> None:
    async def give_up(transport: InProcessTransport) -> None:
        if way == "timed out":
            with pytest.raises(AmbiguousError):
                await transport.send(create("first"), 0.01)
            return
        sending = asyncio.create_task(transport.send(create("first"), 10))
        await asyncio.sleep(0.01)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

    async def test() -> None:
        disk = SlowDisk()
        async with server(disk) as transport:
            disk.released.clear()
            await give_up(transport)
            disk.released.set()
            assert (await transport.send(create("second"), 10)).status == 201
            found = await addresses(transport)
            assert len(found) == len(set(found)) == 2

    asyncio.run(test())


def test_closing_waits_for_what_was_sent() -> None:
    async def test() -> None:
        disk = SlowDisk()
        async with server(disk) as transport:
            disk.released.clear()
            with pytest.raises(AmbiguousError):
                await transport.send(create("first"), 0.01)
            closing = asyncio.create_task(transport.close())
            await asyncio.sleep(0.01)
            assert not closing.done()
            disk.released.set()
            await closing
            assert len(await addresses(transport)) == 1

    asyncio.run(test())
