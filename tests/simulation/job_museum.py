"""Bugs that operators of RayJobs and RayCronJobs have had, each as a small world, and the bug to prove it.

An exhibit is one user and one trouble, without chance. The rules it is judged by are the laws of the random worlds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from heliostat.kube.timestamps import format_timestamp
from heliostat.testing.scripted_ray import Answer, Forget
from heliostat.testing.simulation.faults import Crash, Fault, Injection, LoseReply
from heliostat.testing.simulation.script import WRITE, Script
from heliostat.testing.simulation.world import Violation
from simulation.rayclusters.manifests import group
from simulation.rayclusters.nodes import restart
from simulation.rayclusters.reading import label
from simulation.rayclusters.town import OPERATOR, Town
from simulation.raycronjobs import mutants as crons
from simulation.raycronjobs.workloads import Planner
from simulation.rayjobs import mutants as jobs
from simulation.rayjobs.dashboards import JOBS, Dashboards, dashboards_of
from simulation.rayjobs.laws import OVER, phase_of, status_of
from simulation.rayjobs.workloads import HTTP, K8S_JOB, Submitter
from simulation.rayjobs.worlds import VOLCANO


class At(Script):
    """The operator meets a fault at its first write to this resource."""

    def __init__(self, resource: str, fault: Fault) -> None:
        super().__init__()
        self._resource, self._fault = resource, fault

    def fault_at(self, program: str, call: int, *, kind: str, resource: str, now: float) -> Fault | None:
        if self.met or (program, kind, resource) != (OPERATOR, WRITE, self._resource):
            return None
        self.met.append(Injection(program, call, self._fault))
        return self._fault


class JobExhibit(Struct, frozen=True, kw_only=True):
    name: str
    visit: Callable[[Town], Awaitable[None]]
    bug: Callable[[], Any]  # planted, it must break the exhibit
    script: Callable[[], Script] = Script
    scheduler: str = ""


async def a_tick_is_looked_at_twice(town: Town) -> None:
    """The RayJob is made, and the operator dies before the tick is recorded: its next life makes no second one."""
    user = Planner(town.world, "k0")
    await user.create()
    await asyncio.sleep(100.0)
    await user.expect_every_tick()


async def the_answer_to_a_create_is_lost(town: Town) -> None:
    """The cluster is there, and nobody heard so: the second try is the same cluster."""
    user = Submitter(town.world, "j0")
    await user.create(mode=HTTP, shutdownAfterJobFinishes=True)
    await user.until("Complete")


async def a_submission_without_an_answer(town: Town) -> None:
    """It is asked for before anything is sent again."""
    ray, user = dashboards_of(town.world.state), Submitter(town.world, "j0")
    await user.create(mode=HTTP)
    cluster = await _head(town, ray, user)
    cluster.disturb(Answer(method="POST", path=JOBS, times=1, status=504, carried_out=True))
    await user.until("Complete")


async def a_follower_loses_its_connection(town: Town) -> None:
    """Ray works on: the exit code of who followed its log is not the result."""
    dashboards_of(town.world.state).flakiness = 1.0
    user = Submitter(town.world, "j0")
    await user.create(mode=K8S_JOB, submitterConfig={"backoffLimit": 0})
    await user.until(*OVER)
    if phase_of(user.job()) != "Complete":
        raise Violation(f"J4: {status_of(user.job())}, and Ray says SUCCEEDED")


async def the_head_is_lost_while_the_job_runs(town: Town) -> None:
    """It is neither waited for without end nor given to the next head; its cluster goes."""
    user = Submitter(town.world, "j0")
    await user.create(mode=HTTP, shutdownAfterJobFinishes=True)
    await town.world.until("L1: it runs", lambda: status_of(user.job()).get("jobStatus") == "RUNNING", 120.0)
    await user.lose_head()
    await town.world.until("L1: j0 is over", lambda: phase_of(user.job()) == "Failed", 120.0)
    await town.world.until("J6: the cluster is gone", lambda: not [*town.world.state.all("rayclusters")], 120.0)


async def ray_is_started_again_in_its_pod(town: Town) -> None:
    """The submitter's next Pod waits for it, and would give it the job once more before the operator believes it."""
    ray, user = dashboards_of(town.world.state), Submitter(town.world, "j0")
    await user.create(mode=K8S_JOB)
    await town.world.until("L1: it runs", lambda: status_of(user.job()).get("jobStatus") == "RUNNING", 120.0)
    (head,) = user.heads()
    await restart(town.world, head, lambda: format_timestamp(ray.now()), 25.0)
    await town.world.until("L1: j0 is over", lambda: phase_of(user.job()) == "Failed", 200.0)
    await asyncio.sleep(60.0)
    if len(ray.taken) != 1:
        raise Violation(f"J1: accepted {len(ray.taken)} times")


