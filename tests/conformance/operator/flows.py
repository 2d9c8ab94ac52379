"""A recorded life, lived again: each step is done to the world, and the operator's doings until the next are kept.

A flow is matched as the goldens' README says: the same objects are created, changed and deleted step by step, the same
conditions are passed through, the same event reasons occur, and the final status is equal. Three things are read with
care: a deletion of all Pods at once counts as one of each that was there; a step of the recording may have begun before
the last one was over, so what is passed through is compared over the whole life, and we may pass through more of it;
fewer repetitions are no difference.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.judging import judge_status
from conformance.operator.playing import Tree
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import goldens_folder
from heliostat.desired import labels
from heliostat.operator.kinds import POD, RAY_CLUSTER

_CONDITION = re.compile(r"\.conditions\.(\w+)\.status")
_STATE = "state"
_TIMES = "stateTransitionTimes"


class Lived(Struct, frozen=True):
    """``steps`` are the operator's writes, step by step; ``pods`` what was there when each step began."""

    steps: list[list[Write]]
    pods: list[list[Tree]]
    events: list[Tree]
    last_cluster: Tree | None


def list_flows() -> list[str]:
    found = goldens_folder().glob("flows/raycluster-*.flow.json")
    return sorted(path.name.removesuffix(".flow.json") for path in found)


def load_flow(name: str) -> Tree:
    flow: Tree = msgspec.json.decode((goldens_folder() / "flows" / f"{name}.flow.json").read_bytes())
    return flow


async def live(operated: Operated, flow: Tree, namespace: str) -> Lived:
    await operated.world.make_namespace(namespace)
    steps: list[list[Write]] = []
    pods: list[list[Tree]] = []
    for step in flow["steps"]:
        pods.append(await operated.admin.items(POD, namespace))
        await _do(operated, namespace, step["do"], pods[-1])
        await operated.rest()
        steps.append(operated.log.in_namespace(namespace))
        operated.log.forget(namespace)
    clusters = await operated.admin.items(RAY_CLUSTER, namespace)
    events = await operated.admin.items(EVENT, namespace)
    await operated.world.remove_namespace(namespace)
    told = [event for event in events if event["regarding"]["kind"] == RAY_CLUSTER.kind]
    return Lived(steps, pods, told, clusters[0] if clusters else None)


async def _do(operated: Operated, namespace: str, deed: list[Any], pods: list[Tree]) -> None:
    admin = operated.admin
    match deed:
        case ["create", tree]:
            await admin.create(RAY_CLUSTER, tree | {"metadata": tree["metadata"] | {"namespace": namespace}})
        case ["patch", "raycluster", name, changes]:
            await admin.merge(RAY_CLUSTER, namespace, name, changes)
        case ["delete", "raycluster", name]:
            await admin.delete(RAY_CLUSTER, namespace, name)
        case ["deletepod", label]:
            key, _, value = label.partition("=")
            chosen = [pod for pod in pods if pod["metadata"]["labels"].get(key) == value]
            await admin.delete(POD, namespace, chosen[0]["metadata"]["name"])
        case _:
            raise ValueError(f"a flow does what is not known here: {deed}")


def judge_life(flow: Tree, lived: Lived, *, are_nodes_quick: bool = False) -> list[str]:
    """With quick nodes Pods may be ready before the first status: what it does not show yet counts as False."""
    return [
        *_judge_steps(flow, lived),
        *_judge_ways(flow, _own_ways(lived, beginning=["False"] if are_nodes_quick else [])),
        *_judge_reasons(flow, lived),
        *_judge_end(flow, lived),
    ]


def _judge_steps(flow: Tree, lived: Lived) -> Iterator[str]:
    for number, (recorded, writes) in enumerate(zip(flow["steps"], lived.steps, strict=True)):
        pods = lived.pods[number]
        wanted, got = Counter(_recorded_deeds(recorded, pods)), Counter(_own_deeds(writes, pods))
        if wanted != got:
            yield f"step {number}: not done {dict(wanted - got)}, done beyond {dict(got - wanted)}"


