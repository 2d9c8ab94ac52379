"""A world of Kubernetes objects for planner tests: plans are made from it and carried out on it, in memory.

Plans are carried out by ``heliostat.plan.imagined``, as ``render`` does it. Nothing here decides anything.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct, structs

from heliostat.api.documents import Accepted, accept
from heliostat.api.settings import Settings, default_gates
from heliostat.kube.facts import UNKNOWN
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.kube.lookups import ListedObjects, Objects
from heliostat.kube.plan import Create, Delete, Patch, Plan, Ref
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.imagined import ImaginedWorld
from heliostat.plan.kind import Kind
from heliostat.plan.own_conditions import OWN_CONDITIONS
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from heliostat.plan.raycluster.observed import ObservedCluster, observe_objects
from heliostat.plan.raycluster.situation import Remembered
from heliostat.plan.situation import Viewed

O = TypeVar("O", bound=Viewed)  # noqa: E741
D = TypeVar("D")
R = TypeVar("R")

Tree = dict[str, Any]

NOW = 1_800_000_000.0
UID = "11111111-2222-3333-4444-555555555555"
NAMESPACE, NAME = "ns", "demo"


def plan_by_row(kind: Kind[O, D, R], observed: O, wanted: Any, remembered: R, settings: Settings, now: float) -> Plan:
    """As the operator goes about it, for every kind: by its row of the table.

    A law of every plan: it requeues its object later, or not at all; 0 would be a hot loop.
    """
    meaning = kind.understand(wanted, kind.find_problems(wanted, settings), settings)
    situation = kind.situate(observed, meaning, remembered, settings, now)
    plan = kind.decide(situation)
    assert plan.wake_after is None or plan.wake_after > 0, plan.wake_after
    return plan


def with_gates(**on: bool) -> Settings:
    return Settings(gates=default_gates() | on)


def pod_template(name: str, **spec: Any) -> Tree:
    resources = {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    return {"spec": {"containers": [{"name": name, "image": "ray:2.52.0", "resources": resources}], **spec}}


def group(name: str = "g", replicas: int | None = 1, **fields: Any) -> Tree:
    sound = {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 100,
        "rayStartParams": {},
        "template": pod_template("ray-worker"),
    }
    return {key: value for key, value in (sound | fields).items() if value is not None}


def cluster_tree(*groups: Tree, metadata: Tree | None = None, status: Tree | None = None, **spec: Any) -> Tree:
    """A sound RayCluster as an API server would hold it, with these worker groups (one of one Pod without any)."""
    tree: Tree = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "uid": UID,
            "generation": 1,
            "resourceVersion": "100",
            "creationTimestamp": format_timestamp(NOW - 3600),
            **(metadata or {}),
        },
        "spec": {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": pod_template("ray-head")},
            "workerGroupSpecs": list(groups) if groups else [group()],
            **spec,
        },
    }
    answer = accept(tree)
    assert isinstance(answer, Accepted), answer
    return answer.tree | ({"status": status} if status is not None else {})


class World(Struct, frozen=True):
    """``objects`` is everything but the RayCluster. ``version`` is the last resourceVersion given out."""

    cluster: Tree
    objects: tuple[Tree, ...] = ()
    version: int = 1000
    now: float = NOW

    def __repr__(self) -> str:
        """Short, because a failing law shows it."""
        names = [f"{tree['kind']}/{tree['metadata']['name']}" for tree in self.objects]
        return f"World(spec={self.cluster['spec']}, conditions={self.conditions()}, objects={names})"

    def pods(self, **labels: str) -> list[Tree]:
        wanted = {f"ray.io/{key.replace('_', '-')}": value for key, value in labels.items()}
        return [
            tree
            for tree in self.objects
            if tree["kind"] == "Pod" and wanted.items() <= (tree["metadata"].get("labels") or {}).items()
        ]

    def of_kind(self, kind: str) -> list[Tree]:
        return [tree for tree in self.objects if tree["kind"] == kind]

    def names(self, kind: str) -> list[str]:
        return sorted(tree["metadata"]["name"] for tree in self.of_kind(kind))

    def conditions(self) -> dict[str, str]:
        found = (self.cluster.get("status") or {}).get("conditions") or []
        return {condition["type"]: condition["status"] for condition in found}

    def edit_spec(self, **changes: Any) -> "World":
        """What a user does: another spec is another generation."""
        metadata = self.cluster["metadata"]
        bumped = {"generation": metadata["generation"] + 1, "resourceVersion": str(self.version + 1)}
        cluster = self.cluster | {
            "metadata": metadata | bumped,
            "spec": merge_patch(self.cluster["spec"], changes),
        }
        return structs.replace(self, cluster=cluster, version=self.version + 1)

    def touch_pods(self) -> "World":
        """Every Pod has changed in something that nobody decides by."""
        version = self.version + 1
        trees = [
            {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(version)}}
            if tree["kind"] == "Pod"
            else tree
            for tree in self.objects
        ]
        return structs.replace(self, objects=tuple(trees), version=version)

    def edit_group(self, index: int = 0, **changes: Any) -> "World":
        groups = copy_tree(self.cluster["spec"]["workerGroupSpecs"])
        groups[index] = merge_patch(groups[index], changes)
        return self.edit_spec(workerGroupSpecs=groups)

    def edit_metadata(self, **changes: Any) -> "World":
        metadata = merge_patch(self.cluster["metadata"], {**changes, "resourceVersion": str(self.version + 1)})
        return structs.replace(self, cluster=self.cluster | {"metadata": metadata}, version=self.version + 1)

    def edit_objects(self, change: Callable[[Tree], Tree | None]) -> "World":
        """``change`` gives the new object, the same one, or None to remove it."""
        version, kept = self.version, []
        for tree in self.objects:
            changed = change(copy_tree(tree))
            if changed == tree:
                kept.append(tree)
            elif changed is not None:
                version += 1
                kept.append(changed | {"metadata": changed["metadata"] | {"resourceVersion": str(version)}})
        return structs.replace(self, objects=tuple(kept), version=version)

    def edit_pod(self, name: str, patch: Tree) -> "World":
        return self.edit_objects(lambda tree: merge_patch(tree, patch) if tree["metadata"]["name"] == name else tree)

    def add(self, *trees: Tree) -> "World":
        world = self
        for tree in trees:
            world = _store(world, tree)
        return world

    def after(self, seconds: float) -> "World":
        return structs.replace(self, now=self.now + seconds)


def observe(world: World) -> ObservedCluster:
    return observe_objects(world.cluster, world.objects)


def unread(objects: Objects, *kinds: str) -> ListedObjects:
    """As if these kinds had not been read."""
    assert isinstance(objects, ListedObjects)
    return ListedObjects(objects.kinds | dict.fromkeys(kinds, UNKNOWN))


def plan_world(world: World, settings: Settings | None = None, remembered: Remembered | None = None) -> Plan:
    """As the operator does it: look, judge, build, plan."""
    return plan_observed(observe(world), settings, remembered, world.now)


def plan_observed(
    observed: ObservedCluster, settings: Settings | None = None, remembered: Remembered | None = None, now: float = NOW
) -> Plan:
    return plan_by_row(RAY_CLUSTER, observed, observed.cluster, remembered or Remembered(), settings or Settings(), now)


def apply_plan(world: World, plan: Plan, *, grace: bool = False) -> World:
    """Every action in order. With ``grace`` a deleted Pod stays, terminating; otherwise it is gone at once."""
    return _seen(world, _imagine(world).carry_out(plan, grace=grace))


def settle(world: World) -> World:
    """Nodes and cert-manager have done their work: Pods run, what terminates is gone, certificates are issued."""
    return _seen(world, _imagine(world).settle())


def _imagine(world: World) -> ImaginedWorld:
    return ImaginedWorld(version=world.version, now=world.now).hold(world.cluster, *world.objects)


def _seen(before: World, world: ImaginedWorld) -> World:
    metadata = before.cluster["metadata"]
    cluster = world.find(Ref("ray.io/v1", "RayCluster", metadata["namespace"], metadata["name"]))
    others = tuple(tree for tree in world.trees() if tree is not cluster)
    if cluster is None:  # gone with its last finalizer: as it was, without them
        cluster = before.cluster | {"metadata": {key: metadata[key] for key in metadata if key != "finalizers"}}
    return structs.replace(before, cluster=cluster, objects=others, version=world.version)


def _store(world: World, tree: Tree) -> World:
    placed = {**tree, "metadata": {"namespace": NAMESPACE, **tree["metadata"]}}
    return _seen(world, _imagine(world).create(placed))


def run(
    world: World, settings: Settings | None = None, remembered: Remembered | None = None, *, rounds: int = 12
) -> tuple[World, list[Plan]]:
    """Plan, apply and settle until a plan is empty. The plans that wrote something, in order."""
    plans: list[Plan] = []
    for _ in range(rounds):
        plan = plan_world(world, settings, remembered)
        if plan.is_empty:
            return world, plans
        plans.append(plan)
        world = settle(apply_plan(world, plan))
    raise AssertionError(f"not stable after {rounds} rounds: {[list(plan.actions()) for plan in plans[-2:]]}")


def stable(tree: Tree, settings: Settings | None = None) -> World:
    """The world that has come of this RayCluster."""
    return run(World(tree), settings)[0]


def is_quiet(plan: Plan, world: World) -> bool:
    """Whether nothing is written, or nothing but conditions of our own, which say why."""
    shown = world.cluster.get("status") or {}
    due = plan.status.status if plan.status is not None else shown
    return not plan.stages and _without_own(due) == _without_own(shown)


def _without_own(status: Tree) -> Tree:
    others = [one for one in status.get("conditions") or () if one["type"] not in OWN_CONDITIONS]
    told = {key: value for key, value in status.items() if key not in ("lastUpdateTime", "observedGeneration")}
    return {**told, "conditions": others}


def own_conditions(plan: Plan) -> dict[str, str]:
    """What the plan tells in conditions of our own: their reasons, by type."""
    shown = plan.status.status["conditions"] if plan.status is not None else []
    return {one["type"]: one["reason"] for one in shown if one["type"] in OWN_CONDITIONS}


def deletes(plan: Plan) -> list[Delete]:
    return [action for action in plan.actions() if isinstance(action, Delete)]


def creates(plan: Plan) -> list[Create]:
    return [action for action in plan.actions() if isinstance(action, Create)]


def patches(plan: Plan) -> list[Patch]:
    return [action for action in plan.actions() if isinstance(action, Patch)]


def created_pods(plan: Plan) -> list[Tree]:
    return [action.object for action in creates(plan) if action.object["kind"] == "Pod"]


def wait_reasons(plan: Plan) -> list[str]:
    return [str(wait.reason) for wait in plan.waits]


def event_reasons(plan: Plan) -> list[str]:
    return [event.reason for event in plan.events]


def told(plan: Plan) -> list[str]:
    """The notes of every event, should all actions succeed."""
    reports = [getattr(action, "report", None) for action in plan.actions()]
    successes = [report.success for report in reports if report is not None and report.success is not None]
    return [event.note for event in (*plan.events, *successes)]


def reporters(plan: Plan, *stages: str) -> set[str]:
    """In whose name is told what the writes of these stages come to."""
    reports = [action.report for stage in plan.stages if stage.name in stages for action in stage.actions]  # type: ignore[union-attr]
    events = (event for report in reports for event in (report.success, report.failure))
    return {event.reporter for event in events if event is not None}


def owned(tree: Tree, uid: str = UID) -> Tree:
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": NAME,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return tree | {"metadata": tree["metadata"] | {"ownerReferences": [owner]}}


def names_of(actions: Iterable[Delete]) -> set[str]:
    return {action.ref.name for action in actions}
