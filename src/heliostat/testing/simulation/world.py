"""The simulated world: the real handlers over memory, programs that can die, users, virtual time, and who watches them.

    def scenario(world): …            # asynchronous: starts programs, acts as a user, waits for what must come
    run_world(scenario, seed=7)       # the same seed gives the same trace

Rules: one thread, no sockets, no clock but the loop's, no chance but streams of the seed. After every write every
invariant looks at the whole state; the first one that is broken ends the run.
"""

import asyncio
import bisect
import hashlib
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from heliostat.embedded.doors.inside import (
    MASTERS,
    AdmissionOptions,
    Answer,
    ApiCore,
    Attributes,
    Authority,
    InProcessTransport,
    MemoryJournal,
    Request,
    Resource,
    Store,
    User,
)
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.runtime.errors import ApiError, error_of
from heliostat.runtime.transport import Call, Transport
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.connection import Connection, Server
from heliostat.testing.simulation.faults import Fault, Injection
from heliostat.testing.simulation.pausing import PausingLoop, pause, spawn_as
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.service_proxy import PROXY, ServiceProxy, is_proxied
from heliostat.testing.simulation.state import State
from heliostat.testing.virtual_time import VirtualTimeError

EPOCH = 1_800_000_000.0  # the wall clock at virtual second 0, unless told
LEASE_SUFFIX = "-lease"  # of the name of a program's own way to its lease
SETTLING_SECONDS = 600.0  # how long a healthy world may take to come to rest

_ACTOR: ContextVar[str] = ContextVar("actor", default="server")  # who asked for the write that is being carried out

Invariant: TypeAlias = Callable[[State], str | None]
Scenario: TypeAlias = Callable[["World"], Awaitable[None]]
Program: TypeAlias = Callable[[Connection, int], Awaitable[None]]  # the way to the server, and which life this is


class Violation(Exception):  # noqa: N818  it is the finding, not a failure of the harness
    """An invariant is broken, or the world did not come to rest."""


class Result(Struct, frozen=True, kw_only=True):
    violation: str | None
    trace: tuple[str, ...]
    digest: str  # of the trace: equal runs have equal ones
    calls: dict[str, int]  # by program
    writes: dict[str, frozenset[int]]  # by program, the numbers of those calls that change something
    met: tuple[Injection, ...]
    state: dict[str, JsonObject]  # what was there in the end


