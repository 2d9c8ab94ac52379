"""A real API server in memory and virtual time, for tests of the loop: no sockets, no threads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import msgspec

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Answer, Request
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.objects import Key
from heliostat.kube.plan import Event, Plan
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError
from heliostat.runtime.host import Host, HostSettings, Surroundings
from heliostat.runtime.program import Program
from heliostat.runtime.reconciler import Subject
from heliostat.testing.faults import Faults

CONFIG_MAP = ResourceType("v1", "ConfigMap", "configmaps")
START = 1_800_000_000.0
_CONFIG_MAPS = Scope("configmaps", "default")


class SmallServer:
    def __init__(self, core: ApiCore, store: Store) -> None:
        self.store = store
        self.faults = Faults()
        self.requests: list[Request] = []
        handle = self.faults.around(core.handle)

        async def counted(request: Request) -> Answer:
            self.requests.append(request)
            return await handle(request)

        self.transport = InProcessTransport(counted, User("controller", groups=(MASTERS,)))
        self.client = Client(self.transport, clock=asyncio.get_running_loop().time)

    def writes(self) -> list[str]:
        return [f"{r.method} {r.path}" for r in self.requests if r.method != "GET"]

    async def get(self, name: str) -> Any:
        return msgspec.json.decode(await self.client.get(CONFIG_MAP, "default", name))

    def names(self) -> list[str]:
        return sorted(record.key.name for record in self.store.page(_CONFIG_MAPS).records)


@asynccontextmanager
async def small_server() -> AsyncIterator[SmallServer]:
    numbers = count(1)
    loop = asyncio.get_running_loop()
    authority = Authority(
        now=lambda: START + loop.time(), new_uid=lambda: f"uid-{next(numbers)}", random_index=lambda _below: 0
    )
    bugs: list[BaseException] = []
    async with Store(MemoryJournal()) as store:
        core = ApiCore(store, authority, _allow, on_bug=bugs.append)
        await core.bootstrap()
        yield SmallServer(core, store)
    assert bugs == []


def _allow(_user: User, _attributes: Attributes) -> None:
    pass


class Notebook:
    """Records what a host tells."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.results: list[str] = []
        self.failures: list[Exception] = []

    def record(self, subject: Subject, event: Event) -> None:
        self.events.append(f"{subject.ref.name} {event.reason} {event.note}")

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        self.results.append(result)

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        pass

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        self.failures.append(error)


def build_host(server: SmallServer, notebook: Notebook, settings: HostSettings | None = None) -> Host:
    loop = asyncio.get_running_loop()
    surroundings = Surroundings(
        now=lambda: START + loop.time(),
        chance=lambda: 0.5,
        random_bytes=bytes,
        recorder_of=lambda _name: notebook,
        observer=notebook,
        on_problem=lambda _where, error: notebook.failures.append(error),
    )
    return Host(server.client, ResourceTypes((CONFIG_MAP,)), surroundings, settings=settings)


async def eventually(test: Callable[[], bool], seconds: float = 120.0) -> None:
    """Lets virtual time pass until it is so. Who waits for long looks less often: a look costs real time."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not test():
        assert asyncio.get_running_loop().time() < deadline, "it never became so"
        await asyncio.sleep(max(0.05, seconds / 2000))


@asynccontextmanager
async def running(host: Host | Program) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(host.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def refused(call: Awaitable[object]) -> ApiError:
    try:
        await call
    except ApiError as error:
        return error
    raise AssertionError("it was not refused")
