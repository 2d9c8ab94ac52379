"""A recorded life of a RayService, lived again with a scripted Serve, and matched as the goldens' README says.

The same objects are created, changed and deleted in each step, the same conditions and applications are passed through,
the same event reasons occur, and the final status is equal. Read with care: in some recordings the head's proxy was
never found healthy, so the scripted one is not either; and we note on a cluster since when it is unused.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, structs

from conformance.operator.administrator import EVENT
from conformance.operator.flows import load_flow
from conformance.operator.foreign_kinds import GATEWAY
from conformance.operator.judging import judge_status, mask_namespace
from conformance.operator.playing import Tree
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import goldens_folder, load_compare
from heliostat.api.validation.service import INCREMENTAL_UPGRADE
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_SERVICE
from heliostat.plan.rayservice.unused import UNUSED_SINCE
from heliostat.testing.scripted_ray import RECORDED

__all__ = ["judge_service_life", "list_service_flows", "live_service", "load_flow"]

_LABELLED = "UpdatedHeadPodServeLabel"
_SHARES = [["targetCapacity"], ["trafficRoutedPercent"]]
_SLOTS = ("activeServiceStatus", "pendingServiceStatus")
# KubeRay updates whole objects: what was meant is the cluster that is selected, or the groups.
_MEANT = ("metadata.annotations.ray.io/num-worker-groups", "spec.workerGroupSpecs", "spec.selector.ray.io/cluster",
          "metadata.finalizers")  # fmt: skip


_COUNTS = ("availableWorkerReplicas", "readyWorkerReplicas")


class LivedService(Struct, frozen=True):
    writes: list[list[Write]]  # step by step
    events: list[Tree]
    services: list[Tree]  # as they are in the end
    configured: list[Tree]  # what Serve was asked for, by cluster, in the end


def list_service_flows() -> list[str]:
    found = goldens_folder().glob("flows/rayservice-*.flow.json")
    return sorted(path.name.removesuffix(".flow.json") for path in found)


async def live_service(operated: Operated, flow: Tree, namespace: str) -> LivedService:
    await operated.world.make_namespace(namespace)
    ray = operated.world.ray
    assert ray is not None
    is_labelled = has_incremental_upgrade(flow) or _LABELLED in _recorded_reasons(flow)
    ray.script = structs.replace(RECORDED, are_proxies_healthy=is_labelled)
    steps: list[list[Write]] = []
    try:
        for number, step in enumerate(flow["steps"]):
            await _do(operated, namespace, step["do"])
            if number + 1 == len(flow["steps"]):
                await operated.rest()
            await _catch_up(operated, namespace, flow, step)
            steps.append(operated.log.in_namespace(namespace))
            operated.log.forget(namespace)
    finally:
        ray.script = RECORDED
    events = await operated.admin.items(EVENT, namespace)
    services = await operated.admin.items(RAY_SERVICE, namespace)
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)
    return LivedService(steps, events, services, [])


def has_incremental_upgrade(flow: Tree) -> bool:
    """Then a head that takes no requests would never get any: ours moves requests only to who can answer."""
    strategy = flow["steps"][0]["do"][1]["spec"].get("upgradeStrategy") or {}
    return bool(strategy.get("type") == INCREMENTAL_UPGRADE)


def _recorded_reasons(flow: Tree) -> set[str]:
    return {event["reason"] for step in flow["steps"] for event in step["events"]}


async def _do(operated: Operated, namespace: str, deed: list[Any]) -> None:
    admin = operated.admin
    match deed:
        case ["create", tree]:
            await admin.create(RAY_SERVICE, tree | {"metadata": tree["metadata"] | {"namespace": namespace}})
        case ["patch", "rayservice", name, changes]:
            await admin.merge(RAY_SERVICE, namespace, name, changes)
        case ["delete", "rayservice", name]:
            await admin.delete(RAY_SERVICE, namespace, name)
        case ["deletepod", label]:
            key, _, value = label.partition("=")
            pods = await admin.items(POD, namespace)
            chosen = [pod for pod in pods if pod["metadata"]["labels"].get(key) == value]
            await admin.delete(POD, namespace, chosen[0]["metadata"]["name"])
        case _:
            raise ValueError(f"a flow does what is not known here: {deed}")


async def _catch_up(operated: Operated, namespace: str, flow: Tree, step: Tree) -> None:
    """Until all that was recorded has been made, deleted and passed through."""
    wanted = Counter((write["verb"], write["resource"]) for write in step["writes"] if write["verb"] != "update")
    ways = _without_outage(flow, _recorded_ways([step]))
    reasons = {event["reason"] for event in step["events"]}

    async def is_there() -> bool:
        writes = operated.log.in_namespace(namespace)
        made = Counter((write.use.verb, write.use.resource) for write in writes if write.is_done)
        passed = _own_ways([writes])
        told = {event["reason"] for event in await operated.admin.items(EVENT, namespace)}
        if wanted - made or reasons - told:
            return False
        return all(_is_passed(values, passed.get(what, [])) for what, values in ways.items())

    await operated.world.until(is_there)


def judge_service_life(flow: Tree, lived: LivedService) -> list[str]:
    return [
        *_judge_deeds(flow, lived),
        *_judge_objects(flow, lived),
        *_judge_ways(flow, lived),
        *_judge_reasons(flow, lived),
        *_judge_end(flow, lived),
    ]


def _judge_deeds(flow: Tree, lived: LivedService) -> Iterator[str]:
    names = _masks(lived)
    for number, (step, writes) in enumerate(zip(flow["steps"], lived.writes, strict=True)):
        wanted, got = Counter(_recorded_deeds(step)), Counter(_own_deeds(writes, names))
        if wanted != got:
            yield f"step {number}: not done {dict(wanted - got)}, done beyond {dict(got - wanted)}"


def _recorded_deeds(step: Tree) -> Iterator[str]:
    for write in step["writes"]:
        verb, resource = write["verb"], write["resource"]
        if resource == POD.plural or write.get("changes") == "none":
            continue  # Pods are the RayCluster's business, and are judged with it
        if verb == "update":
            paths = write["changes"]
            if isinstance(paths, list):
                changed = {change["path"].removeprefix(".").partition("[")[0] for change in paths}
            else:
                changed = set(_leaves(paths))
            yield f"change {resource} {write['name']} {sorted(changed.intersection(_MEANT))}"
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
        if use.verb != "patch":
            yield f"{use.verb} {use.resource} {name}"
            continue
        changed = set(_leaves(write.tree))
        if f"metadata.annotations.{UNUSED_SINCE}" not in changed:  # docs/differences.md: rayservice-unused-since
            yield f"change {use.resource} {name} {sorted(changed.intersection(_MEANT))}"


def _leaves(tree: Tree, path: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def _masks(lived: LivedService) -> dict[str, str]:
    """Our names, and what the recording calls them."""
    clusters = [
        write.tree["metadata"]["name"]
        for step in lived.writes
        for write in step
        if write.use.verb == "create" and write.use.resource == RAY_CLUSTER.plural and write.is_done
    ]
    return {name: f"{name.rpartition('-')[0]}-C{number}" for number, name in enumerate(clusters, 1)}


def _masked(tree: Any, lived: LivedService) -> Any:
    text = json.dumps(tree)
    for known, mask in _masks(lived).items():
        text = text.replace(known, mask)
    return json.loads(text)


def _judge_objects(flow: Tree, lived: LivedService) -> Iterator[str]:
    recorded = [write for step in flow["steps"] for write in step["writes"] if write["verb"] == "create"]
    ours = [write for step in lived.writes for write in step if write.use.verb == "create" and write.is_done]
    whole = [write["object"] for write in recorded if write["resource"] != POD.plural]
    own = [_as_stored(write) for write in ours if write.use.resource != POD.plural]
    namespace = ours[0].namespace if ours else "none"
    yield from load_compare().compare({"creates": whole}, mask_namespace(_masked(own, lived), namespace), subset=False)


def _as_stored(write: Write) -> Tree:
    """With what their definitions fill in, where that is more than the compared form knows."""
    tree: Tree = write.tree
    if write.use.group == GATEWAY.group:
        return {**tree, "spec": write.answer["spec"]}
    groups = tree["spec"].get("workerGroupSpecs") if write.use.resource == RAY_CLUSTER.plural else None
    if groups is None:
        return tree
    return {**tree, "spec": {**tree["spec"], "workerGroupSpecs": [{"replicas": 0, **group} for group in groups]}}


def _is_passed(recorded: list[str], passed: list[str]) -> bool:
    rest = iter(passed)
    return all(value in rest for value in recorded)


def _judge_ways(flow: Tree, lived: LivedService) -> Iterator[str]:
    recorded, passed = _recorded_ways(flow["steps"]), _own_ways(lived.writes)
    for what, values in _without_outage(flow, recorded).items():
        if not _is_passed(values, passed.get(what, [])):
            yield f"{what}: recorded {values}, passed {passed.get(what)}"
        beyond = set(passed.get(what, [])) - {*recorded[what], ""}
        if beyond:
            yield f"{what}: {sorted(beyond)} was never recorded"


def _without_outage(flow: Tree, ways: dict[str, list[str]]) -> dict[str, list[str]]:
    """docs/differences.md: rayservice-incremental-endpoint.

    How often applications deploy again is a matter of seconds there: when the next capacity is sent, those before may
    have been done or not. That they come to what they came to is asked for.
    """
    if not has_incremental_upgrade(flow):
        return ways
    ways = {what: [value for value in values if value != "ZeroServeEndpoints"] for what, values in ways.items()}
    return {what: values[-1:] if what in _SLOTS else values for what, values in ways.items()}


def _recorded_ways(steps: list[Tree]) -> dict[str, list[str]]:
    """The reasons of conditions, and the states of applications."""
    passed: dict[str, list[str]] = {}
    for change in (
        change
        for step in steps
        for write in step["status_changes"]
        if write["resource"] == RAY_SERVICE.plural
        for change in write["changes"]
    ):
        path = change["path"].removeprefix(".").split(".")
        if path == ["conditions"]:
            for type_, condition in change["to"].items():
                passed.setdefault(type_, []).append(condition["reason"])
        elif path[0] == "conditions" and len(path) == 2:
            if change["to"] is not None:
                passed.setdefault(path[1], []).append(change["to"]["reason"])
        elif path[0] == "conditions" and path[2] == "reason":
            passed.setdefault(path[1], []).append(change["to"])
        elif path[0] in _SLOTS and path[1:] in _SHARES and change["to"] is not None:
            passed.setdefault(f"{path[0]}.{path[1]}", []).append(str(change["to"]))
        elif path[0] in _SLOTS and path[1:] == ["applicationStatuses"] and change["to"]:
            passed.setdefault(path[0], []).extend(app["status"] for app in change["to"].values())
        elif path[0] in _SLOTS and path[1:2] == ["applicationStatuses"] and path[3:] == ["status"]:
            passed.setdefault(path[0], []).append(change["to"])
    return passed


def _own_ways(steps: list[list[Write]]) -> dict[str, list[str]]:
    passed: dict[str, list[str]] = {}
    for shown in (shown for step in steps for shown in _statuses(step)):
        told = {each["type"]: each["reason"] for each in shown.get("conditions") or ()}
        for slot in _SLOTS:
            states = [state["status"] for state in (shown[slot].get("applicationStatuses") or {}).values()]
            told[slot] = states[0] if states else ""
            told |= {f"{slot}.{share}": str(shown[slot].get(share, "")) for [share] in _SHARES}
        for what, value in told.items():
            values = passed.setdefault(what, [])
            if values[-1:] != [value]:
                values.append(value)
    return passed


def _statuses(writes: list[Write]) -> Iterator[Tree]:
    for write in writes:
        if write.use.resource == RAY_SERVICE.plural and write.use.subresource == "status" and write.is_done:
            yield write.answer["status"]


def _judge_reasons(flow: Tree, lived: LivedService) -> Iterator[str]:
    recorded = _recorded_reasons(flow) | ({_LABELLED} if has_incremental_upgrade(flow) else set())
    told = {e["reason"] for e in lived.events if e["regarding"]["kind"] in (RAY_SERVICE.kind, RAY_CLUSTER.kind)}
    if recorded != told:
        yield f"reasons: not told {sorted(recorded - told)}, told beyond {sorted(told - recorded)}"


def _judge_end(flow: Tree, lived: LivedService) -> Iterator[str]:
    is_deleted = flow["steps"][-1]["do"][0] == "delete"
    if is_deleted or not lived.services:
        if is_deleted != (not lived.services):
            yield "the RayService is still there" if is_deleted else "the RayService is gone"
        return
    (recorded,) = [entry["status"] for entry in flow["final_status"] if entry["resource"] == RAY_SERVICE.plural]
    if has_incremental_upgrade(flow):
        recorded = _as_serving(recorded)
    yield from judge_service_status(recorded, _masked(lived.services[0]["status"], lived))


def _as_serving(status: Tree) -> Tree:
    """A recording ends while its last cluster has no endpoint yet; ours would not have moved requests there."""
    ready = {
        "status": "True",
        "reason": "NonZeroServeEndpoints",
        "message": "Number of serve endpoints is greater than 0",
    }
    conditions = status["conditions"] | {"Ready": ready}
    return status | {"conditions": conditions, "serviceStatus": "Running", "numServeEndpoints": 1}


def judge_service_status(recorded: Tree, ours: Tree) -> Iterator[str]:
    theirs, own = _plain(recorded), _plain(ours)
    for key in sorted(theirs.keys() | own.keys()):
        if theirs.get(key) != own.get(key):
            yield f"status.{key}: recorded {theirs.get(key)}, got {own.get(key)}"
    for slot in _SLOTS:
        # It is told with whatever else changes: how many workers there were by then depends on how quick the nodes are.
        counts = {key: value for key, value in recorded[slot]["rayClusterStatus"].items() if key in _COUNTS}
        yield from judge_status(
            recorded[slot]["rayClusterStatus"],
            {key: value for key, value in ours[slot]["rayClusterStatus"].items() if key not in _COUNTS} | counts,
        )


def _plain(status: Tree) -> Tree:
    plain = {key: value for key, value in status.items() if key != "lastUpdateTime"}
    for slot in _SLOTS:
        plain[slot] = {key: value for key, value in status[slot].items() if key != "rayClusterStatus"}
        if "lastTrafficMigratedTime" in plain[slot]:
            plain[slot]["lastTrafficMigratedTime"] = "TIME"
    conditions = status.get("conditions") or {}
    if isinstance(conditions, list):
        told = ("status", "reason", "message")
        conditions = {each["type"]: {key: each[key] for key in told} for each in conditions}
    text = json.dumps(plain | {"conditions": conditions})
    masked: Tree = json.loads(re.sub(r"Time spent initializing: [0-9.]+s", "Time spent", text))
    return masked
