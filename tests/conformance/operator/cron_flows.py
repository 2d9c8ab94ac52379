"""A recorded life of a RayCronJob, lived again: its RayJobs are judged as ``job_flows`` does, and itself by its end.

RayJobs are named by the minute of their tick: ours are given the recording's names in the order in which they came.
"""

import asyncio
import re
from collections import Counter
from typing import Any

import msgspec
from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.flows import load_flow
from conformance.operator.job_flows import LivedJob, judge_job_life, judge_job_status
from conformance.operator.judging import judge_events, mask_namespace
from conformance.operator.playing import Tree
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import goldens_folder
from heliostat.operator.kinds import RAY_CRON_JOB, RAY_JOB

__all__ = ["judge_cron_life", "list_cron_flows", "live_cron", "load_flow"]

_CHILD = re.compile(r"cron-\d{8,}")
_SETTLED = 2.0  # seconds, until events are told


class LivedCron(Struct, frozen=True):
    writes: list[list[Write]]  # step by step
    events: list[Tree]
    jobs: list[Tree]  # as they are in the end
    crons: list[Tree]


def list_cron_flows() -> list[str]:
    found = goldens_folder().glob("flows/raycronjob*.flow.json")
    return sorted(path.name.removesuffix(".flow.json") for path in found)


async def live_cron(operated: Operated, flow: Tree, namespace: str) -> LivedCron:
    await operated.world.make_namespace(namespace)
    steps: list[list[Write]] = []
    for step in flow["steps"]:
        await _do(operated, namespace, step["do"])
        await (_catch_up(operated, namespace, step) if step["writes"] else operated.rest())
        steps.append(operated.log.in_namespace(namespace))
        operated.log.forget(namespace)
    events, jobs, crons = [await operated.admin.items(kind, namespace) for kind in (EVENT, RAY_JOB, RAY_CRON_JOB)]
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)
    return LivedCron(steps, events, jobs, crons)


async def _do(operated: Operated, namespace: str, deed: list[Any]) -> None:
    match deed:
        case ["create", tree]:
            placed = tree | {"metadata": tree["metadata"] | {"namespace": namespace}}
            await operated.admin.create(RAY_CRON_JOB, placed)
        case ["patch", "raycronjob", name, changes]:
            await operated.admin.merge(RAY_CRON_JOB, namespace, name, changes)
        case _:
            raise ValueError(f"a flow does what is not known here: {deed}")


async def _catch_up(operated: Operated, namespace: str, step: Tree) -> None:
    """Until as much was made and deleted as was recorded, and it has been told."""
    wanted = Counter((write["verb"], write["resource"]) for write in step["writes"] if write["verb"] != "update")

    async def is_there() -> bool:
        done = [write.use for write in operated.log.in_namespace(namespace) if write.is_done]
        return not wanted - Counter((use.verb, use.resource) for use in done)

    await operated.world.until(is_there)
    told = operated.log.count
    while True:
        await asyncio.sleep(_SETTLED)
        if operated.log.count == told:
            return
        told = operated.log.count


def judge_cron_life(name: str, flow: Tree, lived: LivedCron) -> list[str]:
    lived = _with_recorded_names(flow, lived)
    recorded = {entry["name"]: entry["status"] for entry in flow["final_status"] if entry["resource"] == RAY_JOB.plural}
    ids = list(dict.fromkeys(job["status"]["jobId"] for job in lived.jobs))
    first, *others = (LivedJob(lived.writes, lived.events, [job], ids) for job in lived.jobs)
    found = judge_job_life(name, _of_jobs(flow, first.jobs[0]["metadata"]["name"]), first)
    for other in others:
        job = other.jobs[0]
        found += judge_job_status(
            _without_number(recorded[job["metadata"]["name"]]), _without_number(job["status"]), job
        )
    return [*found, *_judge_own(flow, lived)]


def _judge_own(flow: Tree, lived: LivedCron) -> list[str]:
    own = [event for event in lived.events if event["regarding"]["kind"] == RAY_CRON_JOB.kind]
    namespace = lived.crons[0]["metadata"]["namespace"]
    found = judge_events(_own_events(flow), mask_namespace(own, namespace))
    (status,) = [entry["status"] for entry in flow["final_status"] if entry["resource"] == RAY_CRON_JOB.plural]
    (cron,) = lived.crons
    return found if set(cron["status"]) == set(status) else [*found, f"status: recorded {status}, got {cron['status']}"]


def _own_events(flow: Tree) -> list[Tree]:
    events = [event for step in flow["steps"] for event in step["events"]]
    return [event for event in events if event["kind"] == RAY_CRON_JOB.kind]


def _of_jobs(flow: Tree, first: str) -> Tree:
    """The life of its RayJobs, ending with the first one's status."""
    steps = [
        step | {"events": [event for event in step["events"] if event["kind"] != RAY_CRON_JOB.kind]}
        for step in flow["steps"]
    ]
    return {"steps": steps, "final_status": [entry for entry in flow["final_status"] if entry["name"] == first]}


def _without_number(status: Tree) -> Tree:
    """Job ids and clusters are numbered by the order in which they came, and drawn by ours."""
    text = msgspec.json.encode(status).decode()
    found: Tree = msgspec.json.decode(re.sub(r"(cron-\d{8,})-\w+?(?=[\"\-])", r"\1-X", text))
    return found


def _with_recorded_names(flow: Tree, lived: LivedCron) -> LivedCron:
    recorded = [write["name"] for step in flow["steps"] for write in step["writes"] if _makes_job(write)]
    ours = [job["metadata"]["name"] for job in sorted(lived.jobs, key=lambda job: str(job["metadata"]["name"]))]
    names = dict(zip(ours, recorded, strict=False))
    text = _CHILD.sub(lambda found: names.get(found[0], found[0]), msgspec.json.encode(lived).decode())
    return msgspec.json.decode(text, type=LivedCron)


def _makes_job(write: Tree) -> bool:
    return bool(write["verb"] == "create" and write["resource"] == RAY_JOB.plural)
