"""The control planes that scenarios are played on."""

import asyncio
import random
import traceback
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from conformance.own import ALL_ADMISSION, MemoryTarget
from conformance.targets import Target
from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.control_plane import ControlPlane, ControlPlaneOptions
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.runtime.errors import ApiError
from heliostat.runtime.program import Clocks

EPOCH = 1_800_000_000.0  # the wall clock when the loop's clock says 0
SEED = 34
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nnot a real one\n-----END CERTIFICATE-----\n"

REAL_PARTS = ("kube-controller-manager", "kube-scheduler")


@asynccontextmanager
async def real_plane() -> AsyncIterator[Target]:
    """kube-apiserver, kube-controller-manager and kube-scheduler, built and started by the project's own tools."""
    from tools.kubernetes.run import ControlPlane as RealControlPlane

    from conformance.real import RealTarget

    with RealControlPlane.started(REAL_PARTS) as cluster:
        async with RealTarget(cluster) as target:
            yield target


@asynccontextmanager
async def own_plane(problems: list[str]) -> AsyncIterator[Target]:
    """The handlers and all controllers in this process, by the loop's own time, so that waiting can be virtual."""
    chance = random.Random(SEED)  # noqa: S311 - the same run every time
    async with Store(MemoryJournal()) as store:
        core = ApiCore(
            store,
            Authority(now=now, new_uid=lambda: draw_uid(chance), random_index=chance.randrange),
            allow,
            on_bug=lambda error: problems.append("".join(traceback.format_exception(error))),
            admission_options=ALL_ADMISSION,
        )
        await core.bootstrap()
        async with _controllers(core, chance, problems):
            yield MemoryTarget(_InMemory(store, core))


class _InMemory:
    def __init__(self, store: Store, core: ApiCore) -> None:
        self._store = store
        self.handle = core.handle

    def compact(self) -> None:
        self._store.compact(self._store.revision)


@asynccontextmanager
async def _controllers(core: ApiCore, chance: random.Random, problems: list[str]) -> AsyncIterator[None]:
    stop = asyncio.Event()
    plane = ControlPlane(
        InProcessTransport(core.handle, User("system:kube-controller-manager", groups=(MASTERS,))),
        ControlPlaneOptions(root_certificate=CERTIFICATE),
        on_problem=lambda what, error: _note_bug(problems, what, error),
        clocks=Clocks(now=now, chance=chance.random, random_bytes=chance.randbytes),
    )
    running = asyncio.create_task(plane.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


def _note_bug(problems: list[str], what: str, error: Exception) -> None:
    """A refusal or a conflict is everyday life; anything else is a bug."""
    if not isinstance(error, ApiError):
        problems.append(f"{what}: {''.join(traceback.format_exception(error))}")


def draw_uid(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def now() -> float:
    return EPOCH + asyncio.get_running_loop().time()


def allow(_user: User, _attributes: Attributes) -> None:
    """Access is not what is compared."""
