"""A world of one RayCronJob for planner tests: plans are made from it and carried out on it, in memory.

``act`` carries a plan out up to a number of writes: a crash is a world in which the rest never happened. ``made`` keeps
the tick of every RayJob that was ever made.
"""

from typing import Any

from msgspec import Struct, structs

from heliostat.api.documents import Accepted, accept
from heliostat.desired.raycronjob.child import SCHEDULED
from heliostat.kube.plan import Action, Create, Delete, Plan, WriteStatus
from heliostat.kube.timestamps import format_timestamp, parse_timestamp
from heliostat.plan.raycronjob.kind import GATE, RAY_CRON_JOB
from heliostat.plan.raycronjob.observed import observe_cron
from plan.rayjob.job_worlds import cluster_spec
from plan.worlds import NAMESPACE, UID, Tree, plan_by_row, with_gates

NAME = "cron"
START = parse_timestamp("2024-01-01T00:00:00Z")
MINUTE = 60.0


def cron_tree(annotations: dict[str, str] | None = None, **spec: Any) -> Tree:
    metadata = {
        "name": NAME,
        "namespace": NAMESPACE,
        "uid": UID,
        "resourceVersion": "100",
        "creationTimestamp": format_timestamp(START),
        "annotations": annotations or {},
    }
    template = {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec()}
    sound = {"schedule": "*/5 * * * *", "jobTemplate": template, **spec}
    answer = accept({"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": metadata, "spec": sound})
    assert isinstance(answer, Accepted), answer
    return answer.tree


class CronWorld(Struct, frozen=True):
    cron: Tree
    jobs: tuple[Tree, ...] = ()
    now: float = START
    version: int = 1000
    made: tuple[float, ...] = ()
    told: tuple[str, ...] = ()  # reasons of events

    @property
    def last(self) -> str:
        return str((self.cron.get("status") or {}).get("lastScheduleTime") or "")

    def at(self, minutes: float) -> "CronWorld":
        """So many minutes after the RayCronJob was made."""
        return structs.replace(self, now=START + minutes * MINUTE)

    def edit(self, **spec: Any) -> "CronWorld":
        return structs.replace(self, cron={**self.cron, "spec": {**self.cron["spec"], **spec}})

    def finish(self, status: str = "SUCCEEDED") -> "CronWorld":
        """All its RayJobs are over."""
        phase = "Complete" if status == "SUCCEEDED" else "Failed"
        over = {"jobDeploymentStatus": phase, "jobStatus": status}
        return structs.replace(self, jobs=tuple({"status": over, **job} for job in self.jobs))

    def names(self) -> list[str]:
        return [job["metadata"]["name"] for job in self.jobs]


def begin(annotations: dict[str, str] | None = None, **spec: Any) -> CronWorld:
    return CronWorld(cron_tree(annotations, **spec))


def plan_world(world: CronWorld) -> Plan:
    observed = observe_cron(world.cron, world.jobs)
    return plan_by_row(RAY_CRON_JOB, observed, observed.cron, None, with_gates(**{GATE: True}), world.now)


def act(world: CronWorld, writes: int = 99) -> CronWorld:
    """One reconcile that dies after so many writes."""
    plan = plan_world(world)
    actions = list(plan.actions())
    for action in actions[:writes]:
        world = _carry_out(world, action)
    if writes < len(actions):
        return world
    return structs.replace(world, told=(*world.told, *(event.reason for event in plan.events)))


def run(world: CronWorld, passes: int = 50) -> CronWorld:
    """Reconciles until there is nothing more to write."""
    for _ in range(passes):
        plan = plan_world(world)
        world = act(world)
        if plan.is_empty:
            return world
    raise AssertionError(f"it never rests: {world.cron.get('status')}")


def _carry_out(world: CronWorld, action: Action) -> CronWorld:
    number = world.version + 1
    match action:
        case Create():
            if action.ref.name in world.names():
                return world
            job = {**action.object, "metadata": {**action.object["metadata"], "uid": f"uid-{number}"}}
            tick = parse_timestamp(job["metadata"]["annotations"][SCHEDULED])
            return structs.replace(world, jobs=(*world.jobs, job), version=number, made=(*world.made, tick))
        case Delete():
            (target,) = [job for job in world.jobs if job["metadata"]["uid"] == action.uid]
            return structs.replace(world, jobs=tuple(job for job in world.jobs if job is not target))
        case WriteStatus():
            metadata = world.cron["metadata"]
            assert action.resource_version == metadata["resourceVersion"]
            cron = {**world.cron, "status": action.status, "metadata": {**metadata, "resourceVersion": str(number)}}
            return structs.replace(world, cron=cron, version=number)
    raise AssertionError(action)
