# ruff: noqa: T201 - these are commands
"""``python -m conformance operator real``: every recorded case and life of RayClusters and RayJobs, on real Kubernetes.

Cases that were recorded under the same settings are applied at once, each in a namespace of its own, and judged when
the operator has come to rest; then their clusters are deleted, and nothing of them may stay. After that the same cases
are put there as KubeRay left them, and the operator takes them over.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from itertools import groupby
from typing import Any

from conformance.operator.flows import judge_life, list_flows, live, load_flow
from conformance.operator.job_cases import apply_jobs, is_about_jobs, judge_job_case, observe_jobs, rest_without_ray
from conformance.operator.job_commands import live_jobs_and_crons
from conformance.operator.judging import judge
from conformance.operator.playing import apply_case, clusters_of, namespace_of, observe
from conformance.operator.real_world import real_world
from conformance.operator.summaries import tell
from conformance.operator.take_over import judge_take_over, leave_objects, leave_traces
from conformance.operator.worlds import Operated, World
from golden_cases import SETTINGS_OF_FOLDER, GoldenCase, absence, cases_of
from heliostat.api.settings import Settings
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_JOB
from heliostat.operator.used_rights import list_ungranted

ABREAST = 16


def run_operator(names: Sequence[str]) -> int:
    """``names`` of folders, cases or flows; all by default."""
    reason = absence()
    if reason is not None:
        print(reason)
        return 1
    return asyncio.run(_run(names))


async def _run(names: Sequence[str]) -> int:
    differing = 0
    async with real_world() as world:
        for settings, folders in _by_settings():
            cases = [case for folder in folders for case in cases_of(folder) if _is_chosen(case, names)]
            if cases:
                differing += await _play_together(world, settings, cases)
                differing += await _take_over_together(world, settings, cases)
            jobs = [case for folder in folders for case in cases_of(folder) if _is_chosen_job(case, names)]
            if jobs:
                differing += await _play_jobs_together(world, settings, jobs)
        flows = [name for name in list_flows() if not names or name in names]
        if flows:
            differing += await _live_all(world, flows)
        differing += await live_jobs_and_crons(world, names)
        for problem in world.problems:
            print(problem)
        return 1 if differing or world.problems else 0


def _by_settings() -> list[tuple[Settings, list[str]]]:
    """The many cases of the usual settings come last."""
    together = groupby(SETTINGS_OF_FOLDER.items(), key=lambda item: item[1])
    return [(settings, [folder for folder, _ in items]) for settings, items in together][::-1]


def _is_chosen(case: GoldenCase, names: Sequence[str]) -> bool:
    return bool(clusters_of(case)) and (not names or case.folder in names or str(case) in names)


async def _play_together(world: World, settings: Settings, cases: Sequence[GoldenCase]) -> int:
    start = time.perf_counter()
    async with world.operated(settings) as operated:
        await _abreast(apply_case(operated, case) for case in cases)
        await operated.rest()
        verdicts = {str(case): judge(case, await observe(operated, namespace_of(case))) for case in cases}
        verdicts["rights"] = [f"not granted: {use}" for use in list_ungranted(operated.used)]
        verdicts["deletion"] = await _delete_all(operated)
    return tell(f"{len(cases)} cases of {_folders(cases)}", verdicts, time.perf_counter() - start)


def _is_chosen_job(case: GoldenCase, names: Sequence[str]) -> bool:
    return is_about_jobs(case) and (not names or case.folder in names or str(case) in names)


async def _play_jobs_together(world: World, settings: Settings, cases: Sequence[GoldenCase]) -> int:
    start = time.perf_counter()
    refusals: dict[str, list[str]] = {}

    async def apply(case: GoldenCase) -> None:
        refusals[str(case)] = await apply_jobs(operated, case)

    async with world.operated(settings) as operated:
        await _abreast(apply(case) for case in cases)
        await rest_without_ray(operated)
        verdicts = {
            str(case): judge_job_case(case, await observe_jobs(operated, case, refusals[str(case)])) for case in cases
        }
        verdicts["rights"] = [f"not granted: {use}" for use in list_ungranted(operated.used)]
        verdicts["deletion"] = await _delete_all(operated, RAY_JOB)
    return tell(f"{len(cases)} RayJob cases of {_folders(cases)}", verdicts, time.perf_counter() - start)


async def _take_over_together(world: World, settings: Settings, cases: Sequence[GoldenCase]) -> int:
    start = time.perf_counter()
    left = {f"left-{namespace_of(case)}": case for case in cases if case.expected["creates"]}
    await _abreast(leave_objects(world, case, namespace) for namespace, case in left.items())
    await asyncio.sleep(world.pace.quiet)
    await _abreast(leave_traces(world, case, namespace) for namespace, case in left.items())
    await asyncio.sleep(world.pace.quiet)
    async with world.operated(settings) as operated:
        await operated.rest()
        written = {namespace: operated.log.in_namespace(namespace) for namespace in left}
        verdicts = {str(case): judge_take_over(case, written[namespace]) for namespace, case in left.items()}
        verdicts["deletion"] = await _delete_all(operated)
    return tell(f"{len(left)} take-overs of {_folders(cases)}", verdicts, time.perf_counter() - start)


async def _abreast(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    places = asyncio.Semaphore(ABREAST)

    async def run(work: Coroutine[Any, Any, None]) -> None:
        async with places:
            await work

    await asyncio.gather(*map(run, works))


def _folders(cases: Iterable[GoldenCase]) -> str:
    return ", ".join(sorted({case.folder for case in cases}))


async def _delete_all(operated: Operated, kind: ResourceType = RAY_CLUSTER) -> list[str]:
    for item in await operated.admin.items(kind):
        await operated.admin.delete(kind, item["metadata"]["namespace"], item["metadata"]["name"])

    async def is_empty() -> bool:
        return not await operated.admin.items(RAY_CLUSTER) and not await operated.admin.items(POD)

    try:
        await operated.world.until(is_empty)
    except TimeoutError:
        return ["not all clusters and Pods are gone"]
    return []


async def _live_all(world: World, names: Sequence[str]) -> int:
    start = time.perf_counter()
    verdicts = {}
    async with world.operated(SETTINGS_OF_FOLDER["samples"]) as operated:
        for name in names:
            flow = load_flow(name)
            verdicts[name] = judge_life(flow, await live(operated, flow, name), are_nodes_quick=True)
    return tell(f"{len(names)} flows", verdicts, time.perf_counter() - start)
