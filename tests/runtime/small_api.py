"""The real API handlers on memory, in process, behind a wire that can be slow, deaf or cut."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client, Fence
from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.transport import Call, Chunks, Reply, Transport

ADMIN = User("admin", groups=(MASTERS,))
NOON = 1_800_000_000.0


class Wire:
    """Between one client and the server; what is set holds for every call from then on."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.calls: list[Call] = []
        self.is_cut = False  # nothing gets through
        self.loses_answers = False  # carried out, and nobody hears of it
        self.delay = 0.0  # before the server sees it
        self.delay_back = 0.0  # until the answer arrives

    async def send(self, call: Call, seconds: float) -> Reply:
        self.calls.append(call)
        if self.is_cut:
            raise UnavailableError(f"{call}: the wire is cut")
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(self.delay)
                reply = await self._transport.send(call, seconds)
                await asyncio.sleep(self.delay_back)
        except TimeoutError:
            raise AmbiguousError(f"{call}: no answer in time") from None
        if self.loses_answers:
            raise AmbiguousError(f"{call}: the answer was lost")
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self._transport.open(call, seconds)

    async def close(self) -> None:
        await self._transport.close()


class SmallApi:
    def __init__(self, core: ApiCore) -> None:
        self._core = core

    def wire(self) -> Wire:
        return Wire(InProcessTransport(self._core.handle, ADMIN))

    def client(self, wire: Wire | None = None, *, fence: Fence | None = None, seconds: float = 4.0) -> Client:
        clock = asyncio.get_running_loop().time
        return Client(wire or self.wire(), clock=clock, request_seconds=seconds, fence=fence)

    async def read(self, kind: ResourceType, namespace: str, name: str) -> Any:
        return msgspec.json.decode(await self.client().get(kind, namespace, name))

    async def list(self, kind: ResourceType, namespace: str = "") -> list[Any]:
        found: list[Any] = msgspec.json.decode(await self.client().list_page(kind, namespace=namespace))["items"]
        return found


@asynccontextmanager
async def small_api() -> AsyncIterator[SmallApi]:
    bugs: list[BaseException] = []
    numbers = iter(range(1, 1_000_000))
    chance = random.Random(0)  # noqa: S311
    loop = asyncio.get_running_loop()
    async with Store(MemoryJournal()) as store:
        authority = Authority(
            now=lambda: NOON + loop.time(),
            new_uid=lambda: f"00000000-0000-0000-0000-{next(numbers):012d}",
            random_index=chance.randrange,
        )
        core = ApiCore(store, authority, lambda _user, _what: None, on_bug=bugs.append)
        await core.bootstrap()
        yield SmallApi(core)
    assert bugs == []
