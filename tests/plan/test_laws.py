"""What holds for every plan, whatever the cluster and the world it is in.

Worlds are grown, not invented: a generated RayCluster is brought to rest, then disturbed the way users, nodes,
autoscalers and strangers do it. Each law is checked on the plan of the disturbed world, or on the way to rest.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.kube.facts import UNKNOWN
from heliostat.kube.lookups import KINDS, kind_name
from heliostat.kube.owners import controller_of
from heliostat.kube.plan import Plan, Random
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.because import Because
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_health import why_unhealthy
from heliostat.plan.table import format_plan
from plan.worlds import (
    NAME,
    NAMESPACE,
    NOW,
    UID,
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    creates,
    deletes,
    group,
    is_quiet,
    observe,
    patches,
    plan_observed,
    plan_world,
    pod_template,
    run,
    settle,
    stable,
    unread,
)

pytestmark = pytest.mark.slow

ALL_GATES = ("RayClusterNetworkPolicy", "RayClusterMTLS", "GCSFaultToleranceEmbeddedStorage")
LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def groups(draw: st.DrawFn, name: str, *, may_suspend: bool) -> Tree:
    low = draw(st.integers(0, 2))
    fields: Tree = {
        "replicas": draw(st.integers(0, 4)),
        "minReplicas": low,
        "maxReplicas": low + draw(st.integers(0, 3)),
        "numOfHosts": draw(st.sampled_from([0, 1, 1, 2, 3])),
    }
    if may_suspend and draw(st.booleans()):
        fields["suspend"] = draw(st.booleans())
    return group(name, **fields)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    autoscaling = draw(st.booleans())
    count = draw(st.integers(0, 3))
    workers = [draw(groups(f"g{index}", may_suspend=not autoscaling)) for index in range(count)]
    spec: Tree = {"enableInTreeAutoscaling": autoscaling, "workerGroupSpecs": workers}
    features: dict[str, Any] = {
        "suspend": st.booleans(),
        "upgradeStrategy": st.sampled_from([{"type": "Recreate"}, {"type": "None"}]),
        "authOptions": st.just({"mode": "token"}),
        "networkPolicy": st.just({}),
        "tlsOptions": st.just({"enabled": True}),
        "gcsFaultToleranceOptions": st.sampled_from([{"redisAddress": "r:1"}, {"backend": "rocksdb"}]),
    }
    for field, values in features.items():
        if draw(st.integers(0, 3)) == 0:
            spec[field] = draw(values)
    tree = cluster_tree(metadata={"labels": {}}, **spec)
    tree["spec"]["headGroupSpec"]["enableIngress"] = draw(st.booleans())
    return tree


@st.composite
def operator_settings(draw: st.DrawFn) -> Settings:
    gates = Settings().gates | dict.fromkeys(ALL_GATES, True)
    gates["RayMultiHostIndexing"] = draw(st.sampled_from([True, True, False]))
    scheduler = draw(st.sampled_from(["", "", "volcano"]))
    return Settings(gates=gates, random_pod_delete=draw(st.booleans()), batch_scheduler=scheduler)


@st.composite
def pod_changes(draw: st.DrawFn) -> Tree | None:
    """What happens to a Pod; None: it is gone."""
    leaving = format_timestamp(NOW + draw(st.integers(-400, 100)))
    never = {"restartPolicy": "Never"}
    ended = [{"name": "ray-worker", "state": {"terminated": {"exitCode": 1}}}]
    return draw(
        st.sampled_from(
            [
                None,
                {"status": {"phase": "Failed"}},
                {"status": {"phase": "Pending", "conditions": None}},
                {"metadata": {"deletionTimestamp": leaving}},
                {"metadata": {"deletionTimestamp": leaving}, "status": {"phase": "Failed"}},
                {"spec": never, "status": {"containerStatuses": ended}},
                {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            ]
        )
    )


def stranger(kind: str, api_version: str, name: str, labels: Tree | None = None) -> Tree:
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"stranger-{kind}-{name}", "labels": labels or {}}
    body = {"spec": pod_template("x")["spec"], "status": {"phase": "Failed"}} if kind == "Pod" else {"spec": {}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | body


WORKER_LABELS = {"ray.io/cluster": NAME, "ray.io/group": "g0", "ray.io/node-type": "worker"}
STRANGERS = [
    stranger("Pod", "v1", "stranger", WORKER_LABELS),
    stranger("Pod", "v1", "second-head", {"ray.io/cluster": NAME, "ray.io/node-type": "head"}),
    stranger("Ingress", "networking.k8s.io/v1", "stranger", {"ray.io/cluster": NAME}),
    stranger("NetworkPolicy", "networking.k8s.io/v1", "stranger", {"ray.io/cluster": NAME}),
    stranger("Service", "v1", "stranger", {"ray.io/cluster": NAME}),
    stranger("Job", "batch/v1", "stranger", {"ray.io/cluster": NAME}),
]


@st.composite
def disturbed(draw: st.DrawFn) -> tuple[World, Settings]:
    """A world at rest, and then anything."""
    tree, options = draw(trees()), draw(operator_settings())
    world = stable(tree, options) if draw(st.booleans()) else World(tree)
    for pod in world.pods():
        if draw(st.integers(0, 2)) == 0:
            world = _change(world, pod["metadata"]["name"], draw(pod_changes()))
    world = world.add(*draw(st.lists(st.sampled_from(STRANGERS), unique_by=lambda tree: tree["metadata"]["uid"])))
    names = [*world.names("Pod"), "ghost", "stranger"]
    for index, _group in enumerate(tree["spec"]["workerGroupSpecs"]):
        if draw(st.booleans()):
            changes: Tree = {"replicas": draw(st.integers(0, 5))}
            if draw(st.booleans()):
                changes["scaleStrategy"] = {"workersToDelete": draw(st.lists(st.sampled_from(names), max_size=3))}
            world = world.edit_group(index, **changes)
    if draw(st.integers(0, 3)) == 0:
        world = world.edit_spec(suspend=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        world = world.edit_spec(rayVersion="2.53.0")
    if draw(st.integers(0, 7)) == 0:
        world = world.edit_metadata(deletionTimestamp=format_timestamp(NOW - draw(st.integers(0, 400))))
    return world, options


def _change(world: World, name: str, change: Tree | None) -> World:
    if change is None:
        return world.edit_objects(lambda tree: None if tree["metadata"]["name"] == name else tree)
    return world.edit_pod(name, change)


@given(disturbed(), st.randoms(use_true_random=False))
@LAW
def test_planning_is_deterministic_and_blind_to_the_order_of_objects(
    case: tuple[World, Settings], shuffler: Any
) -> None:
    world, options = case
    shuffled = list(world.objects)
    shuffler.shuffle(shuffled)
    again = World(world.cluster, tuple(shuffled), world.version, world.now)
    assert plan_world(world, options) == plan_world(world, options) == plan_world(again, options)


@given(disturbed())
@LAW
def test_applied_plans_come_to_rest_and_stay_there(case: tuple[World, Settings]) -> None:
    world, options = case
    rested, _plans = run(settle(world), options, rounds=20)
    assert plan_world(settle(rested), options).is_empty
    if not world.cluster["metadata"].get("deletionTimestamp"):  # there is a deadline for deletions
        assert plan_world(rested.after(3600), options).is_empty


@given(disturbed(), st.data())
@LAW
def test_a_plan_wakes_its_cluster_later_or_not_at_all(case: tuple[World, Settings], data: st.DataObject) -> None:
    """A moment that has passed would have the cluster looked at without end."""
    world, options = case
    for pod in world.pods():
        if data.draw(st.booleans(), label="is leaving"):
            moment = format_timestamp(NOW + data.draw(st.integers(-400, 100), label="until"))
            world = world.edit_pod(pod["metadata"]["name"], {"metadata": {"deletionTimestamp": moment}})
    plan_world(world, options)  # checks it


@given(trees(), operator_settings())
@LAW
def test_a_new_cluster_is_complete_after_one_round_of_object_writes(tree: Tree, options: Settings) -> None:
    """Certificates take longer: Pods wait until they are issued, and Pods' addresses are written into them."""
    tree["spec"].pop("tlsOptions", None)
    world, plans = run(World(tree), options)
    assert not any(stage.actions for plan in plans[1:] for stage in plan.stages)
    if not tree["spec"].get("suspend"):
        wanted = Counter({"headgroup": 1} | wanted_pods(world, options))
        assert Counter(pod["metadata"]["labels"]["ray.io/group"] for pod in world.pods()) == wanted
        assert world.cluster["status"]["state"] == "ready"


