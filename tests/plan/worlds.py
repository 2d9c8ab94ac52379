"""A world of Kubernetes objects for planner tests: plans are made from it and carried out on it, in memory.

``apply_plan`` does what an API server would: gives UIDs and versions, checks that deletes and patches name what is
there, and merges patches. ``settle`` does what nodes and cert-manager would: Pods run, certificates are issued, what is
deleted goes. Nothing here decides anything.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, structs

from heliostat.api.documents import Accepted, accept
from heliostat.api.settings import Settings, default_gates
from heliostat.api.validation import cluster_problems, refusal
from heliostat.desired.cluster import build_desired
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.kube.plan import Create, Delete, Patch, Plan, WriteStatus
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.cluster import plan_cluster
from heliostat.plan.observed import UNKNOWN, Facts, ListedObjects, Objects, ObservedCluster, observe_objects
from heliostat.plan.own_conditions import OWN_CONDITIONS

Tree = dict[str, Any]

NOW = 1_800_000_000.0
UID = "11111111-2222-3333-4444-555555555555"
NAMESPACE, NAME = "ns", "demo"


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


def plan_world(world: World, settings: Settings | None = None, facts: Facts | None = None) -> Plan:
    """As the operator does it: look, judge, build, plan."""
    return plan_observed(observe(world), settings, facts, world.now)


def plan_observed(
    observed: ObservedCluster, settings: Settings | None = None, facts: Facts | None = None, now: float = NOW
) -> Plan:
    settings = settings or Settings()
    cluster = observed.cluster
    problems = tuple(cluster_problems(cluster, settings))
    refused = refusal(problems)
    desired = build_desired(cluster, settings) if refused is None else None
    warnings = tuple(problem for problem in problems if problem.severity == "warning")
    return plan_cluster(observed, desired, settings, facts or Facts(), now, refusal=refused, warnings=warnings)


def apply_plan(world: World, plan: Plan, *, grace: bool = False) -> World:
    """Every action in order. With ``grace`` a deleted Pod stays, terminating; otherwise it is gone at once."""
    for action in plan.actions():
        match action:
            case Create():
                if _find(world, action.object) is None:
                    world = _store(world, action.object)
            case Delete():
                world = _delete(world, action, grace=grace)
            case Patch():
                world = _patch(world, action)
            case WriteStatus():
                world = _write_status(world, action)
            case _:
                raise AssertionError(action)
    return world


def _find(world: World, tree: Tree) -> Tree | None:
    key = _key(tree)
    return next((found for found in world.objects if _key(found) == key), None)


def _key(tree: Tree) -> tuple[str, str, str, str]:
    metadata = tree["metadata"]
    return tree["apiVersion"].split("/")[0], tree["kind"], metadata["namespace"], metadata["name"]


def _store(world: World, tree: Tree) -> World:
    version = world.version + 1
    tree = copy_tree(tree)
    given = {
        "namespace": NAMESPACE,
        "uid": f"uid-{version}",
        "generation": 1,
        "creationTimestamp": format_timestamp(world.now),
    }
    tree["metadata"] = {**given, **tree["metadata"], "resourceVersion": str(version)}
    if tree["kind"] == "Service":
        tree["spec"] = _default_service(tree["spec"], version)
    return structs.replace(world, objects=(*world.objects, tree), version=version)


def _default_service(spec: Tree, number: int) -> Tree:
    ports = [{"targetPort": port["port"], "protocol": "TCP", **port} for port in spec.get("ports", [])]
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        ports = [{"nodePort": 30000 + index, **port} for index, port in enumerate(ports)]
    return {"clusterIP": f"10.96.0.{number % 250}", "type": "ClusterIP", **spec, "ports": ports}


def _delete(world: World, action: Delete, *, grace: bool) -> World:
    assert action.uid in {tree["metadata"]["uid"] for tree in world.objects}, action

    def change(tree: Tree) -> Tree | None:
        if tree["metadata"]["uid"] != action.uid:
            return tree
        if not grace and not tree["metadata"].get("finalizers"):
            return None
        leaving: Tree = merge_patch(tree, {"metadata": {"deletionTimestamp": format_timestamp(world.now + 30)}})
        return leaving

    return world.edit_objects(change)


def _patch(world: World, action: Patch) -> World:
    if action.ref.kind == "RayCluster":
        assert action.resource_version == world.cluster["metadata"]["resourceVersion"]
        patched = merge_patch(world.cluster, action.changes)
        patched["metadata"]["resourceVersion"] = str(world.version + 1)
        return structs.replace(world, cluster=patched, version=world.version + 1)
    live = next(tree for tree in world.objects if tree["metadata"]["uid"] == action.uid)
    assert action.resource_version == live["metadata"]["resourceVersion"], action

    def change(tree: Tree) -> Tree | None:
        if tree["metadata"]["uid"] != action.uid:
            return tree
        patched: Tree = merge_patch(tree, action.changes)
        if "spec" in action.changes:
            patched["metadata"]["generation"] = tree["metadata"].get("generation", 1) + 1
        is_gone = patched["metadata"].get("deletionTimestamp") and not patched["metadata"].get("finalizers")
        return None if is_gone and tree["metadata"].get("finalizers") else patched

    return world.edit_objects(change)


def _write_status(world: World, action: WriteStatus) -> World:
    metadata = world.cluster["metadata"]
    assert (action.uid, action.resource_version) == (metadata["uid"], metadata["resourceVersion"])
    version = world.version + 1
    cluster = world.cluster | {"status": action.status, "metadata": metadata | {"resourceVersion": str(version)}}
    return structs.replace(world, cluster=cluster, version=version)


def settle(world: World) -> World:
    """Nodes and cert-manager have done their work: Pods run, what terminates is gone, certificates are issued."""
    world = world.edit_objects(lambda tree: None if tree["metadata"].get("deletionTimestamp") else _settle(tree))
    return _issue_secrets(world)


def _settle(tree: Tree) -> Tree:
    if tree["kind"] == "Pod" and not tree.get("status"):
        return tree | running(tree)
    if tree["kind"] == "Certificate":
        generation = tree["metadata"]["generation"]
        ready = {"type": "Ready", "status": "True", "observedGeneration": generation}
        return tree | {"status": {"conditions": [ready], "notAfter": format_timestamp(NOW + 90 * 86400)}}
    return tree


def running(tree: Tree) -> Tree:
    number = int(tree["metadata"]["uid"].removeprefix("uid-")) if tree["metadata"]["uid"].startswith("uid-") else 7
    ready = {"type": "Ready", "status": "True"}
    statuses = [{"name": each["name"], "ready": True, "state": {"running": {}}} for each in tree["spec"]["containers"]]
    return {
        "spec": tree["spec"] | {"nodeName": "node"},
        "status": {
            "phase": "Running",
            "podIP": f"10.0.{number // 250}.{number % 250}",
            "conditions": [ready],
            "containerStatuses": statuses,
        },
    }


def _issue_secrets(world: World) -> World:
    for certificate in world.of_kind("Certificate"):
        metadata = {"name": certificate["spec"]["secretName"], "namespace": NAMESPACE}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        if _find(world, secret) is None:
            world = _store(world, secret | {"data": dict.fromkeys(("tls.crt", "tls.key", "ca.crt"), "eA==")})
    return world


def run(
    world: World, settings: Settings | None = None, facts: Facts | None = None, *, rounds: int = 12
) -> tuple[World, list[Plan]]:
    """Plan, apply and settle until a plan is empty. The plans that wrote something, in order."""
    plans: list[Plan] = []
    for _ in range(rounds):
        plan = plan_world(world, settings, facts)
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
