"""A Kubernetes that cases are played in, and the operator running in it.

The same for every server: ``own_world`` makes one in this process and in virtual time, ``real_world`` a real control
plane. A world is at rest when the operator has written nothing for a while; what it wrote is kept.
"""

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from conformance.operator.administrator import NAMESPACE, Administrator
from conformance.operator.foreign_kinds import FOREIGN, GATEWAY, HTTP_ROUTE, build_definitions
from conformance.operator.write_log import WriteLog
from heliostat.api.crds import all_crds
from heliostat.api.settings import Settings
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from heliostat.operator.options import OperatorOptions
from heliostat.operator.program import RayOperator
from heliostat.operator.used_rights import Use, UsedRights
from heliostat.ray.ways import DirectWays
from heliostat.runtime.errors import ApiError, NotFoundError, ThrottledError, UnavailableError
from heliostat.runtime.program import Clocks
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.testing.scripted_ray import RayTransport, ScriptedRay

DEFINITION = ResourceType(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", is_namespaced=False
)
SERVICE_ACCOUNT = ResourceType("v1", "ServiceAccount", "serviceaccounts")
AT_MOST = 900.0  # seconds for anything to come about


class Pace(Struct, frozen=True):
    """In seconds: how long nothing is written when all is at rest, how often one looks, how long a request may take."""

    quiet: float
    look: float
    request: float = OperatorOptions().request_seconds


class World:
    def __init__(
        self,
        connect: Callable[[str], Transport],
        pace: Pace,
        clocks: Clocks,
        problems: list[str],
        ray: ScriptedRay | None = None,
    ) -> None:
        """``connect`` makes the way to the server for a user; ``problems`` collects what only a bug can cause.

        ``ray`` answers for all dashboards; without it they answer nobody.
        """
        self.ray = ray
        self.connect = connect
        self._clocks = clocks
        self.pace = pace
        self.problems = problems
        self.admin = Administrator(connect("administrator"))

    async def install_kinds(self) -> None:
        for tree in (*all_crds(), *build_definitions()):
            await self.admin.create(DEFINITION, tree)
        await self.until(self._are_kinds_served)

    async def make_namespace(self, name: str) -> None:
        """Pods can be made in it: its account is there."""
        tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self.admin.create(NAMESPACE, tree)
        await self.until(lambda: self._is_there(SERVICE_ACCOUNT, name, "default"))

    async def remove_namespace(self, name: str) -> None:
        """With all that is in it."""
        await self.admin.delete(NAMESPACE, "", name)

        async def is_gone() -> bool:
            return not await self._is_there(NAMESPACE, "", name)

        await self.until(is_gone)

    async def until(self, test: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(AT_MOST):
            while not await test():
                await asyncio.sleep(self.pace.look)

    @asynccontextmanager
    async def operated(self, settings: Settings) -> AsyncIterator["Operated"]:
        """With the operator running in it."""
        used: set[Use] = set()
        log = WriteLog(UsedRights(self.connect("operator"), used))
        options = OperatorOptions(settings=settings, request_seconds=self.pace.request)
        ways = DirectWays(RayTransport(self.ray) if self.ray is not None else NoRay())
        program = RayOperator(log, options, on_problem=self.note, clocks=self._clocks, ways=ways)
        stop = asyncio.Event()
        running = asyncio.create_task(program.run(stop))
        try:
            yield Operated(self, log, used, program)
        finally:
            stop.set()
            await running
            await log.close()

    def note(self, what: str, error: Exception) -> None:
        """A refusal or a conflict is everyday life; anything else is a bug."""
        if not isinstance(error, ApiError):
            self.problems.append(f"{what}: {''.join(traceback.format_exception(error))}")

    async def _are_kinds_served(self) -> bool:
        try:
            for resource in (RAY_CLUSTER, RAY_JOB, RAY_SERVICE, GATEWAY, HTTP_ROUTE, *FOREIGN):
                await self.admin.items(resource)
        except (NotFoundError, ThrottledError):  # a new kind's storage is being made
            return False
        return True

    async def _is_there(self, resource: ResourceType, namespace: str, name: str) -> bool:
        try:
            await self.admin.get(resource, namespace, name)
        except NotFoundError:
            return False
        return True


class NoRay:
    """Where no Ray is, nobody answers."""

    async def send(self, call: Call, seconds: float) -> Reply:
        raise UnavailableError(f"{call}: connection refused")

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""


class Operated:
    """``used`` are the rights that the operator made use of."""

    def __init__(self, world: World, log: WriteLog, used: set[Use], program: RayOperator) -> None:
        self.world = world
        self.program = program
        self.admin = world.admin
        self.log = log
        self.used = used

    async def rest(self) -> None:
        """Until the operator has written nothing, not even an event, for a while."""
        clock = asyncio.get_running_loop().time
        pace, deadline = self.world.pace, clock() + AT_MOST
        count, since = self.log.count, clock()
        while clock() - since < pace.quiet:
            if clock() > deadline:
                raise TimeoutError(f"the operator still writes after {AT_MOST:g} s")
            await asyncio.sleep(pace.look)
            if self.log.count != count:
                count, since = self.log.count, clock()
