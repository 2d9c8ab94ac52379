"""Plans against recorded KubeRay: what is created, told and reported on the way to rest, and whole lives (flows).

Every RayCluster case of the goldens is planned and carried out from an empty world until a plan is empty. What was
created must be equal by the goldens' own compare.py; the same event reasons occur; a cluster that became ready shows
the same status. Differences that are meant are named here.
"""

import json
import re
from collections import Counter
from typing import Any

import pytest

from golden_cases import GoldenCase, absence, cases, goldens_folder, load_compare
from heliostat.api.documents import Accepted, Refused, accept, is_ray_document
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.plan import Plan
from heliostat.plan.render import place
from heliostat.plan.table import describe_random
from plan import worlds
from plan.worlds import Tree, World, apply_plan, creates, deletes, plan_world, run, settle

pytestmark = pytest.mark.skipif(absence() is not None, reason=absence() or "")

# KubeRay tells the deletion of a suspended group's Pods in every pass, also when the group has none; and its cache
# once made it create an issuer twice.
NOT_TOLD = {"DeletedWorkerPod", "MTLSFailedToReconcile"}


OTHER_KINDS = re.compile(r"fuzz/.[js]|scheduler-.*/r[js]")  # told by the case's name


def clusters_of(case: GoldenCase) -> list[Tree]:
    """The case's documents, if all of them are RayClusters that the API server takes in."""
    if OTHER_KINDS.match(str(case)):
        return []
    documents = [document.tree for document in read_documents(case.input.read_bytes(), case.input.name)]
    ray = [tree for tree in documents if is_ray_document(tree)]
    if any(tree.get("kind") != "RayCluster" for tree in ray):
        return []
    answers = [accept(place(tree, worlds.NAMESPACE, worlds.NOW)) for tree in ray]
    return [] if any(isinstance(answer, Refused) for answer in answers) else [stored(answer) for answer in answers]


def stored(answer: Accepted | Refused) -> Tree:
    assert isinstance(answer, Accepted)
    metadata = {"generation": 1, "resourceVersion": "1", **answer.tree["metadata"]}
    return answer.tree | {"metadata": metadata}


CASES = [case for case in cases() if clusters_of(case)]


def reasons_told(plan: Plan) -> set[str]:
    reports = [getattr(action, "report", None) for action in plan.actions()]
    return {event.reason for event in plan.events} | {
        report.success.reason for report in reports if report is not None and report.success is not None
    }


def test_all_recorded_rayclusters_are_planned() -> None:
    assert len(CASES) == 285


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_way_to_rest_creates_and_tells_what_kuberay_did(case: GoldenCase) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    created: list[Tree] = []
    told: set[str] = set()
    statuses: list[Tree] = []
    for tree in clusters_of(case):
        world, plans = run(World(tree).add(account), case.settings, rounds=30)
        for plan in (*plans, plan_world(world, case.settings)):
            created += [describe_random(action.object) for action in creates(plan)]
            told |= reasons_told(plan)
        statuses.append(world.cluster.get("status") or {})
    masked = json.loads(json.dumps(created).replace(f'"{worlds.NAMESPACE}"', '"NAMESPACE"'))
    masked = json.loads(json.dumps(masked).replace(f".{worlds.NAMESPACE}.svc", ".NAMESPACE.svc"))
    assert load_compare().compare({"creates": case.expected["creates"]}, masked, subset=False) == []
    recorded = {event["reason"] for event in case.expected["events"]}
    assert told <= recorded
    assert recorded - told <= NOT_TOLD
    last = [entry["status"] for entry in case.expected["last_status"] if entry["resource"] == "rayclusters"]
    if len(statuses) == 1 and last and "state" in last[-1]:
        assert essence(statuses[0]) == essence(last[-1])


def essence(status: Tree) -> Tree:
    """Without times and addresses (a simulated host network had none); node ports are drawn by the API server."""
    conditions = status.get("conditions") or []
    if isinstance(conditions, list):
        conditions = {condition["type"]: condition for condition in conditions}
    seen = {
        type_: {key: condition.get(key, "") for key in ("status", "reason", "message")}
        for type_, condition in conditions.items()
    }
    endpoints = {name: port if int(port) < 30000 else "" for name, port in (status.get("endpoints") or {}).items()}
    dropped = ("lastUpdateTime", "stateTransitionTimes", "head", "observedGeneration", "endpoints", "conditions")
    rest = {key: value for key, value in status.items() if key not in dropped}
    return rest | {
        "conditions": seen,
        "head": sorted((status.get("head") or {}).keys() - {"podIP", "serviceIP"}),
        "endpoints": sorted(endpoints) if "" in endpoints.values() else endpoints,
    }


FLOWS = (
    "raycluster-scale-and-suspend",
    "raycluster-recreate-upgrade",
    "raycluster-redis-ft-delete",
    "raycluster-multi-host",
)