class World:
    def __init__(self, seed: int, script: Script, invariants: Sequence[Invariant]) -> None:
        self.seed = seed
        self.epoch = EPOCH  # a scenario may begin at another moment: before a change of the clocks
        self.state = State()
        self.calls: dict[str, int] = {}
        self.writes: dict[str, set[int]] = {}
        self.trace: list[str] = []
        self._script = script
        self._invariants = tuple(invariants)
        self._violated: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._uids = 0
        self._offsets: dict[str, tuple[float, float]] = {}  # by program: how wrong its clock is, and until when
        self._last_write = 0.0
        self._services: list[Transport] = []  # what answers behind the service proxy
        self._revisions: list[int] = []
        self._moments: list[float] = []  # at which they were made

    async def open(self) -> None:
        self._store = Store(MemoryJournal())
        chance = stream(self.seed, "server")
        authority = Authority(now=self.now, new_uid=self._new_uid, random_index=chance.randrange)
        self.core = ApiCore(
            self._store,
            authority,
            _allow,
            on_bug=self._server_bug,
            listeners=(self._written,),
            admission_options=AdmissionOptions(),
        )
        await self.core.bootstrap()
        self._user = InProcessTransport(self._handle, User("user", groups=(MASTERS,)))

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._store.close()

    # What a scenario uses.

    def now(self) -> float:
        return self.epoch + self.time()

    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def chance(self, name: str) -> Callable[[], float]:
        """Numbers in [0, 1) of a stream of its own."""
        return stream(self.seed, name).random

    def serve(self, services: Transport) -> None:
        """What answers calls through the API server's service proxy: a scripted Ray.

        Programs reach it on their way to the server, so its calls are counted, crashed at and disturbed as all are.
        """
        self._services[:] = [services]

    def start(self, name: str, program: Program, *, restart_seconds: float = 1.0) -> "Life":
        """A program that is started again whenever it died."""
        life = Life(self, name, program, restart_seconds)
        self.spawn(life.run())
        return life

    async def request(self, method: str, path: str, body: JsonObject | None = None, content_type: str = "") -> Any:
        """As a user, past all faults. Raises what the server refuses."""
        call = Call(
            method=method,
            path=path,
            body=b"" if body is None else encode_json(body),
            content_type=content_type or "application/json",
        )
        reply = await self._user.send(call, 60.0)
        if reply.status >= 400:
            raise error_of(reply.status, reply.body)
        return msgspec.json.decode(reply.body)

    async def until(self, what: str, test: Callable[[], bool], seconds: float = SETTLING_SECONDS) -> None:
        """Virtual time passes until it is so; that it never becomes so is a violation.

        Where a clock was wrong, what is due by it is due as much later.
        """
        deadline = self.time() + seconds
        while not test():
            if self.time() > deadline + self.state.skew:
                raise Violation(f"after {seconds:g} s it is still not so: {what}")
            await asyncio.sleep(0.25)

    async def until_quiet(self, seconds: float = 60.0, at_most: float = SETTLING_SECONDS) -> None:
        """Until nothing was written for so long: a world at rest writes nothing."""
        await self.until(
            f"nothing is written for {seconds:g} s", lambda: self.time() - self._last_write > seconds, at_most
        )

    def spawn(self, work: Awaitable[Any], program: str = "") -> "asyncio.Task[Any]":
        task = spawn_as(program, work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def report(self, problem: str) -> None:
        """The first one ends the run."""
        if not self._violated.done():
            self._violated.set_result(problem)

    async def violated(self) -> str:
        return await asyncio.shield(self._violated)

    def note(self, actor: str, what: str) -> None:
        self.trace.append(f"{self.time():10.3f} {actor:12} {what}")

    # What programs and the server use.

    def connect(self, name: str, life: int, die: Callable[[], None]) -> Connection:
        def fault_at(call: Call, kind: str) -> Fault | None:
            number = self.calls.get(name, 0)
            self.calls[name] = number + 1
            if call.is_write:
                self.writes.setdefault(name, set()).add(number)
            fault = self._script.fault_at(name, number, kind=kind, resource=resource_of(call.path), now=self.time())
            if fault is not None:
                self.note(name, f"#{number} {call} meets {fault}")
            return fault

        def traced(call: Call, result: str) -> None:
            if call.is_write:
                self.note(name, f"{call} → {result}")

        server = Server(
            transport=ServiceProxy(InProcessTransport(self._handle, User(name, groups=(MASTERS,))), self._services),
            revision=lambda: self._store.revision,
            told_at=self._told_at,
            compact=lambda: self._store.compact(self._store.revision),
            spawn=self.spawn,
            pause=lambda seconds: self._pause(name, seconds),
            jump=lambda seconds, lasting: self._jump(name, seconds, lasting),
        )
        chance = stream(self.seed, f"{name}/{life}/network")
        return Connection(server, fault_at=fault_at, die=die, chance=chance, traced=traced)

    def clock_of(self, name: str) -> Callable[[], float]:
        """The wall clock as this program sees it: sometimes wrong."""

        def now() -> float:
            offset, until = self._offsets.get(name, (0.0, 0.0))
            return self.now() + (offset if self.time() < until else 0.0)

        return now

    def _pause(self, name: str, seconds: float) -> None:
        """The whole program, whichever of its connections met the fault."""
        pause(name.removesuffix(LEASE_SUFFIX), seconds)

    def _jump(self, name: str, seconds: float, lasting: float) -> None:
        self._offsets[name.removesuffix(LEASE_SUFFIX)] = (seconds, self.time() + lasting)
        self.state.skew = max(self.state.skew, abs(seconds))

    async def _handle(self, request: Request) -> Answer:
        token = _ACTOR.set(request.user.name)
        try:
            return await self.core.handle(request)
        finally:
            _ACTOR.reset(token)

    def _written(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None:
        if resource.plural != "leases":  # a heartbeat is no unrest
            self._last_write = self.time()
        self.state.by = _ACTOR.get()
        self.state.apply(resource.plural, tree, deleted=deleted)
        metadata = tree["metadata"]
        self._revisions.append(int(metadata["resourceVersion"]))
        self._moments.append(self.time())
        sign = "-" if deleted else "="
        self.note("server", f"{sign} {resource.plural}/{metadata['name']}@{metadata['resourceVersion']}")
        for invariant in self._invariants:
            problem = invariant(self.state)
            if problem is not None:
                self.report(f"{invariant.__name__}: {problem}")

    def _told_at(self, revision: int) -> float:
        index = bisect.bisect_right(self._revisions, revision)
        return self._moments[index - 1] if index else 0.0

    def _server_bug(self, error: BaseException) -> None:
        self.report("the server broke: " + "".join(traceback.format_exception(error)))

    def _new_uid(self) -> str:
        self._uids += 1
        return f"00000000-0000-4000-8000-{self._uids:012d}"

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, ApiError):
            self.report("a program broke: " + "".join(traceback.format_exception(error)))


class Life:
    """One program, again and again."""

    def __init__(self, world: World, name: str, program: Program, restart_seconds: float) -> None:
        self.number = 0
        self._world = world
        self._name = name
        self._program = program
        self._restart_seconds = restart_seconds
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None

    async def run(self) -> None:
        while True:
            self._connection = self._world.connect(self._name, self.number, self.kill)
            self._world.note(self._name, f"begins life {self.number}")
            work = self._program(self._connection, self.number)
            self._task = self._world.spawn(work, self._name)
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                return  # it ended by itself, or by a bug that the world has told
            self.number += 1
            await asyncio.sleep(self._restart_seconds)

    def kill(self) -> None:
        """At once: nothing more is sent, nothing is cleaned up at the server."""
        if self._connection is not None:
            self._connection.end()
        if self._task is not None:
            self._task.cancel()


def run_world(
    scenario: Scenario, *, seed: int, script: Script | None = None, invariants: Sequence[Invariant] = ()
) -> Result:
    """One run from beginning to end, in virtual time."""
    used = script or Script()
    kept: list[World] = []

    async def run() -> str | None:
        world = World(seed, used, invariants)
        kept.append(world)
        await world.open()
        try:
            return await _until_violated(world, scenario)
        finally:
            await world.close()

    try:
        with asyncio.Runner(loop_factory=PausingLoop) as runner:
            violation = runner.run(run())
    except VirtualTimeError as error:
        violation = f"{type(error).__name__}: {error}"
    world = kept[0]
    return Result(
        violation=violation,
        trace=tuple(world.trace),
        digest=hashlib.sha256("\n".join(world.trace).encode()).hexdigest(),
        calls=dict(world.calls),
        writes={name: frozenset(numbers) for name, numbers in world.writes.items()},
        met=tuple(used.met),
        state=world.state.objects(),
    )


async def _until_violated(world: World, scenario: Scenario) -> str | None:
    acting = asyncio.ensure_future(scenario(world))
    watching = asyncio.ensure_future(world.violated())
    await asyncio.wait({acting, watching}, return_when=asyncio.FIRST_COMPLETED)
    if watching.done():
        acting.cancel()
        await asyncio.gather(acting, return_exceptions=True)
        return watching.result()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    try:
        acting.result()
    except Violation as violation:
        return str(violation)
    except Exception as error:  # noqa: BLE001  what a user was refused is a finding too, with its faults and its trace
        return "the scenario broke: " + "".join(traceback.format_exception(error))
    return None


def resource_of(path: str) -> str:
    """The plural that a path is about, of the API's groups and of its namespaces."""
    if is_proxied(path):
        return PROXY  # what stands behind it has troubles of its own
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return rest[0] if rest else ""


def _allow(_user: User, _attributes: Attributes) -> None:
    """Access is not what is simulated."""
