"""A process around some work: signals, the lease, health and metrics. What the work is, it does not know.

Rules: lease and health have a thread each, so neither waits for the work; with a lease only its holder works, and
without one the work begins only when writes of a process that was killed can no longer land; what has to be true
before (``prepare``) is waited for without the lease, so that another one may lead meanwhile; told to stop, the work
finishes what it has in hand and the process ends with 0; when the lease is lost or the work fails it ends with 1, so
that whoever started it starts it again, with an empty memory.
"""

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct, structs

from heliostat import __version__
from heliostat.runtime.client import Client, Exchange
from heliostat.runtime.connection import Connection
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.health_server import HealthServer, Served
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.leading import lead
from heliostat.runtime.lease import LeaseHolder
from heliostat.runtime.lease_decisions import LeaseSettings
from heliostat.runtime.logs import Log
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Registry
from heliostat.runtime.problems import Problems
from heliostat.runtime.process_health import LeaseSight, ProcessHealth
from heliostat.runtime.process_metrics import declare_process_metrics
from heliostat.runtime.server_address import host_of
from heliostat.runtime.side_thread import SideThread
from heliostat.runtime.transport import Transport

STOPPED = 0
FAILED = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ProcessSettings(Struct, frozen=True, kw_only=True):
    lease: LeaseSettings | None = None  # None: nobody else does this work
    request_seconds: float = 4.0  # the deadline of every write of the work; with a lease, the one it counts on
    serves: tuple[Served, ...] = (Served(),)
    user_agent: str = "heliostat"  # without the version
    # When the process before this one ended, on the monotonic clock, if whoever starts it knows: its last writes may
    # land for as long after that as a request may take. Minus infinity: there was none.
    earlier_ended: float | None = None

    def __post_init__(self) -> None:
        if self.lease is not None and self.lease.request_seconds != self.request_seconds:
            raise ValueError("the lease counts on another deadline than the work has")


class Workplace(Struct, frozen=True):
    """What the work gets from the process. It belongs to the main loop."""

    transport: Transport
    fence: LeaseFence | None  # to be asked before every write
    stop: asyncio.Event  # finish what is in hand and return
    metrics: LoopMetrics
    health: ProcessHealth  # hand it the host: health.watch_over(host)
    problems: Problems
    since: int = 0  # the revision of the lease that we lead by: no view may be older


Work: TypeAlias = Callable[[Workplace], Coroutine[Any, Any, None]]
_Way: TypeAlias = Callable[[], HttpsTransport]  # to be made inside the loop that uses it


async def run_process(
    connect: Callable[[], Connection],
    work: Work,
    settings: ProcessSettings,
    *,
    log: Log,
    announce: Callable[[str], None],
    prepare: Work | None = None,
) -> int:
    """The exit code. ``connect`` makes a connection for each event loop; ``announce`` hears where health is served.

    ``prepare`` returns when the work could begin.

    Raises AccessError and HealthServerError before anything has begun.
    """
    async with AsyncExitStack() as ends:
        stop = ends.enter_context(_stop_signals())
        connection = connect()
        metrics = LoopMetrics(Registry(), host_of(connection.server))
        declare_process_metrics(metrics.registry)
        problems = Problems(log, time.monotonic)
        health = ProcessHealth(time.monotonic, problems, metrics.loop_lag.observe)
        transport = HttpsTransport(connection, _agent(settings), on_resolve=metrics.requests.resolved)
        ends.push_async_callback(transport.close)
        for served in settings.serves:
            port = await ends.enter_async_context(_serve_health(health, metrics.registry, served))
            announce(f"{served.name}: {served.url(port)}")
        await ends.enter_async_context(_running(health.pulse.run()))
        fence = LeaseFence(time.monotonic) if settings.lease is not None else None
        place = Workplace(transport, fence, stop, metrics, health, problems)
        try:
            is_ready = prepare is None or await _is_prepared(place, prepare)
            ended = await _work(place, work, connect, settings, log) if is_ready else STOPPED
        except Exception as error:  # noqa: BLE001  whatever it is, the process must end, and say so
            return _fail(log, "the work failed", error)
        if ended == STOPPED:
            log.info("stopped")
        return ended


async def _is_prepared(place: Workplace, prepare: Work) -> bool:
    """False: told to stop before."""
    async with _running(prepare(place)) as preparing, _running(place.stop.wait()) as stopping:
        waited: set[asyncio.Future[Any]] = {preparing, stopping}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not preparing.done():
            return False
        await preparing
        return True