class Life:
    """A world that lives through the steps of a flow, and what was seen on the way."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.creates: Counter[str] = Counter()
        self.deletes: Counter[str] = Counter()
        self.told: set[str] = set()
        self.passed: dict[str, list[str]] = {}

    def do(self, verb: str, *arguments: Any) -> None:
        if verb == "create":
            self.world = World(stored(accept(place(arguments[0], worlds.NAMESPACE, worlds.NOW))))
        assert self.world is not None
        if verb == "patch":
            self.world = self.world.edit_spec(**arguments[2]["spec"])
        elif verb == "delete":
            self.world = self.world.edit_metadata(deletionTimestamp="2027-01-15T08:00:00Z")
        elif verb == "deletepod":
            key, _equals, value = arguments[0].partition("=")
            pods = [pod for pod in self.world.pods() if pod["metadata"]["labels"].get(key) == value]
            lost = pods[0]["metadata"]["uid"]
            self.world = self.world.edit_objects(lambda tree: None if tree["metadata"]["uid"] == lost else tree)

    def live_on(self) -> None:
        """Every pass sees what the last one wrote before nodes do anything about it."""
        for _ in range(20):
            assert self.world is not None
            before = self.world
            while not (plan := plan_world(self.world)).is_empty:
                self.note(plan)
                self.world = apply_plan(self.world, plan, grace=True)
                self.note_conditions()
            self.world = finish_jobs(settle(self.world))
            if self.world == before:
                return
        raise AssertionError("the flow does not come to rest")

    def note(self, plan: Plan) -> None:
        assert self.world is not None
        self.creates.update(kind_and_role(action.object) for action in creates(plan))
        by_uid = {tree["metadata"]["uid"]: tree for tree in self.world.objects}
        self.deletes.update(kind_and_role(by_uid[action.uid]) for action in deletes(plan))
        self.told |= reasons_told(plan)

    def note_conditions(self) -> None:
        assert self.world is not None
        for type_, status in self.world.conditions().items():
            statuses = self.passed.setdefault(type_, [])
            if statuses[-1:] != [status]:
                statuses.append(status)


def finish_jobs(world: World) -> World:
    complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    return world.edit_objects(lambda tree: merge_patch(tree, complete) if tree["kind"] == "Job" else tree)


def kind_and_role(tree: Tree) -> str:
    return role(f"{tree['kind'].lower()}s", tree["metadata"]["name"], tree["metadata"].get("labels") or {})


def role(resource: str, name: str, labels: dict[str, str]) -> str:
    return f"{resource} {labels['ray.io/group'] if resource == 'pods' else name}"


def recorded_creates(flow: Tree) -> Counter[str]:
    writes = [write for step in flow["steps"] for write in step["writes"] if write["verb"] == "create"]
    return Counter(
        role(write["resource"], write["name"], write["object"].get("labels", {}))
        for write in writes
        for _ in range(write.get("times", 1))
    )


def recorded_conditions(flow: Tree) -> dict[str, list[str]]:
    passed: dict[str, list[str]] = {}
    for step in flow["steps"]:
        for change in (change for write in step["status_changes"] for change in write["changes"]):
            if change["path"] == ".conditions":
                passed |= {type_: [condition["status"]] for type_, condition in change["to"].items()}
            elif match := re.fullmatch(r"\.conditions\.(\w+)\.status", change["path"]):
                passed[match[1]].append(change["to"])
    return passed


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    """Pods were slower in the recording: a step may have begun before they were ready."""
    rest = iter(whole)
    return all(item in rest for item in part)


@pytest.mark.parametrize("name", FLOWS)
def test_a_whole_life_passes_through_what_kuberays_did(name: str) -> None:
    flow = json.loads((goldens_folder() / "flows" / f"{name}.flow.json").read_text())
    life = Life()
    for step in flow["steps"]:
        life.do(*step["do"])
        life.live_on()
    assert life.creates == recorded_creates(flow)
    assert life.told == {event["reason"] for step in flow["steps"] for event in step["events"]}
    recorded = flow["final_status"][0]["status"]
    assert life.world is not None
    if "state" in recorded:  # the recording of the deletion ended before any Pod was ready
        for type_, statuses in recorded_conditions(flow).items():
            assert is_subsequence(statuses, life.passed[type_]), type_
        assert essence(life.world.cluster["status"]) == essence(recorded)


def test_scaling_and_suspending_deletes_as_many_pods_as_kuberay_did() -> None:
    flow = json.loads((goldens_folder() / "flows" / "raycluster-scale-and-suspend.flow.json").read_text())
    life = Life()
    for step in flow["steps"]:
        life.do(*step["do"])
        life.live_on()
    assert life.deletes == {"pods headgroup": 1, "pods g": 3 + 1}
