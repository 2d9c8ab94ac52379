"""The judges of the goldens find what differs, and only that."""

from typing import Any

import pytest

from conformance.operator.flows import Lived, judge_life
from conformance.operator.judging import judge_events, judge_status, judge_statuses, mask_namespace
from conformance.operator.recognition import HASH, VERSION, list_unrecognisable
from conformance.operator.take_over import list_intrusions, unmask
from conformance.operator.write_log import Write
from heliostat.api.settings import Settings
from heliostat.operator.used_rights import Use

Tree = dict[str, Any]


def status(**fields: Any) -> Tree:
    condition = {"type": "HeadPodReady", "status": "True", "reason": "HeadPodRunningAndReady", "message": ""}
    head = {"podName": "a-head-x7k2p", "podIP": "10.0.0.1", "serviceIP": "10.0.0.1", "serviceName": "a-head-svc"}
    sound = {"conditions": [condition], "desiredCPU": "1", "head": head, "state": "ready", "readyWorkerReplicas": 2}
    return {key: value for key, value in (sound | fields).items() if value is not None}


HEAD_NOT_READY = [{"type": "HeadPodReady", "status": "False", "reason": "Unknown", "message": ""}]


@pytest.mark.parametrize(
    ("recorded", "ours", "differing"),
    [
        (status(), status(head=status()["head"] | {"podName": "a-head-zzzzz", "podIP": "10.9.9.9"}), []),
        (status(endpoints={"client": "30001"}), status(endpoints={"client": "31234"}), []),
        (status(endpoints={"client": "10001"}), status(endpoints={"client": "10002"}), ["endpoints"]),
        (status(), status(desiredCPU="2"), ["desiredCPU"]),
        (status(), status(readyWorkerReplicas=3), ["readyWorkerReplicas"]),
        (status(), status(conditions=HEAD_NOT_READY), ["HeadPodReady"]),
        (status(), status(state="suspended"), ["state"]),
        (status(state=None, readyWorkerReplicas=1), status(), []),
        (status(state=None, readyWorkerReplicas=2), status(readyWorkerReplicas=1), ["readyWorkerReplicas"]),
        (status(state=None), status(state=None, conditions=HEAD_NOT_READY), ["HeadPodReady"]),
        (status(state=None), status(desiredCPU="2"), ["desiredCPU"]),
    ],
)
def test_a_status_is_equal_or_further_than_an_unfinished_one(recorded: Tree, ours: Tree, differing: list[str]) -> None:
    found = judge_status(recorded, ours)
    assert [line.removeprefix("status.").split(":")[0] for line in found] == differing


def test_a_generation_that_was_not_seen_is_told() -> None:
    cluster = {"metadata": {"generation": 2}, "status": status(observedGeneration=1)}
    recorded = [{"resource": "rayclusters", "status": status()}]
    (line,) = judge_statuses(recorded, [cluster], has_addresses=True)
    assert line == "observedGeneration is 1, the generation 2"


def recorded_event(reason: str, message: str, kind: str = "Normal") -> Tree:
    return {"type": kind, "reason": reason, "message": message, "object": "RayCluster"}


def told_event(reason: str, note: str, kind: str = "Normal") -> Tree:
    return {"type": kind, "reason": reason, "note": note}


@pytest.mark.parametrize(
    ("told", "count"),
    [
        ([told_event("CreatedHeadPod", "Created head Pod NAMESPACE/a-head-qqqqq")], 0),
        ([told_event("CreatedHeadPod", "Created head Pod NAMESPACE/b-head-qqqqq")], 1),
        ([told_event("CreatedHeadPod", "Created head Pod NAMESPACE/a-head-qqqqq", "Warning")], 2),
        ([], 1),
        ([told_event("CreatedHeadPod", "Created head Pod NAMESPACE/a-head-qqqqq"), told_event("Other", "")], 1),
    ],
)
def test_events_are_the_same_in_reason_type_and_words(told: list[Tree], count: int) -> None:
    recorded = [recorded_event("CreatedHeadPod", "Created head Pod NAMESPACE/a-head-x7k2p")]
    assert len(judge_events(recorded, told)) == count