@given(disturbed(), st.booleans())
@LAW
def test_every_step_on_the_way_to_rest_keeps_the_laws(case: tuple[World, Settings], grace: bool) -> None:
    world, options = case
    strangers = {tree["metadata"]["uid"]: tree for tree in world.objects if is_stranger(tree)}
    for _ in range(4):
        plan = plan_world(world, options)
        check_deletes(world, plan)
        check_scale_down(world, plan, options)
        check_writes_are_ours(plan, strangers.keys())
        check_suspension(world, plan)
        check_form(plan)
        after = apply_plan(world, plan, grace=grace)
        check_sizes(world, after, options)
        assert [tree for tree in after.objects if is_stranger(tree)] == list(strangers.values())
        world = after.after(20) if grace else settle_own(after)


def check_deletes(world: World, plan: Plan) -> None:
    """Each names a UID and a reason, and what is ours and not leaving already."""
    by_uid = {tree["metadata"]["uid"]: tree for tree in world.objects}
    for action in deletes(plan):
        victim = by_uid[action.uid]
        controller = controller_of(victim)
        assert controller is not None
        assert controller["uid"] == UID
        assert victim["metadata"]["name"] == action.ref.name
        assert action.because in list(Because)
        assert not victim["metadata"].get("deletionTimestamp")


