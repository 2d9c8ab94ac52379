"""A world in this process and in the loop's own time: the handlers over memory, all controllers, simulated nodes."""

import asyncio
import contextlib
import random
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec.structs import replace

from conformance.controllers.planes import CERTIFICATE as ROOT_CERTIFICATE
from conformance.controllers.planes import allow, draw_uid, now
from conformance.operator.gateways import serve_gateways
from conformance.operator.issuing import issue_for_ever
from conformance.operator.worlds import Pace, World
from conformance.own import ALL_ADMISSION
from heliostat.desired import labels
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.control_plane import ControlPlane, ControlPlaneOptions
from heliostat.embedded.controllers.nodes.life import BOUND, CREATING, OVER, READY
from heliostat.embedded.controllers.nodes.machines import DEFAULT_CAPACITY, build_machines
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.nodes.stages import ADMIT, EXIT, MAKE_READY, REMOVE, After, Stage, When
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.handler import Authorize
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.runtime.program import Clocks
from heliostat.testing.scripted_ray import ScriptedRay

PACE = Pace(quiet=12.0, look=0.5)
NODES = 8
CAPACITY = {**DEFAULT_CAPACITY, "cpu": "64", "nvidia.com/gpu": "16", "google.com/tpu": "16"}
SEED = 4
HEARTBEAT = 40.0  # seconds, as seldom as keeps a node in health
# Starting and ending take a while, so that one sees what is passed through; Pods that clean Redis do end,
# and so do those that submit a RayJob.
STAGES = (
    Stage("remove", When((BOUND, CREATING, READY, OVER), is_terminating=True), REMOVE, After(seconds=2.0)),
    Stage("admit", When((BOUND,)), ADMIT),
    Stage("start", When((CREATING,)), MAKE_READY, After(seconds=3.0)),
    Stage("clean Redis", When((READY,), labels={labels.NODE_TYPE: "redis-cleanup"}), EXIT, After(seconds=2.0)),
    Stage("submit", When((READY,), labels={labels.ORIGIN_KIND: "RayJob"}), EXIT, After(seconds=6.0)),
)
SLOW_START = 10.0  # seconds


@asynccontextmanager
async def own_world(
    authorize: Authorize = allow,
    nodes: int = NODES,
    *,
    capacity: Mapping[str, str] = CAPACITY,
    has_ray: bool = True,
    is_slow: bool = False,
) -> AsyncIterator[World]:
    """Without Ray its dashboards answer nobody; with slow nodes Pods take their time to start."""
    chance = random.Random(SEED)  # noqa: S311 - the same world every time
    problems: list[str] = []
    clocks = Clocks(now=now, chance=chance.random, random_bytes=chance.randbytes)
    async with Store(MemoryJournal()) as store:
        core = ApiCore(
            store,
            Authority(now=now, new_uid=lambda: draw_uid(chance), random_index=chance.randrange),
            authorize,
            on_bug=lambda error: problems.append("".join(traceback.format_exception(error))),
            admission_options=ALL_ADMISSION,
        )
        await core.bootstrap()
        world = World(
            lambda user: InProcessTransport(core.handle, User(user, groups=(MASTERS,))),
            PACE,
            clocks,
            problems,
            ray=ScriptedRay(now) if has_ray else None,
        )
        await world.install_kinds()
        stages = tuple(_slowed(stage) if is_slow else stage for stage in STAGES)
        async with _controllers(core, world, clocks, build_simulation(nodes, stages, capacity)):
            yield world
    assert not problems, problems


def build_simulation(nodes: int, stages: tuple[Stage, ...], capacity: Mapping[str, str] = CAPACITY) -> Simulation:
    return Simulation(build_machines(nodes, capacity), stages, heartbeat_seconds=HEARTBEAT)


def _slowed(stage: Stage) -> Stage:
    return replace(stage, after=After(seconds=SLOW_START)) if stage.name == "start" else stage


@asynccontextmanager
async def _controllers(core: ApiCore, world: World, clocks: Clocks, simulation: Simulation) -> AsyncIterator[None]:
    stop = asyncio.Event()
    plane = ControlPlane(
        InProcessTransport(core.handle, User("system:kube-controller-manager", groups=(MASTERS,))),
        ControlPlaneOptions(root_certificate=ROOT_CERTIFICATE, simulation=simulation),
        on_problem=world.note,
        clocks=clocks,
    )
    running = asyncio.create_task(plane.run(stop))
    others = [asyncio.create_task(each(world.admin)) for each in (issue_for_ever, serve_gateways)]
    try:
        yield
    finally:
        for other in others:
            other.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await other
        stop.set()
        await running