def test_a_namespace_is_masked_where_it_stands_alone() -> None:
    trees = [{"a": "fuzz-c1", "b": "svc.fuzz-c1.svc", "c": "fuzz-c10", "d": "x-fuzz-c1", "e": "fuzz-c1/name"}]
    masked = {"a": "NAMESPACE", "b": "svc.NAMESPACE.svc", "c": "fuzz-c10", "d": "x-fuzz-c1", "e": "NAMESPACE/name"}
    assert mask_namespace(trees, "fuzz-c1") == [masked]


def write(verb: str, resource: str, tree: Any, subresource: str = "", name: str = "a") -> Write:
    return Write(Use(verb, "", resource, subresource), "ns", name, tree, 200, {"status": {}})


def stamp(**annotations: str) -> Tree:
    return {"metadata": {"uid": "1", "resourceVersion": "2", "annotations": annotations}}


@pytest.mark.parametrize(
    ("made", "is_intrusion"),
    [
        (write("patch", "pods", stamp(**{VERSION: "a", HASH: "b"})), False),
        (write("patch", "pods", stamp(other="x")), True),
        (write("patch", "pods", {"metadata": {"labels": {"a": "b"}}}), True),
        (write("patch", "pods", stamp(**{VERSION: "a"}) | {"spec": {}}), True),
        (write("patch", "services", stamp(**{VERSION: "a"})), True),
        (write("create", "pods", {"metadata": {"name": "a"}}), True),
        (write("delete", "pods", {"preconditions": {"uid": "1"}}), True),
        (write("patch", "rayclusters", [], "status"), True),
    ],
)
def test_only_stamps_on_pods_are_no_intrusion(made: Write, is_intrusion: bool) -> None:
    assert bool(list_intrusions([made])) == is_intrusion


def test_masks_are_filled_in_with_what_is_there_now() -> None:
    owner = {"name": "rc", "uid": "UID"}
    labels = {"ray.io/worker-group-replica-index": "2", "ray.io/worker-group-replica-name": "g-RAND5"}
    tree = {"metadata": {"namespace": "NAMESPACE", "labels": labels, "ownerReferences": [owner]}}
    filled = unmask(tree, "here", {"rc": "uid-1"})["metadata"]
    assert filled["namespace"] == "here"
    assert filled["ownerReferences"] == [{"name": "rc", "uid": "uid-1"}]
    assert filled["labels"]["ray.io/worker-group-replica-name"] == "g-00002"


