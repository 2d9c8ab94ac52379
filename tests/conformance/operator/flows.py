"""A recorded life, lived again: each step is done to the world, and the operator's doings until the next are kept.

A flow is matched as the goldens' README says: the same objects are created, changed and deleted step by step in the
same order, the same conditions and states are passed through, the same event reasons occur, and the final status is
equal. Three things are read with care: a deletion of all Pods at once counts as one of each that was there; a step of
the recording may have begun before the last one was over, so what is passed through is compared over the whole life,
and we may pass through it more often; fewer repetitions are no difference. Beyond that, KubeRay has to find again what
is there in the end.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.judging import judge_status, mask_namespace
from conformance.operator.playing import Tree
from conformance.operator.recognition import list_unrecognisable
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import goldens_folder, load_compare
from heliostat.desired import labels
from heliostat.kube.lookups import SERVICE
from heliostat.operator.kinds import POD, RAY_CLUSTER, RESOURCES

_CONDITION = re.compile(r"\.conditions\.(\w+)\.status")
_STATE = "state"
_TIMES = "stateTransitionTimes"
_DRAWN_LABEL = "ray.io/worker-group-replica-name"
_ROUTINE = ("uid", "resourceVersion", "deletionGracePeriodSeconds", "deletionTimestamp")  # nobody's wish
# KubeRay writes the state only together with other changes; ours follows the condition.
_PASSED_BEYOND = {(_STATE, "suspended")}
# Of a life whose recording was over before anything was ready.
_FURTHER = {(_STATE, "ready"), ("HeadPodReady", "True"), ("RayClusterProvisioned", "True")}


class Lived(Struct, frozen=True):
    """``steps`` are the operator's writes, step by step; ``pods`` what was there when each step began.

    ``left`` are the Pods and Services that are there in the end.
    """

    steps: list[list[Write]]
    pods: list[list[Tree]]
    events: list[Tree]
    last_cluster: Tree | None
    left: list[Tree] = []


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
    left = [
        tree | {"apiVersion": kind.api_version, "kind": kind.kind}
        for kind in (POD, RESOURCES[SERVICE])
        for tree in await operated.admin.items(kind, namespace)
    ]
    await operated.world.remove_namespace(namespace)
    told = [event for event in events if event["regarding"]["kind"] == RAY_CLUSTER.kind]
    return Lived(steps, pods, told, clusters[0] if clusters else None, left)


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
        *_judge_objects(flow, lived),
        *_judge_ways(flow, _own_ways(lived, beginning=["False"] if are_nodes_quick else [])),
        *_judge_reasons(flow, lived),
        *_judge_end(flow, lived),
        *list_unrecognisable([lived.last_cluster] if lived.last_cluster is not None else [], lived.left),
    ]


def _judge_steps(flow: Tree, lived: Lived) -> Iterator[str]:
    for number, (recorded, writes) in enumerate(zip(flow["steps"], lived.steps, strict=True)):
        pods = lived.pods[number]
        wanted, got = list(_recorded_deeds(recorded, pods)), list(_own_deeds(writes, pods))
        lacking, beyond = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
        if lacking or beyond:
            yield f"step {number}: not done {dict(lacking)}, done beyond {dict(beyond)}"
        elif _order(wanted) != _order(got):
            yield f"step {number}: done in the order {_order(got)}, recorded {_order(wanted)}"


def _order(deeds: Iterable[str]) -> list[str]:
    """What came first of each; among Pods that go together there is no order."""
    return list(dict.fromkeys("delete pods" if deed.startswith("delete pods") else deed for deed in deeds))


def _judge_objects(flow: Tree, lived: Lived) -> Iterator[str]:
    """Recorded are Services and Jobs as a whole, and of Pods the labels."""
    recorded = [write for step in flow["steps"] for write in step["writes"] if write["verb"] == "create"]
    ours = [write for step in lived.steps for write in step if write.use.verb == "create" and write.is_done]
    whole = [write["object"] for write in recorded if write["resource"] != POD.plural]
    own = [write.tree for write in ours if write.use.resource != POD.plural]
    yield from load_compare().compare({"creates": whole}, mask_namespace(own, _namespace(ours)), subset=False)
    wanted = Counter(_labels(write["object"]) for write in recorded if write["resource"] == POD.plural)
    got = Counter(_labels(write.tree["metadata"]) for write in ours if write.use.resource == POD.plural)
    if wanted != got:
        yield f"labels of Pods: recorded {sorted(wanted - got)}, got {sorted(got - wanted)}"


def _namespace(writes: Iterable[Write]) -> str:
    return next((write.namespace for write in writes), "none")


def _labels(metadata: Tree) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, value) for key, value in metadata["labels"].items() if key != _DRAWN_LABEL))


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
            yield f"change {write['resource']} {write['name']} {_told_changes(write['changes'])}"


def _told_changes(changes: Any) -> dict[str, Any]:
    """What was recorded as a tree or as paths, by path."""
    if isinstance(changes, list):
        changes = {change["path"].removeprefix("."): change["to"] for change in changes}
        return {path: value for path, value in changes.items() if path.rpartition(".")[2] not in _ROUTINE}
    return dict(_leaves(changes))


def _leaves(tree: Tree, path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{key}.")
        elif key not in _ROUTINE:
            yield f"{path}{key}", value


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
            yield f"change {resource} {write.name} {_told_changes(write.tree)}"


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
    recorded = _recorded_ways(flow)
    for what, values in recorded.items():
        rest = iter(passed.get(what, ()))
        if not all(value in rest for value in values):
            yield f"{what}: recorded {values}, passed {passed.get(what)}"
    told = {(what, value) for what, values in passed.items() for value in values}
    known = {(what, value) for what, values in recorded.items() for value in values} | _PASSED_BEYOND
    if _STATE not in recorded:
        known |= _FURTHER
    for what, value in sorted(told - known):
        yield f"{what}: {value} was never recorded"


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
            values = passed.setdefault(what, [] if what == _STATE else list(beginning))
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
        seen, generation = recorded["observedGeneration"], status.get("observedGeneration")
        if seen != generation:
            yield f"status.observedGeneration: recorded {seen}, got {generation}"
