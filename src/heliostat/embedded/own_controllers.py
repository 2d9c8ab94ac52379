"""The controllers that live in the embedded server's own process: the same ones, without a network in between.

They need no lease, because nobody else can run them. ``start`` returns when Pods can be made: the default
ServiceAccount is there and every simulated node has registered. A bug that ends them ends the server too.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.control_plane import ControlPlane, ControlPlaneOptions
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.views.nodes import NODES
from heliostat.embedded.controllers.views.service_accounts import SERVICE_ACCOUNTS
from heliostat.embedded.in_process import Handle, InProcessTransport
from heliostat.kube.objects import Key, Object
from heliostat.runtime.errors import ApiError

SETTLE_SECONDS = 10.0  # who has nodes that never register waits no longer than this
_USER = User("system:kube-controller-manager", groups=(MASTERS,))
_DEFAULT_ACCOUNT = Key("default", "default")


class ControllerOptions(Struct, frozen=True, kw_only=True):
    simulation: Simulation | None = None  # nodes without processes; without any no Pod ever runs
    volumes: Path | None = None  # where volumes for claims are made; None: in the data directory, if there is one


class OwnControllers:
    """``on_bug`` hears what only a bug can cause; refusals and conflicts are everyday life."""

    def __init__(
        self,
        handle: Handle,
        options: ControllerOptions,
        *,
        root_certificate: str,
        data: Path | None,
        on_bug: Callable[[BaseException], None],
    ) -> None:
        """Inside a running loop."""
        self._options = options
        self._on_bug = on_bug
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._plane = ControlPlane(
            InProcessTransport(handle, _USER),
            ControlPlaneOptions(
                root_certificate=root_certificate,
                volumes=options.volumes or (data / "volumes" if data is not None else None),
                simulation=options.simulation,
            ),
            on_problem=self._note,
        )

    async def start(self) -> None:
        self._running = asyncio.create_task(self._plane.run(self._stop), name="controllers")
        settling = asyncio.create_task(self._settle())
        done, _ = await asyncio.wait({self._running, settling}, return_when=asyncio.FIRST_COMPLETED)
        settling.cancel()
        if self._running in done:
            self._running.result()

    async def stop(self) -> None:
        """What is in hand is finished."""
        self._stop.set()
        if self._running is not None:
            await asyncio.wait({self._running})

    async def wait_ended(self) -> BaseException:
        """Until a bug has ended them; the process must then exit and start again."""
        if self._running is None:
            raise RuntimeError("they were never started")
        await asyncio.wait({self._running})
        return self._running.exception() or RuntimeError("the controllers have ended")

    def _note(self, _what: str, error: Exception) -> None:
        if not isinstance(error, ApiError):
            self._on_bug(error)

    async def _settle(self) -> None:
        caches = self._plane.host.caches
        changed = asyncio.Event()

        def notice(_before: Object | None, _after: Object | None) -> None:
            changed.set()

        caches.of(SERVICE_ACCOUNTS).subscribe(notice)
        caches.of(NODES).subscribe(notice)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                while not self._is_settled():
                    await changed.wait()
                    changed.clear()

    def _is_settled(self) -> bool:
        caches, simulation = self._plane.host.caches, self._options.simulation
        machines = simulation.machines if simulation is not None else ()
        nodes = caches.of(NODES)
        has_account = caches.of(SERVICE_ACCOUNTS).get(_DEFAULT_ACCOUNT) is not None
        return has_account and all(nodes.get(Key("", machine.name)) is not None for machine in machines)