def _recorded_deeds(step: Tree, pods: list[Tree]) -> Iterator[str]:
    """Of a repeated deletion of all Pods only the first deletes anything."""
    for write in step["writes"]:
        if write["verb"] == "deletecollection":
            yield from (f"delete pods {_group(pod)}" for pod in pods)
        elif write["verb"] == "create":
            yield f"create {write['resource']} {_role(write['resource'], write['name'], write['object'])}"
        elif write["verb"] == "delete":
            group = _group_of_worker(write["name"])
            yield from (f"delete pods {group}" for _ in range(write.get("times", 1)))
        else:
            yield f"change {write['resource']} {write['name']}"


def _own_deeds(writes: Iterable[Write], pods: list[Tree]) -> Iterator[str]:
    groups = {pod["metadata"]["name"]: _group(pod) for pod in pods}
    for write in writes:
        resource, verb = write.use.resource, write.use.verb
        if write.use.subresource == "status" or not write.is_done:
            continue
        if verb == "create":
            metadata = write.tree["metadata"]
            yield f"create {resource} {_role(resource, metadata.get('name', ''), metadata)}"
        elif verb == "delete":
            yield f"delete {resource} {groups[write.name]}"
        else:
            yield f"change {resource} {write.name}"


def _role(resource: str, name: str, metadata: Tree) -> str:
    """Pods are told apart by their group: their names are drawn."""
    return str(metadata["labels"][labels.GROUP]) if resource == POD.plural else name


def _group(pod: Tree) -> str:
    return str(pod["metadata"]["labels"][labels.GROUP])


def _group_of_worker(name: str) -> str:
    found = re.fullmatch(r"rc-(\w+)-worker-RAND5", name)
    assert found is not None, f"{name} does not tell its group"
    return found[1]


def _judge_ways(flow: Tree, passed: dict[str, list[str]]) -> Iterator[str]:
    """What was passed through in the recording is passed through, in that order, on the way to the same end."""
    for what, values in _recorded_ways(flow).items():
        rest = iter(passed.get(what, ()))
        if not all(value in rest for value in values):
            yield f"{what}: recorded {values}, passed {passed.get(what)}"


def _recorded_ways(flow: Tree) -> dict[str, list[str]]:
    passed: dict[str, list[str]] = {}
    for step in flow["steps"]:
        for change in (change for write in step["status_changes"] for change in write["changes"]):
            if change["path"] == ".conditions":
                passed |= {type_: [condition["status"]] for type_, condition in change["to"].items()}
            elif found := _CONDITION.fullmatch(change["path"]):
                passed[found[1]].append(change["to"])
            elif change["path"] == f".{_STATE}":
                passed.setdefault(_STATE, []).append(change["to"])
    return passed


def _own_ways(lived: Lived, beginning: list[str]) -> dict[str, list[str]]:
    passed: dict[str, list[str]] = {}
    for write in (write for step in lived.steps for write in step):
        if write.use.subresource != "status" or not write.is_done:
            continue
        status = write.answer["status"]
        told = {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}
        for what, value in (told | ({_STATE: status[_STATE]} if _STATE in status else {})).items():
            values = passed.setdefault(what, list(beginning))
            if values[-1:] != [value]:
                values.append(value)
    return passed


def _judge_reasons(flow: Tree, lived: Lived) -> Iterator[str]:
    recorded = {event["reason"] for step in flow["steps"] for event in step["events"]}
    told = {event["reason"] for event in lived.events}
    if recorded != told:
        yield f"reasons: not told {sorted(recorded - told)}, told beyond {sorted(told - recorded)}"


def _judge_end(flow: Tree, lived: Lived) -> Iterator[str]:
    is_deleted = flow["steps"][-1]["do"][0] == "delete"
    if is_deleted != (lived.last_cluster is None):
        yield "the cluster is still there" if is_deleted else "the cluster is gone"
    elif lived.last_cluster is not None:
        recorded, status = flow["final_status"][0]["status"], lived.last_cluster["status"]
        times = {state: time for state, time in status[_TIMES].items() if state in recorded[_TIMES]}
        yield from judge_status(recorded, status | {_TIMES: times})
