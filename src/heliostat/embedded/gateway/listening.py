"""Where the gateway listens: sockets that come and go with the Gateways, and the clients that came through them.

Rules: a listener that is not wanted any more takes no new connections; those that rest are closed, and those with a
request are closed when it is answered, or cut at the deadline. A port that cannot be had is told, and tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from socket import socket
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.gateway.routing import PortTable
from heliostat.embedded.gateway.session import Session, Spot
from heliostat.embedded.gateway.switchboard import Switchboard
from heliostat.embedded.gateway.wire import Wire
from heliostat.kube.objects import Key

Listen: TypeAlias = Callable[[str, int], Awaitable[socket]]


class Place(Struct, frozen=True):
    """``is_host``: of the machine itself, not of the cluster's network. A port of 0 is any that is free."""

    address: str
    port: int
    is_host: bool = False
    gateway: Key = Key("", "")  # whose

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


class Door:
    """A listener with its clients."""

    def __init__(self, spot: Spot, board: Switchboard) -> None:
        self.spot = spot
        self.port = 0
        self._board = board
        self._sessions: dict[asyncio.Task[None], Session] = {}
        self._server: asyncio.Server | None = None
        self._clock = asyncio.get_running_loop().time

    async def open(self, listener: socket) -> None:
        self.port = int(listener.getsockname()[1])
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Wire(self._begin), sock=listener, backlog=256)

    def stop(self) -> None:
        """Nothing new; what has begun goes on."""
        self.spot.is_draining = True
        if self._server is not None:
            self._server.close()
        self.tidy()

    @property
    def is_empty(self) -> bool:
        return not self._sessions

    def tidy(self) -> None:
        now = self._clock()
        for session in self._sessions.values():
            session.end_if_idle(now)

    async def wait_empty(self, seconds: float) -> None:
        """Until all are through; who is not in time is cut."""
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=seconds)
        for session in self._sessions.values():
            session.abort()
        for task in self._sessions:
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)

    def _begin(self, wire: Wire) -> None:
        session = Session(wire, self.spot, self._board, self._clock)
        task = asyncio.get_running_loop().create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(lambda done: self._sessions.pop(done, None))


class Listening:
    """``listen`` opens sockets in the cluster's network, ``listen_on_host`` on the machine."""

    def __init__(self, board: Switchboard, listen: Listen, listen_on_host: Listen, *, drain_seconds: float) -> None:
        self.problems: dict[Place, str] = {}
        self._board = board
        self._listen = listen
        self._listen_on_host = listen_on_host
        self._drain_seconds = drain_seconds
        self._doors: dict[Place, Door] = {}
        self._leaving: dict[asyncio.Task[None], Door] = {}

    @property
    def ports(self) -> Mapping[Place, int]:
        """Which are open, and where really: a port of 0 is any."""
        return {place: door.port for place, door in self._doors.items()}

    async def use(self, wanted: Mapping[Place, PortTable]) -> None:
        for place in [place for place in self._doors if place not in wanted]:
            self._leave(self._doors.pop(place))
        self.problems = {}
        for place, table in wanted.items():
            if place in self._doors:
                self._doors[place].spot.table = table
            else:
                await self._open(place, table)

    def tidy(self) -> None:
        for door in self._all():
            door.tidy()

    async def close(self, seconds: float) -> None:
        doors = [*self._doors.values(), *self._leaving.values()]
        for door in doors:
            door.stop()
        await asyncio.gather(*(door.wait_empty(seconds) for door in doors))
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        self._doors.clear()

    def _all(self) -> Iterable[Door]:
        return (*self._doors.values(), *self._leaving.values())

    async def _open(self, place: Place, table: PortTable) -> None:
        door = Door(Spot(table), self._board)
        try:
            listener = await (self._listen_on_host if place.is_host else self._listen)(place.address, place.port)
            await door.open(listener)
        except OSError as error:
            self.problems[place] = f"{place}: {error.strerror or error}"
            return
        self._doors[place] = door

    def _leave(self, door: Door) -> None:
        door.stop()
        task = asyncio.create_task(door.wait_empty(self._drain_seconds))
        self._leaving[task] = door
        task.add_done_callback(lambda done: self._leaving.pop(done, None))
