"""A recorded life of a RayJob, lived again, and matched as the goldens' README says.

The same objects are created, changed and deleted in each step, the same phases and job statuses are passed through, the
same event reasons occur, and the final status is equal. A step goes on until the operator is where the recording was
when the next one came. Clusters and job ids are told apart by the order in which they came about, as in the recording.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.flows import load_flow
from conformance.operator.judging import judge_status, mask_namespace
from conformance.operator.playing import Tree
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import goldens_folder, load_compare
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_JOB

__all__ = ["judge_job_life", "list_job_flows", "live_job", "load_flow"]

_PHASE, _STATUS = "jobDeploymentStatus", "jobStatus"
_TIMES = ("startTime", "endTime")
_OVER = ("SUCCEEDED", "FAILED", "STOPPED")
# Events and ends of ours that KubeRay does not have, with their id in docs/differences.md.
TOLD_BEYOND = {"rayjob-edited-while-running": {"SpecNotApplied"}}


class LivedJob(Struct, frozen=True):
    writes: list[list[Write]]  # step by step
    events: list[Tree]
    jobs: list[Tree]  # as they are in the end
    ids: list[str]  # job ids in the order of their first appearance


def list_job_flows() -> list[str]:
    found = goldens_folder().glob("flows/rayjob-*.flow.json")
    return sorted(path.name.removesuffix(".flow.json") for path in found)


async def live_job(operated: Operated, flow: Tree, namespace: str) -> LivedJob:
    await operated.world.make_namespace(namespace)
    steps: list[list[Write]] = []
    ids: list[str] = []
    for number, step in enumerate(flow["steps"]):
        await _do(operated, namespace, step["do"])
        if number + 1 == len(flow["steps"]):
            await operated.rest()
        else:
            await _catch_up(operated, namespace, step)
        steps.append(operated.log.in_namespace(namespace))
        operated.log.forget(namespace)
    ids = list(dict.fromkeys(shown["jobId"] for step in steps for shown in _statuses(step) if shown.get("jobId")))
    events = await operated.admin.items(EVENT, namespace)
    jobs = await operated.admin.items(RAY_JOB, namespace)
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)
    return LivedJob(steps, events, jobs, ids)


async def _do(operated: Operated, namespace: str, deed: list[Any]) -> None:
    admin = operated.admin
    match deed:
        case ["create", tree]:
            kind = RAY_CLUSTER if tree["kind"] == RAY_CLUSTER.kind else RAY_JOB
            await admin.create(kind, tree | {"metadata": tree["metadata"] | {"namespace": namespace}})
        case ["patch", "rayjob", name, changes]:
            await admin.merge(RAY_JOB, namespace, name, changes)
        case ["delete", "rayjob", name]:
            await admin.delete(RAY_JOB, namespace, name)
        case ["deletepod", label]:
            key, _, value = label.partition("=")
            pods = await admin.items(POD, namespace)
            chosen = [pod for pod in pods if pod["metadata"]["labels"].get(key) == value]
            await admin.delete(POD, namespace, chosen[0]["metadata"]["name"])
        case ["deletefirst", "raycluster"]:
            first = (await admin.items(RAY_CLUSTER, namespace))[0]
            await admin.delete(RAY_CLUSTER, namespace, first["metadata"]["name"])
        case _:
            raise ValueError(f"a flow does what is not known here: {deed}")


async def _catch_up(operated: Operated, namespace: str, step: Tree) -> None:
    """Until all that was recorded has been passed through and made."""
    wanted = Counter(write["resource"] for write in step["writes"] if write["verb"] == "create")
    ways = _recorded_ways([step])

    async def is_there() -> bool:
        writes = operated.log.in_namespace(namespace)
        made = Counter(write.use.resource for write in writes if write.use.verb == "create" and write.is_done)
        passed = _own_ways([writes])
        return not wanted - made and all(_is_passed(values, passed.get(what, [])) for what, values in ways.items())

    await operated.world.until(is_there)


def _is_passed(recorded: list[str], passed: list[str]) -> bool:
    rest = iter(passed)
    return all(value in rest for value in recorded)


def judge_job_life(name: str, flow: Tree, lived: LivedJob) -> list[str]:
    return [
        *_judge_deeds(flow, lived),
        *_judge_objects(flow, lived),
        *_judge_ways(flow, lived),
        *_judge_reasons(name, flow, lived),
        *_judge_end(flow, lived),
    ]


def _judge_deeds(flow: Tree, lived: LivedJob) -> Iterator[str]:
    names = _masks(lived)
    for number, (step, writes) in enumerate(zip(flow["steps"], lived.writes, strict=True)):
        wanted = Counter(_recorded_deeds(step))
        got = Counter(_own_deeds(writes, names))
        if wanted != got:
            yield f"step {number}: not done {dict(wanted - got)}, done beyond {dict(got - wanted)}"


def _recorded_deeds(step: Tree) -> Iterator[str]:
    for write in step["writes"]:
        verb, resource = write["verb"], write["resource"]
        if resource == POD.plural or write.get("changes") == "none":
            continue  # Pods are the RayCluster's business, and are judged with it
        if verb == "update":
            yield f"change {resource} {write['name']} {_changed_paths(write['changes'])}"
        else:
            yield f"{verb} {resource} {write['name']}"


def _own_deeds(writes: list[Write], names: dict[str, str]) -> Iterator[str]:
    for write in writes:
        use = write.use
        if use.subresource == "status" or not write.is_done or use.resource == POD.plural:
            continue
        name = write.name or write.tree["metadata"]["name"]
        for known, mask in names.items():
            name = name.replace(known, mask)
        if use.verb == "patch":
            yield f"change {use.resource} {name} {sorted(_leaves(write.tree))}"
        else:
            yield f"{use.verb} {use.resource} {name}"


def _changed_paths(changes: Any) -> list[str]:
    """Of a recording: what somebody wanted, and neither lists by index nor what every update changes."""
    if not isinstance(changes, list):
        return sorted(_leaves(changes))
    paths = (change["path"].removeprefix(".") for change in changes)
    kept = [path for path in paths if not path.startswith(("metadata.deletion", "metadata.uid"))]
    return sorted({path.partition("[")[0] for path in kept})


def _leaves(tree: Tree, path: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}{key}.")
        elif key not in ("uid", "resourceVersion") and not _is_unchanged(f"{path}{key}"):
            yield f"{path}{key}"


def _is_unchanged(path: str) -> bool:
    """A selector is written as a whole; two of its labels name the cluster."""
    kept = ("ray.io/cluster", "ray.io/identifier")
    return path.startswith("spec.selector.") and path.removeprefix("spec.selector.") not in kept


def _masks(lived: LivedJob) -> dict[str, str]:
    """Our names, and what the recording calls them; longer ones first."""
    clusters = [
        write.tree["metadata"]["name"]
        for step in lived.writes
        for write in step
        if write.use.verb == "create" and write.use.resource == RAY_CLUSTER.plural and write.is_done
    ]
    masks = {name: f"{name.rpartition('-')[0]}-C{number}" for number, name in enumerate(clusters, 1)}
    return masks | {name: f"{name.rpartition('-')[0]}-ID{number}" for number, name in enumerate(lived.ids, 1)}


def _masked(tree: Any, lived: LivedJob) -> Any:
    text = json.dumps(tree)
    for known, mask in _masks(lived).items():
        text = text.replace(known, mask)
    return json.loads(text)


def _judge_objects(flow: Tree, lived: LivedJob) -> Iterator[str]:
    recorded = [write for step in flow["steps"] for write in step["writes"] if write["verb"] == "create"]
    ours = [write for step in lived.writes for write in step if write.use.verb == "create" and write.is_done]
    whole = [write["object"] for write in recorded if write["resource"] != POD.plural]
    own = [write.tree for write in ours if write.use.resource != POD.plural]
    namespace = ours[0].namespace if ours else "none"
    yield from load_compare().compare({"creates": whole}, mask_namespace(_masked(own, lived), namespace), subset=False)


def _judge_ways(flow: Tree, lived: LivedJob) -> Iterator[str]:
    recorded, passed = _recorded_ways(flow["steps"]), _own_ways(lived.writes)
    for what, values in recorded.items():
        if not _is_passed(values, passed.get(what, [])):
            yield f"{what}: recorded {values}, passed {passed.get(what)}"
        beyond = set(passed.get(what, [])) - {*values, ""}
        if beyond:
            yield f"{what}: {sorted(beyond)} was never recorded"


def _recorded_ways(steps: list[Tree]) -> dict[str, list[str]]:
    passed: dict[str, list[str]] = {}
    for step in steps:
        for write in step["status_changes"]:
            if write["resource"] == RAY_JOB.plural:
                for change in write["changes"]:
                    if change["path"] in (f".{_PHASE}", f".{_STATUS}"):
                        passed.setdefault(change["path"][1:], []).append(change["to"] or "")
    return passed


def _own_ways(steps: list[list[Write]]) -> dict[str, list[str]]:
    passed: dict[str, list[str]] = {_PHASE: [], _STATUS: []}
    for shown in (shown for step in steps for shown in _statuses(step)):
        for what, values in passed.items():
            value = shown.get(what, "")
            if values[-1:] != [value]:
                values.append(value)
    return passed


def _statuses(writes: list[Write]) -> Iterator[Tree]:
    for write in writes:
        if write.use.resource == RAY_JOB.plural and write.use.subresource == "status" and write.is_done:
            yield write.answer["status"]


def _judge_reasons(name: str, flow: Tree, lived: LivedJob) -> Iterator[str]:
    recorded = {event["reason"] for step in flow["steps"] for event in step["events"]}
    of_ray = [event for event in lived.events if event["regarding"]["kind"] in (RAY_JOB.kind, RAY_CLUSTER.kind)]
    told = {event["reason"] for event in of_ray} - TOLD_BEYOND.get(name, set())
    if recorded != told:
        yield f"reasons: not told {sorted(recorded - told)}, told beyond {sorted(told - recorded)}"


def _judge_end(flow: Tree, lived: LivedJob) -> Iterator[str]:
    is_deleted = flow["steps"][-1]["do"][0] == "delete"
    if is_deleted or not lived.jobs:
        if is_deleted != (not lived.jobs):
            yield "the RayJob is still there" if is_deleted else "the RayJob is gone"
        return
    (recorded,) = [entry["status"] for entry in flow["final_status"] if entry["resource"] == RAY_JOB.plural]
    yield from judge_job_status(recorded, _masked(lived.jobs[0]["status"], lived), lived.jobs[0])


def judge_job_status(recorded: Tree, ours: Tree, job: Tree) -> Iterator[str]:
    """Equal but for times, and for what the cluster had come to when somebody looked."""
    theirs, own = _plain(recorded, "NAMESPACE"), _plain(ours, job["metadata"]["namespace"])
    for key in sorted(theirs.keys() | own.keys()):
        if theirs.get(key) != own.get(key):
            yield f"status.{key}: recorded {theirs.get(key)}, got {own.get(key)}"
    for line in judge_status(recorded["rayClusterStatus"], ours["rayClusterStatus"]):
        # Why a head is not ready yet is for its node to say.
        if not line.startswith("status.HeadPodReady: recorded {'status': 'False'") or "got {'status': 'True'" in line:
            yield line


def _plain(status: Tree, namespace: str) -> Tree:
    text = json.dumps({key: value for key, value in status.items() if key != "rayClusterStatus"})
    plain: Tree = json.loads(text.replace(f".{namespace}.", ".NAMESPACE."))
    for key in _TIMES:
        plain |= {key: "TIME"} if key in plain else {}
    if "rayJobInfo" in plain:
        plain["rayJobInfo"] = sorted(plain["rayJobInfo"])
    if "jobStatusCheckFailureStartTime" in plain:
        plain["jobStatusCheckFailureStartTime"] = "TIME"
    if plain.get("reason", "AppFailed") == "AppFailed" and plain.get("jobStatus") in _OVER:
        plain["message"] = "RAY'S OWN WORDS"
    elif "message" in plain:
        plain["message"] = plain["message"].partition("StartTime")[0].partition(" finished at ")[0]
    return plain
