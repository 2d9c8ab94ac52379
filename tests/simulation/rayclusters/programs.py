"""The real operator as a program of a simulated world: alone, or two that wait for one lease; and Kubernetes' own."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct

from heliostat.api.settings import Settings, default_gates
from heliostat.embedded.controllers.crews import add_cleaning
from heliostat.embedded.controllers.jobs.reconciler import JobReconciler, OrphanedPodReconciler
from heliostat.operator.options import OperatorOptions
from heliostat.operator.program import RayOperator
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.host import Host, HostSettings
from heliostat.runtime.leading import lead
from heliostat.runtime.lease import LeaseHolder
from heliostat.runtime.lease_decisions import LeaseSettings
from heliostat.runtime.program import Clocks
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.connection import Connection
from heliostat.testing.simulation.world import LEASE_SUFFIX, Program, World
from simulation.rayclusters.overseer import Overseer
from simulation.rayclusters.witness import Diary, Witness

REQUEST_SECONDS = 4.0
WORKERS = 4
COLLECTED = (
    "rayclusters.ray.io", "rayjobs.ray.io", "raycronjobs.ray.io", "rayservices.ray.io", "pods", "services", "secrets",
    "serviceaccounts", "jobs.batch", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
    "ingresses.networking.k8s.io", "podgroups.scheduling.volcano.sh",
)  # fmt: skip


class Staff(Struct, kw_only=True):
    """How the operator is run in one world, and who oversees its present life."""

    version_of: Callable[[int], str] = lambda _life: "heliostat-v1"  # by the number of the life
    watch_seconds: float = 45.0
    has_jobs: bool = False  # it looks after RayJobs, too
    has_crons: bool = False  # after RayCronJobs
    has_services: bool = False  # and after RayServices
    scheduler: str = ""  # a batch scheduler that it works with
    forbidden: str = ""  # a resource that it may not create; a scenario may change it
    overseeing: type[Overseer] = Overseer
    overseer: Overseer | None = None
    lost: set[str] = set()  # nodes, the same set as the nodes' own
    versions: set[str] = set()  # that have ever run
    diary: Diary = msgspec.field(default_factory=Diary)


def operator_program(world: World, staff: Staff) -> Program:
    """It lets what its former life sent land first, as a leader does."""

    async def run(connection: Connection, life: int) -> None:
        await asyncio.sleep(REQUEST_SECONDS if life else 0.0)
        await _run(world, staff, connection, f"operator/{life}", life)

    return run


def leading_operator(world: World, staff: Staff, name: str) -> Program:
    """The lease has a way to the server of its own, as it has a thread of its own in a process."""

    async def run(connection: Connection, life: int) -> None:
        clock = asyncio.get_running_loop().time
        connection.first_lists_lie = True
        beside = world.connect(f"{name}{LEASE_SUFFIX}", life, connection.die)
        connection.accompany(beside)
        for term in itertools.count():
            settings = LeaseSettings("kube-system", "ray-operator-leader", identity=f"{name}-{life}-{term}")
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
            work = partial(_lead, world, staff, connection, f"{name}/{life}/{term}", life, fence, holder)
            because = await lead(holder, work)
            world.note(name, f"lost the lease: {because}")

    return run


async def _lead(
    world: World, staff: Staff, connection: Connection, label: str, life: int, fence: LeaseFence, holder: LeaseHolder
) -> None:
    await _run(world, staff, connection, label, life, fence, holder.revision)


async def _run(
    world: World,
    staff: Staff,
    connection: Connection,
    label: str,
    life: int,
    fence: LeaseFence | None = None,
    since: int = 0,
) -> None:
    witness = Witness(world, connection, lambda: staff.forbidden, staff.diary)
    overseer = staff.overseer = staff.overseeing(world, witness, fence)
    chance = stream(world.seed, label)
    habits = stream(world.seed, f"{label.partition('/')[0]}/lists")
    watch = WatchSettings(
        streaming=habits.random() < 0.5, page_size=habits.choice((3, 500)), watch_seconds=staff.watch_seconds
    )
    version = staff.version_of(life)
    staff.versions.add(version)
    options = OperatorOptions(
        settings=Settings(
            operator_version=version,
            gates={**default_gates(), "RayCronJob": staff.has_crons},
            batch_scheduler=staff.scheduler,
        ),
        request_seconds=REQUEST_SECONDS,
        has_jobs=staff.has_jobs,
        has_services=staff.has_services,
        host=HostSettings(watch=watch, workers=WORKERS),
    )
    overseer.operator = RayOperator(
        witness,
        options,
        on_problem=partial(_hear, world),
        metrics=overseer,
        fence=fence,
        clocks=Clocks(now=world.clock_of(label.partition("/")[0]), chance=chance.random, random_bytes=chance.randbytes),
    )
    await overseer.operator.run(asyncio.Event(), since)


def _hear(world: World, where: str, error: Exception) -> None:
    """Servers may be unreachable; whatever else is told of can only be a bug."""
    world.note("operator", f"{where}: {error}")
    if not isinstance(error, ApiError):
        world.report(f"X1: {where}: {error!r}")


def kubernetes_crew(host: Host, client: Client) -> None:
    """Garbage collection and Jobs: what a RayCluster leaves to Kubernetes."""
    add_cleaning(host, client, lambda _where, _error: None, is_wanted=lambda resource: str(resource) in COLLECTED)
    for reconciler in (JobReconciler, OrphanedPodReconciler):
        host.add(reconciler(host.caches))