def check_scale_down(world: World, plan: Plan, options: Settings) -> None:
    """Never more than observed - desired; and with the autoscaler on, it alone chooses."""
    alive, wanted = healthy_workers(world), wanted_pods(world, options)
    group_of = {pod["metadata"]["uid"]: pod["metadata"]["labels"].get("ray.io/group") for pod in world.pods()}
    gone = Counter(group_of[action.uid] for action in deletes(plan) if action.because == Because.SCALE_DOWN)
    for name, count in gone.items():
        assert name is not None
        assert count <= alive[name] - wanted[name]
    if world.cluster["spec"].get("enableInTreeAutoscaling") and not options.random_pod_delete:
        assert not gone


def check_writes_are_ours(plan: Plan, strangers: Iterable[str]) -> None:
    written = {action.uid for action in deletes(plan)} | {action.uid for action in patches(plan)}
    assert not written & set(strangers)
    assert all(patch.resource_version for patch in patches(plan))
    for create in creates(plan):
        owner = controller_of(create.object)
        assert owner is not None
        assert owner["uid"] == UID


def check_suspension(world: World, plan: Plan) -> None:
    """C9: no Pod is made between the wish to suspend and the end of the suspension."""
    conditions = world.conditions()
    is_suspended = "True" in (conditions.get("RayClusterSuspending"), conditions.get("RayClusterSuspended"))
    if world.cluster["spec"].get("suspend") or is_suspended:
        assert not created_pods(plan)


def check_form(plan: Plan) -> None:
    """Stages need only what stands before them; a plan prints, and holds no secret."""
    names = [stage.name for stage in plan.stages]
    assert len(names) == len(set(names))
    for position, stage in enumerate(plan.stages):
        assert set(stage.needs) <= set(names[:position])
        assert stage.actions
    assert format_plan(plan)
    secrets = [value for create in creates(plan) for value in (create.object.get("stringData") or {}).values()]
    assert all(isinstance(value, Random) for value in secrets)


def check_sizes(before: World, after: World, options: Settings) -> None:
    """C1, C2: never two live heads, never more live workers than are wanted or were there."""
    heads = [pod for pod in after.pods(node_type="head") if not is_stranger(pod) and is_staying(pod)]
    assert len(heads) <= 1
    wanted, had = wanted_pods(before, options), healthy_workers(before)
    for name, count in healthy_workers(after).items():
        assert count <= max(wanted.get(name, 0), had[name])


@given(disturbed(), st.sets(st.sampled_from([*KINDS, "Pod"]), min_size=1))
@LAW
def test_what_is_unknown_is_never_created_or_deleted(case: tuple[World, Settings], unknown: set[str]) -> None:
    world, options = case
    seen = observe(world)
    half_blind = ObservedCluster(
        cluster=seen.cluster,
        status=seen.status,
        pods=UNKNOWN if "Pod" in unknown else seen.pods,
        objects=unread(seen.objects, *unknown),
    )
    plan = plan_observed(half_blind, options)
    refs = [*(action.ref for action in creates(plan)), *(action.ref for action in deletes(plan))]
    assert not unknown & {kind_name(ref.api_version, ref.kind) for ref in refs}
    if "Pod" in unknown:
        assert plan.status is None or is_quiet(Plan(status=plan.status), world)


def is_stranger(tree: Tree) -> bool:
    return str(tree["metadata"]["uid"]).startswith("stranger")


def is_staying(pod: Tree) -> bool:
    return not pod["metadata"].get("deletionTimestamp")


def healthy_workers(world: World) -> Counter[str]:
    pods = observe(world).own_pods
    assert isinstance(pods, tuple)
    workers = [pod for pod in pods if pod.labels["ray.io/node-type"] == "worker"]
    return Counter(
        pod.labels["ray.io/group"] for pod in workers if not pod.deletion_timestamp and why_unhealthy(pod) is None
    )


def wanted_pods(world: World, options: Settings) -> dict[str, int]:
    return {each.name: max(0, each.pods) for each in build_desired(observe(world).cluster, options).groups}


def settle_own(world: World) -> World:
    """Strangers have no node that works for them."""
    strangers = [tree for tree in world.objects if is_stranger(tree)]
    rest = tuple(tree for tree in world.objects if not is_stranger(tree))
    settled = settle(structs.replace(world, objects=rest))
    return structs.replace(settled, objects=(*settled.objects, *strangers))