def head_pod(**metadata: Any) -> Tree:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "rc", "uid": "1", "controller": True}
    keys = ("ray.io/group", "ray.io/identifier", "ray.io/is-ray-node")
    labels = dict.fromkeys(keys, "x") | {"ray.io/cluster": "rc", "ray.io/node-type": "head"}
    sound = {
        "name": "rc-head-x7k2p",
        "ownerReferences": [owner | {"blockOwnerDeletion": True}],
        "labels": labels,
        "annotations": {VERSION: Settings().operator_version, HASH: "h"},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": sound | metadata}


@pytest.mark.parametrize(
    ("pod", "is_found"),
    [
        (head_pod(), True),
        (head_pod(annotations={HASH: "h"}), False),
        (head_pod(annotations={VERSION: Settings().operator_version}), False),
        (head_pod(labels={"ray.io/cluster": "rc", "ray.io/node-type": "head"}), False),
        (head_pod(labels={}), False),
        (head_pod(ownerReferences=[{"name": "rc", "uid": "2"}]), False),
    ],
)
def test_what_kuberay_could_not_find_again_is_told(pod: Tree, is_found: bool) -> None:
    cluster = {"metadata": {"name": "rc", "uid": "1"}}
    assert (list_unrecognisable([cluster], [pod]) == []) == is_found


def flow(*writes: Tree, changes: tuple[Tree, ...] = (), reasons: tuple[str, ...] = ()) -> Tree:
    step = {
        "do": ["delete", "raycluster", "rc"],
        "writes": list(writes),
        "status_changes": [{"changes": list(changes)}],
        "events": [{"reason": reason} for reason in reasons],
    }
    return {"steps": [step], "final_status": []}


def create(resource: str, name: str, **metadata: Any) -> tuple[Tree, Write]:
    """As recorded, and as we do it."""
    found = {"name": name, "namespace": "NAMESPACE", "labels": {"ray.io/group": "g"}} | metadata
    kind = {"pods": "Pod", "services": "Service"}[resource]
    whole = {"apiVersion": "v1", "kind": kind, "metadata": found}
    recorded = {"verb": "create", "resource": resource, "name": name}
    own = write("create", resource, whole | {"metadata": found | {"namespace": "ns"}}, name="")
    return recorded | {"object": found if kind == "Pod" else whole}, own


def life(*writes: Write, reasons: tuple[str, ...] = (), last: Tree | None = None) -> Lived:
    pods = [{"metadata": {"name": f"rc-{group}-x", "labels": {"ray.io/group": group}}} for group in ("g", "headgroup")]
    return Lived([list(writes)], [pods], [{"reason": reason} for reason in reasons], last)


BOTH_GO = (write("delete", "pods", None, name="rc-g-x"), write("delete", "pods", None, name="rc-headgroup-x"))
ALL_GO = {"verb": "deletecollection", "resource": "pods", "name": None, "times": 2}
SERVICE, OUR_SERVICE = create("services", "rc-head-svc")
POD, OUR_POD = create("pods", "rc-g-worker-")
_, OTHER_SERVICE = create("services", "rc-head-svc", annotations={"a": "b"})
_, OTHER_POD = create("pods", "rc-g-worker-", labels={"ray.io/group": "g", "a": "b"})
PLEDGED = {"metadata": {"finalizers": ["f"]}}
PLEDGE = {"verb": "update", "resource": "rayclusters", "name": "rc", "changes": PLEDGED}
RELEASE = {"verb": "update", "resource": "rayclusters", "name": "rc"} | {
    "changes": [{"path": ".metadata.finalizers", "to": None}, {"path": ".metadata.deletionTimestamp", "to": "TIME"}]
}
READY = {"path": ".state", "to": "ready"}
SHOWN = {"path": ".conditions", "to": {"HeadPodReady": {"status": "False"}}}


def shown(value: str, state: str = "") -> Write:
    status = {"conditions": [{"type": "HeadPodReady", "status": value}]} | ({"state": state} if state else {})
    return Write(Use("patch", "", "rayclusters", "status"), "ns", "rc", [], 200, {"status": status})


@pytest.mark.parametrize(
    ("recorded", "lived", "count"),
    [
        (flow(ALL_GO), life(*BOTH_GO), 0),
        (flow(ALL_GO), life(BOTH_GO[0]), 1),
        (flow(), life(BOTH_GO[0]), 1),
        (flow(SERVICE, POD), life(OUR_SERVICE, OUR_POD), 0),
        (flow(SERVICE, POD), life(OUR_POD, OUR_SERVICE), 1),
        (flow(SERVICE, POD), life(OTHER_SERVICE, OUR_POD), 1),
        (flow(SERVICE, POD), life(OUR_SERVICE, OTHER_POD), 1),
        (flow(PLEDGE), life(write("patch", "rayclusters", PLEDGED, name="rc")), 0),
        (flow(PLEDGE), life(write("patch", "rayclusters", {"metadata": {"finalizers": ["g"]}}, name="rc")), 1),
        (flow(RELEASE), life(write("patch", "rayclusters", {"metadata": {"finalizers": None}}, name="rc")), 0),
        (flow(changes=(SHOWN,)), life(shown("False")), 0),
        (flow(changes=(SHOWN, READY)), life(shown("False", "ready"), shown("True", "ready")), 1),
        (flow(changes=(SHOWN,)), life(shown("False"), shown("True")), 0),
        (flow(reasons=("DeletedPod",)), life(reasons=("DeletedPod",)), 0),
        (flow(reasons=("DeletedPod",)), life(), 1),
        (flow(), life(reasons=("DeletedPod",)), 1),
        (flow(changes=(SHOWN,)), life(), 1),
        (flow(), life(last={"metadata": {"name": "rc", "uid": "1"}, "status": {}}), 1),
    ],
)
def test_a_life_that_goes_another_way_is_told(recorded: Tree, lived: Lived, count: int) -> None:
    assert len(judge_life(recorded, lived)) == count
