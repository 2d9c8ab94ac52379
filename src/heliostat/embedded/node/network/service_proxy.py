"""ClusterIPs: a listener for each TCP port of each service, in the infra namespace, and a relay to a Pod behind it.

Rules: a connection goes to the next of the ready Pods of its service, and to another when that one does not answer; one
that is on its way out gets new ones only when nobody else is left, and keeps those it has. Without any Pod a connection
is closed at once, as a cluster refuses it. A service that goes, or changes its port, takes its listener with it, and
what is connected goes on until it is over. A port that cannot be had is told once, and tried again.
"""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import IPv4Address
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.gateway.directory import Directory, KnownService, ServicePort
from heliostat.embedded.node.network.accepting import accept_each
from heliostat.embedded.node.network.relay import relay

Listen: TypeAlias = Callable[[str, int], Awaitable[socket.socket]]
Dial: TypeAlias = Callable[[str, int], Awaitable[socket.socket]]
Target: TypeAlias = tuple[IPv4Address, int]

DIAL_SECONDS = 5.0
_MOST_ATTEMPTS = 4


class Front(Struct, frozen=True):
    """Where a service is reached."""

    address: IPv4Address
    port: int


class ServiceProxy:
    """``listen`` and ``dial`` are those of the infra namespace; ``on_problem`` hears of ports that cannot be had."""

    def __init__(
        self, directory: Directory, listen: Listen, dial: Dial, on_problem: Callable[[str, Exception], None]
    ) -> None:
        self._directory = directory
        self._listen = listen
        self._dial = dial
        self._on_problem = on_problem
        self._fronts: dict[Front, tuple[KnownService, ServicePort]] = {}
        self._serving: dict[Front, asyncio.Task[None]] = {}
        self._turns: Counter[Front] = Counter()  # each its own: whoever uses two in turn must not meet the same Pods
        self._relays: set[asyncio.Task[None]] = set()
        self._closed: set[Front] = set()  # cannot be had, and somebody was told

    async def refresh(self) -> bool:
        """Listen where the directory has services now, and nowhere else. False: some port is to be tried again."""
        self._fronts = dict(_fronts_of(self._directory))
        self._closed &= self._fronts.keys()
        for front in [front for front in self._serving if front not in self._fronts]:
            self._serving.pop(front).cancel()
            del self._turns[front]
        for front in self._fronts:
            if front not in self._serving:
                await self._open(front)
        return not self._closed

    async def close(self) -> None:
        tasks = [*self._serving.values(), *self._relays]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._serving.clear()

    async def _open(self, front: Front) -> None:
        try:
            listener = await self._listen(str(front.address), front.port)
        except OSError as error:
            if front not in self._closed:
                self._on_problem(f"the service at {front.address}:{front.port}", error)
            self._closed.add(front)
            return
        self._closed.discard(front)
        serving = self._serving[front] = asyncio.create_task(self._serve(front, listener))
        serving.add_done_callback(lambda _: listener.close())  # also of one that was cancelled before it began

    async def _serve(self, front: Front, listener: socket.socket) -> None:
        def begin(connection: socket.socket) -> None:
            task = asyncio.create_task(self._connect(front, connection))
            self._relays.add(task)
            task.add_done_callback(self._relays.discard)

        what = f"connections to the service at {front.address}:{front.port}"
        await accept_each(listener, begin, lambda error: self._on_problem(what, error))

    async def _connect(self, front: Front, connection: socket.socket) -> None:
        target = await self._reach(front)
        if target is None:
            connection.close()
            return
        await relay(connection, target)

    async def _reach(self, front: Front) -> socket.socket | None:
        known = self._fronts.get(front)
        if known is None:
            return None
        service, port = known
        targets = self._directory.targets(service.namespace, service.name, port)
        turn = self._turns[front]
        self._turns[front] += 1
        for address, number in _from_turn(targets, turn):
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(DIAL_SECONDS):
                    return await self._dial(str(address), number)
        return None


def _fronts_of(directory: Directory) -> Iterator[tuple[Front, tuple[KnownService, ServicePort]]]:
    for service in directory.services():
        if service.address is not None and not service.is_of_gateway:
            for port in service.ports:
                if port.protocol == "TCP":
                    yield Front(service.address, port.port), (service, port)


def _from_turn(targets: list[Target], turn: int) -> list[Target]:
    """All of them once, beginning with another one each time."""
    start = turn % len(targets) if targets else 0
    return (targets[start:] + targets[:start])[:_MOST_ATTEMPTS]