async def _work(
    place: Workplace, work: Work, connect: Callable[[], Connection], settings: ProcessSettings, log: Log
) -> int:
    if settings.lease is None or place.fence is None:
        await _work_alone(place, work, seconds_until_landed(settings, time.monotonic()), log)
        return STOPPED
    on_resolve = place.metrics.requests.resolved
    way = partial(HttpsTransport, connect(), _agent(settings), most_requests=4, on_resolve=on_resolve)
    lost = await _work_while_leading(place, place.fence, work, way, settings.lease, log)
    if lost is None or place.stop.is_set():
        return STOPPED
    place.metrics.lease_losses.inc(settings.lease.name)
    log.error("leadership lost", because=lost)
    return FAILED


def _agent(settings: ProcessSettings) -> str:
    return f"{settings.user_agent}/{__version__}"


def _fail(log: Log, what: str, error: Exception) -> int:
    log.error(what, error=error)
    return FAILED


def seconds_until_landed(settings: ProcessSettings, now: float) -> float:
    """Whoever worked before is dead, but its last writes may land for as long as a request may take."""
    ended = now if settings.earlier_ended is None else settings.earlier_ended
    return max(0.0, ended + settings.request_seconds - now)


async def _work_alone(place: Workplace, work: Work, seconds: float, log: Log) -> None:
    if seconds:
        log.info("waiting for writes of an earlier process to land", seconds=round(seconds, 1))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await place.stop.wait()
            return
    log.info("working")
    await work(place)


async def _work_while_leading(
    place: Workplace, fence: LeaseFence, work: Work, way: _Way, settings: LeaseSettings, log: Log
) -> str | None:
    place.metrics.read_lease(settings.name, fence)
    sight = LeaseSight()
    place.health.stand_by(sight)
    has_begun = False

    async def begin() -> None:
        nonlocal has_begun
        has_begun = True
        log.info("leading", identity=settings.identity)
        await work(structs.replace(place, since=holder.revision))

    async with _lease_thread(place, fence, way, settings, sight) as (holder, side):
        log.info("waiting for the lease", lease=f"{settings.namespace}/{settings.name}", identity=settings.identity)
        leading = asyncio.create_task(lead(holder, begin, side), name="lead")
        async with _running(place.stop.wait()) as stopping:
            waited: set[asyncio.Future[Any]] = {leading, stopping}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if leading.done() or has_begun:
            return await leading
        leading.cancel()  # told to stop while standing by
        await asyncio.wait({leading})
        return None


@asynccontextmanager
async def _lease_thread(
    place: Workplace, fence: LeaseFence, way: _Way, settings: LeaseSettings, sight: LeaseSight
) -> AsyncIterator[tuple[LeaseHolder, SideThread]]:
    """A thread with a connection, a limiter and a client of its own: renewals wait for nothing that the work does."""

    def exchanged(exchange: Exchange) -> None:
        place.metrics.lease_exchanged(settings.name, fence, exchange)
        sight.exchanged(exchange)

    def failed(what: str, error: Exception) -> None:
        place.problems.note(what, error)
        sight.failed(what, error)

    async def build() -> tuple[HttpsTransport, LeaseHolder]:
        transport = way()
        client = Client(
            transport,
            clock=time.monotonic,
            request_seconds=settings.request_seconds,
            observe=exchanged,
            is_urgent=True,
        )
        holder = LeaseHolder(
            client,
            settings,
            fence,
            clock=time.monotonic,
            wall_clock=time.time,
            chance=random.random,
            on_problem=failed,
        )
        return transport, holder

    with SideThread("lease") as side:
        transport, holder = await side.run(build())
        try:
            yield holder, side
        finally:
            # A thread that is stuck cannot close anything; it ends with the process.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(settings.request_seconds):
                    await side.run(transport.close())


@asynccontextmanager
async def _serve_health(health: ProcessHealth, registry: Registry, served: Served) -> AsyncIterator[int]:
    server = HealthServer(health.checks, registry, served)
    with SideThread(served.name) as side:
        await side.run(server.start())
        try:
            yield server.port
        finally:
            await side.run(server.close())


@contextmanager
def _stop_signals() -> Iterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, Any]) -> "AsyncIterator[asyncio.Task[Any]]":
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