async def the_head_dies_right_after_it_has_accepted(town: Town) -> None:
    """Nobody had looked yet; the next head is not given the job once more."""
    ray, user = dashboards_of(town.world.state), Submitter(town.world, "j0")
    ray.mortality = 1.0
    await user.create(mode=HTTP)
    await town.world.until("L1: j0 is over", lambda: phase_of(user.job()) == "Failed", 200.0)
    if len(ray.taken) != 1:
        raise Violation(f"J1: accepted {len(ray.taken)} times")


async def ray_accepts_and_forgets(town: Town) -> None:
    ray, user = dashboards_of(town.world.state), Submitter(town.world, "j0")
    await user.create(mode=HTTP)
    cluster = await _head(town, ray, user)
    cluster.disturb(Forget(method="POST", path=JOBS, times=1))
    await town.world.until("L1: j0 is over", lambda: phase_of(user.job()) == "Failed", 200.0)
    if len(ray.taken) != 1:
        raise Violation(f"J1: accepted {len(ray.taken)} times")


async def ray_denies_a_job_once(town: Town) -> None:
    """A dashboard that lags: the job runs, and ends well."""
    ray, user = dashboards_of(town.world.state), Submitter(town.world, "j0")
    await user.create(mode=HTTP)
    cluster = await _head(town, ray, user)
    await town.world.until("L1: it runs", lambda: status_of(user.job()).get("jobStatus") == "RUNNING", 120.0)
    cluster.disturb(Answer(method="GET", path=JOBS, times=1, status=404, body=b"Job does not exist"))
    await user.until("Complete")


async def the_submitter_is_done_and_ray_is_not(town: Town) -> None:
    """A grace period ends what would be Running for ever."""
    user = Submitter(town.world, "j0")
    await user.create(mode=K8S_JOB, entrypoint="python endless.py")
    await town.world.until("L1: j0 is over", lambda: phase_of(user.job()) == "Failed", 200.0)


async def a_gang_comes_to_its_end(town: Town) -> None:
    """Its queue gets the room back: the group asks for nothing once the cluster is gone, and goes with the RayJob."""
    user, state = Submitter(town.world, "j0"), town.world.state

    def greed() -> list[Any]:
        return [group["spec"] for group in state.all("podgroups") if group["spec"].get("minMember")]

    await user.create(group("g", 1), mode=K8S_JOB, shutdownAfterJobFinishes=True)
    await user.until("Complete")
    if not [*state.all("podgroups")]:
        raise Violation("there was no gang")
    await town.world.until("C7: the gang asks for nothing any more", lambda: not greed(), 60.0)
    await user.delete()
    await town.world.until("C7: the gang is gone", lambda: not [*state.all("podgroups")], 60.0)


async def _head(town: Town, ray: Dashboards, user: Submitter) -> Any:
    """The scripted cluster behind the head of the job, as soon as there is one."""

    def heads() -> list[Any]:
        name = status_of(user.job()).get("rayClusterName")
        return [pod for pod in town.world.state.all("pods") if name and label(pod, "cluster") == name]

    await town.world.until("L1: there is a head", lambda: bool(heads()), 60.0)
    return ray.cluster_of(heads()[0])


JOB_MUSEUM = (
    JobExhibit(
        name="kuberay-4888",
        visit=a_tick_is_looked_at_twice,
        bug=crons.names_are_drawn,
        script=lambda: At("raycronjobs", Crash("before")),
    ),
    JobExhibit(
        name="kuberay-2374",
        visit=the_answer_to_a_create_is_lost,
        bug=jobs.names_are_not_written_down,
        script=lambda: At("rayclusters", LoseReply()),
    ),
    JobExhibit(
        name="kuberay-2579", visit=a_submission_without_an_answer, bug=jobs.a_submission_is_repeated_without_asking
    ),
    JobExhibit(name="kuberay-3211", visit=a_follower_loses_its_connection, bug=jobs.the_submitters_end_is_the_result),
    JobExhibit(name="kuberay-4476", visit=a_gang_comes_to_its_end, bug=jobs.a_gang_is_left_behind, scheduler=VOLCANO),
    JobExhibit(name="kuberay-4916", visit=the_head_is_lost_while_the_job_runs, bug=jobs.a_lost_job_is_waited_for),
    JobExhibit(name="kuberay-4080", visit=the_head_is_lost_while_the_job_runs, bug=jobs.a_lost_job_is_submitted_again),
    JobExhibit(
        name="ray-starts-again-in-its-pod",
        visit=ray_is_started_again_in_its_pod,
        bug=jobs.a_ray_that_was_started_again_is_asked_first,
    ),
    JobExhibit(name="kuberay-4091", visit=the_submitter_is_done_and_ray_is_not, bug=jobs.patience_never_ends),
    JobExhibit(
        name="head-dies-after-accepting",
        visit=the_head_dies_right_after_it_has_accepted,
        bug=jobs.what_ray_has_taken_is_forgotten,
    ),
    JobExhibit(name="accepts-and-forgets", visit=ray_accepts_and_forgets, bug=jobs.what_ray_has_taken_is_forgotten),
    JobExhibit(name="denies-once", visit=ray_denies_a_job_once, bug=jobs.one_denial_is_enough),
)
