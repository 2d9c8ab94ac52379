"""Programs for simulated worlds: a host of controllers as it runs in a process of its own, without a network."""

import asyncio
import itertools
from functools import partial
from typing import Protocol

from heliostat.kube.objects import Key
from heliostat.kube.plan import Event, Plan
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.client import Client
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.host import Host, HostSettings, Surroundings
from heliostat.runtime.leading import lead
from heliostat.runtime.lease import LeaseHolder
from heliostat.runtime.lease_decisions import LeaseSettings
from heliostat.runtime.reconciler import Subject
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.connection import Connection
from heliostat.testing.simulation.world import LEASE_SUFFIX, Program, World

REQUEST_SECONDS = 5.0


class Silent:
    """Nobody listens: events become lines of the trace, and a plan that breaks is a finding."""

    def __init__(self, world: World) -> None:
        self._world = world

    def record(self, subject: Subject, event: Event) -> None:
        self._world.note("event", f"{subject.ref}: {event.reason} {event.note}")

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        pass

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        pass

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        if isinstance(error, AssertionError | TypeError | LookupError | ValueError | AttributeError):
            self._world.report(f"a plan of {controller} for {key} broke: {error!r}")


class Crew(Protocol):
    """Adds its controllers to a host."""

    def __call__(self, host: Host, client: Client) -> None: ...


def host_program(world: World, name: str, crew: Crew) -> Program:
    """A program that lets what its former life sent land first, and then runs these controllers."""

    async def run(connection: Connection, life: int) -> None:
        await asyncio.sleep(REQUEST_SECONDS if life else 0.0)
        client = Client(connection, clock=asyncio.get_running_loop().time, request_seconds=REQUEST_SECONDS)
        await _run_host(world, f"{name}/{life}", client, crew)

    return run


def leading_program(world: World, name: str, crew: Crew) -> Program:
    """One of several that wait for the same lease; whoever has it runs these controllers.

    The lease has a way to the server of its own, as it has a thread of its own in a process.
    """

    async def run(connection: Connection, life: int) -> None:
        clock = asyncio.get_running_loop().time
        connection.first_lists_lie = True
        beside = world.connect(f"{name}{LEASE_SUFFIX}", life, connection.die)
        connection.accompany(beside)
        for term in itertools.count():
            settings = LeaseSettings("kube-system", "controllers", identity=f"{name}-{life}-{term}")
            fence = LeaseFence(clock)
            holder = LeaseHolder(
                Client(beside, clock=clock, request_seconds=settings.request_seconds),
                settings,
                fence,
                clock=clock,
                wall_clock=world.clock_of(name),
                chance=stream(world.seed, f"{name}/{life}/{term}/lease").random,
                on_problem=lambda _what, _error: None,
            )
            client = Client(connection, clock=clock, request_seconds=settings.request_seconds, fence=fence)
            label = f"{name}/{life}/{term}"
            because = await lead(holder, partial(_run_leader, world, label, client, crew, holder))
            world.note(name, f"lost the lease: {because}")

    return run


async def _run_leader(world: World, label: str, client: Client, crew: Crew, holder: LeaseHolder) -> None:
    await _run_host(world, label, client, crew, since=holder.revision)


async def _run_host(world: World, label: str, client: Client, crew: Crew, since: int = 0) -> None:
    streaming = stream(world.seed, f"{label.partition('/')[0]}/lists").random() < 0.5
    settings = HostSettings(watch=WatchSettings(streaming=streaming))
    silent = Silent(world)
    chance = stream(world.seed, label)
    surroundings = Surroundings(
        now=world.now,
        chance=chance.random,
        random_bytes=chance.randbytes,
        recorder_of=lambda _name: silent,
        observer=silent,
        on_problem=lambda _where, _error: None,
    )
    host = Host(client, ResourceTypes(), surroundings, settings=settings)
    crew(host, client)
    await host.run(asyncio.Event(), since)
