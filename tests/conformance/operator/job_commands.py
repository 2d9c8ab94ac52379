"""Recorded lives of RayJobs and RayCronJobs, and take-overs in the middle of them, on whatever control plane there is.

Ray is the scripted one; it answers the operator in this process. Lives that were recorded under the same settings are
lived at once, each in a namespace of its own.
"""

import asyncio
import time
from collections.abc import Sequence

from conformance.operator.cron_flows import judge_cron_life, list_cron_flows, live_cron
from conformance.operator.flows import load_flow
from conformance.operator.job_flows import judge_job_life, list_job_flows, live_job
from conformance.operator.job_take_over import judge_taken_over, leave, list_turns
from conformance.operator.summaries import tell
from conformance.operator.worlds import Operated, World
from golden_cases import SETTINGS_OF_FOLDER
from heliostat.operator.kinds import RAY_JOB
from heliostat.testing.scripted_ray import RayScript, ScriptedRay

TAKE_OVERS = "rayjob-take-overs"  # among names
# docs/differences.md: rayjob-mended. Its judge is in tests/operator/goldens/test_job_flows.py.
DIFFERING = {"rayjob-invalid-then-mended"}
# As recorded, but for time enough in each state for a busy machine: the operator asks every two seconds.
UNHURRIED = RayScript(pending_seconds=8.0, ends_after=20.0)
_LONGEST = 400.0  # seconds: the grace period of a submitter that never ends is over


async def live_jobs_and_crons(world: World, names: Sequence[str]) -> int:
    world.ray = ScriptedRay(time.time, UNHURRIED)
    jobs = [name for name in list_job_flows() if name not in DIFFERING and (not names or name in names)]
    crons = [name for name in list_cron_flows() if not names or name in names]
    differing = 0
    if jobs:
        differing += await _live_jobs(world, jobs)
    if crons:
        differing += await _live_crons(world, crons)
    if not names or TAKE_OVERS in names:
        differing += await _take_over(world)
    return differing


async def _live_jobs(world: World, names: Sequence[str]) -> int:
    start, verdicts = time.perf_counter(), {}

    async def live(operated: Operated, name: str) -> None:
        flow = load_flow(name)
        verdicts[name] = judge_job_life(name, flow, await live_job(operated, flow, name))

    async with world.operated(SETTINGS_OF_FOLDER["samples"]) as operated:
        await asyncio.gather(*(live(operated, name) for name in names))
    return tell(f"{len(names)} RayJob flows", verdicts, time.perf_counter() - start)


async def _live_crons(world: World, names: Sequence[str]) -> int:
    start, verdicts = time.perf_counter(), {}
    async with world.operated(SETTINGS_OF_FOLDER["gates"]) as operated:
        for name in names:
            flow = load_flow(name)
            verdicts[name] = judge_cron_life(name, flow, await live_cron(operated, flow, name))
    return tell(f"{len(names)} RayCronJob flows", verdicts, time.perf_counter() - start)


async def _take_over(world: World) -> int:
    start, turns = time.perf_counter(), list_turns(list_job_flows())
    for turn in turns:
        await leave(world, turn, time.time())
    async with world.operated(SETTINGS_OF_FOLDER["samples"]) as operated:
        await asyncio.sleep(_LONGEST)
        await operated.rest()
        verdicts = {str(turn): await judge_taken_over(operated, turn) for turn in turns}
        for turn in turns:
            await operated.admin.delete(RAY_JOB, turn.namespace, turn.job["metadata"]["name"])
    return tell(f"{len(turns)} RayJob take-overs", verdicts, time.perf_counter() - start)
