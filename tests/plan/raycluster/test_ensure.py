"""Objects around the Pods: made when missing, kept when there, never taken from somebody else."""

from collections.abc import Callable
from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.kube.plan import Random
from heliostat.plan.because import Because
from heliostat.plan.raycluster.observed import ObservedCluster
from plan.worlds import (
    NAMESPACE,
    UID,
    Tree,
    World,
    cluster_tree,
    created_pods,
    creates,
    event_reasons,
    group,
    is_quiet,
    observe,
    own_conditions,
    owned,
    patches,
    plan_observed,
    plan_world,
    run,
    stable,
    told,
    unread,
    wait_reasons,
    with_gates,
)

AUTOSCALING: Tree = {"enableInTreeAutoscaling": True}
AUTH: Tree = {"authOptions": {"mode": "token"}}
STORAGE_GATE = with_gates(GCSFaultToleranceEmbeddedStorage=True)
SERVE = {"annotations": {"ray.io/enable-serve-service": "true"}}


def head_with(**fields: Any) -> Tree:
    spec: Tree = copy_tree(cluster_tree()["spec"]["headGroupSpec"])
    return {"headGroupSpec": merge_patch(spec, fields)}


def rocksdb(**storage: Any) -> Tree:
    return {"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": storage}}


def without(observed: ObservedCluster, kind: str) -> ObservedCluster:
    return ObservedCluster(
        cluster=observed.cluster,
        status=observed.status,
        pods=observed.pods,
        objects=unread(observed.objects, kind),
    )


def made(plan_kinds: list[Tree]) -> list[str]:
    return [tree["kind"] for tree in plan_kinds]


def test_r1_6_the_stages_stand_in_kuberays_order() -> None:
    tree = cluster_tree(
        group(numOfHosts=2), **AUTOSCALING, **AUTH, **head_with(enableIngress=True), **rocksdb(), metadata=SERVE
    )
    plan = plan_world(World(tree), STORAGE_GATE)
    assert [stage.name for stage in plan.stages] == [
        "service-account", "role", "role-binding", "ingress", "auth-secret", "head-service", "headless-service",
        "serve-service", "gcs-claim", "head-pod", "workers/g",
    ]  # fmt: skip


def test_pods_need_what_they_mount_run_as_or_are_found_by_and_nothing_else() -> None:
    tree = cluster_tree(
        group(numOfHosts=2), **AUTOSCALING, **AUTH, **head_with(enableIngress=True), **rocksdb(), metadata=SERVE
    )
    needs = {stage.name: stage.needs for stage in plan_world(World(tree), STORAGE_GATE).stages}
    head = ("service-account", "role", "role-binding", "auth-secret", "head-service", "gcs-claim")
    assert needs["head-pod"] == head
    assert needs["workers/g"] == (*head, "headless-service", "head-pod")
    others = {name: need for name, need in needs.items() if name not in ("head-pod", "workers/g")}
    assert not any(others.values())


@pytest.mark.parametrize(
    ("spec", "kind", "note"),
    [
        (AUTOSCALING, "ServiceAccount", "Created service account ns/demo"),
        (AUTOSCALING, "Role", "Created role ns/demo"),
        (AUTOSCALING, "RoleBinding", "Created role binding ns/demo"),
        (head_with(enableIngress=True), "Ingress", "Created ingress ns/demo-head-ingress"),
        ({}, "Service", "Created service ns/demo-head-svc"),
        (rocksdb(), "PersistentVolumeClaim", "Created GCS storage PVC ns/demo-gcs-pvc"),
        (AUTH, "Secret", None),
    ],
)
def test_a_missing_object_is_made_once_and_told(spec: Tree, kind: str, note: str | None) -> None:
    world = World(cluster_tree(**spec))
    plan = plan_world(world, STORAGE_GATE)
    (create,) = [action for action in creates(plan) if action.object["kind"] == kind]
    assert create.because == Because.MISSING
    assert (note in told(plan)) is (note is not None)
    assert len(run(world, STORAGE_GATE)[0].of_kind(kind)) == 1


def test_a_secret_in_a_plan_is_a_marker() -> None:
    (create,) = [
        action for action in creates(plan_world(World(cluster_tree(**AUTH)))) if action.object["kind"] == "Secret"
    ]
    assert create.object["stringData"] == {"auth_token": Random(32)}


@pytest.mark.parametrize("kind", ["ServiceAccount", "Role", "RoleBinding"])
def test_r4_2_an_object_of_that_name_is_kept_whoever_made_it(kind: str) -> None:
    group_of = {"ServiceAccount": "v1"}
    api_version = group_of.get(kind, "rbac.authorization.k8s.io/v1")
    somebodys = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "demo"}}
    plan = plan_world(World(cluster_tree(**AUTOSCALING)).add(somebodys))
    assert kind not in [action.object["kind"] for action in creates(plan)]
    assert created_pods(plan)


def test_r4_1_a_service_account_that_the_user_named_must_exist() -> None:
    spec = head_with(template={"spec": {"serviceAccountName": "mine"}})
    world = World(cluster_tree(**AUTOSCALING, **spec))
    plan = plan_world(world)
    assert "ServiceAccount" not in [action.object["kind"] for action in creates(plan)]
    assert not created_pods(plan)
    assert event_reasons(plan) == ["AutoscalerServiceAccountNotFound"]
    assert "ServiceAccountMissing" in wait_reasons(plan)
    assert "However, ServiceAccount mine is not found." in plan.events[0].note
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine"}}
    assert created_pods(plan_world(world.add(account)))


def test_r4_25_two_head_services_stop_the_pods() -> None:
    world = stable(cluster_tree())
    twin = copy_tree(world.of_kind("Service")[0])
    twin["metadata"] |= {"name": "second", "uid": "second"}
    plan = plan_world(world.add(twin).edit_group(replicas=3))
    assert is_quiet(plan, world)
    assert own_conditions(plan) == {"Hindered": "TooMany"}
    assert "TooMany" in wait_reasons(plan)


def test_a_head_service_of_another_owner_keeps_its_name_and_the_pods_wait() -> None:
    world = stable(cluster_tree())
    left_over = owned(copy_tree(world.of_kind("Service")[0]), uid="a-cluster-that-was-deleted")
    plan = plan_world(World(cluster_tree()).add(left_over))
    assert is_quiet(plan, World(cluster_tree()))
    assert own_conditions(plan) == {"Hindered": "NameTaken"}
    assert "NameTaken" in wait_reasons(plan)
    assert event_reasons(plan) == ["FailedToCreateService"]


def test_r4_35_the_headless_service_is_found_by_its_label() -> None:
    world = stable(cluster_tree(group(numOfHosts=2)))
    renamed = [
        merge_patch(tree, {"metadata": {"name": "other-name"}}) if tree["metadata"]["name"] == "demo-headless" else tree
        for tree in world.objects
    ]
    assert not creates(plan_world(World(world.cluster, tuple(renamed), world.version)))


def test_r4_40_a_serve_service_is_made_without_an_event() -> None:
    plan = plan_world(World(cluster_tree(metadata=SERVE)))
    assert "demo-serve-svc" in [action.ref.name for action in creates(plan)]
    assert "Created service ns/demo-serve-svc" not in told(plan)


def test_r4_40_a_serve_service_that_cannot_be_built_stops_claim_and_pods() -> None:
    ports = [{"name": "dashboard", "containerPort": 8265}]
    container = [{"name": "ray-head", "image": "ray:2.52.0", "ports": ports}]
    spec = head_with(template={"spec": {"containers": container}})
    world = World(cluster_tree(metadata=SERVE, **spec, **rocksdb()))
    plan = plan_world(world, STORAGE_GATE)
    assert [action.object["kind"] for action in creates(plan)] == ["Service"]
    assert "Impossible" in wait_reasons(plan)


def test_r4_40_a_serve_service_that_is_there_need_not_be_built() -> None:
    world = stable(cluster_tree(metadata=SERVE))
    container = {"name": "ray-head", "image": "ray:2.52.0", "ports": [{"name": "dashboard", "containerPort": 8265}]}
    edited = world.edit_spec(**head_with(template={"spec": {"containers": [container]}})).edit_group(replicas=2)
    plan = plan_world(edited)
    assert "Impossible" not in wait_reasons(plan)
    assert [action.object["kind"] for action in creates(plan)] == ["Pod"]


@pytest.mark.parametrize(
    ("kind", "spec", "blocks_pods"),
    [
        ("ServiceAccount", AUTOSCALING, True),
        ("Role.rbac.authorization.k8s.io", AUTOSCALING, True),
        ("Secret", AUTH, True),
        ("Service", {}, True),
        ("PersistentVolumeClaim", rocksdb(), True),
        ("Ingress.networking.k8s.io", head_with(enableIngress=True), False),
    ],
)
def test_unknown_is_not_absent(kind: str, spec: Tree, *, blocks_pods: bool) -> None:
    plan = plan_observed(without(observe(World(cluster_tree(**spec))), kind), STORAGE_GATE)
    assert kind.partition(".")[0] not in [action.object["kind"] for action in creates(plan)]
    assert "NotKnown" in wait_reasons(plan)
    assert bool(created_pods(plan)) is not blocks_pods


def ingress(world: World) -> Tree:
    (found,) = world.of_kind("Ingress")
    return found


INGRESS = cluster_tree(**head_with(enableIngress=True), metadata={"annotations": {"team": "a"}})


@pytest.mark.parametrize(
    "drift",
    [
        {"metadata": {"labels": {"ray.io/cluster": None}}},
        {"metadata": {"labels": {"extra": "x"}}},
        {"metadata": {"annotations": {"team": "b"}}},
        {"metadata": {"annotations": {"extra": "x"}}},
        {"spec": {"rules": []}},
        {"spec": {"tls": [{"hosts": ["x"]}]}},
    ],
)
def test_r4_11_an_ingress_of_ours_that_drifted_is_made_equal_again(drift: Tree) -> None:
    world = stable(INGRESS)
    wanted = ingress(world)
    drifted = world.edit_objects(lambda tree: merge_patch(tree, drift) if tree["kind"] == "Ingress" else tree)
    plan = plan_world(drifted)
    (patch,) = patches(plan)
    assert patch.because == Because.DRIFTED
    assert told(plan) == ["Updated ingress ns/demo-head-ingress"]
    repaired = ingress(run(drifted)[0])
    assert repaired["spec"] == wanted["spec"]
    assert repaired["metadata"]["labels"] == wanted["metadata"]["labels"]
    assert repaired["metadata"]["annotations"] == wanted["metadata"]["annotations"]


def test_16_8_a_class_that_admission_chose_stays_and_one_that_the_user_names_wins() -> None:
    world = stable(INGRESS).edit_objects(
        lambda tree: merge_patch(tree, {"spec": {"ingressClassName": "chosen"}}) if tree["kind"] == "Ingress" else tree
    )
    assert plan_world(world).is_empty
    named = world.edit_metadata(annotations={"kubernetes.io/ingress.class": "mine"})
    assert ingress(run(named)[0])["spec"]["ingressClassName"] == "mine"


def test_16_8_a_foreign_ingress_under_our_name_is_left_alone_and_blocks_nothing() -> None:
    foreign = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "demo-head-ingress", "namespace": NAMESPACE},
        "spec": {},
    }
    plan = plan_world(World(INGRESS).add(foreign))
    assert not patches(plan)
    assert "Ingress" not in made([action.object for action in creates(plan)])
    assert event_reasons(plan) == ["FailedToCreateIngress"]
    assert created_pods(plan)


def test_16_8_a_foreign_ingress_with_our_label_does_not_count() -> None:
    foreign = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "stranger", "labels": {"ray.io/cluster": "demo"}},
        "spec": {},
    }
    plan = plan_world(World(INGRESS).add(foreign))
    assert "demo-head-ingress" in [action.ref.name for action in creates(plan)]


def test_r4_13_switching_the_ingress_off_deletes_nothing() -> None:
    world = stable(INGRESS).edit_spec(headGroupSpec={"enableIngress": False})
    assert is_quiet(plan_world(world), world)


def test_r4_15_a_route_is_found_by_its_label_and_never_updated() -> None:
    settings = Settings(openshift_route=True)
    world = stable(INGRESS, settings)
    assert not world.of_kind("Ingress")
    (route,) = world.of_kind("Route")
    changed = world.edit_objects(lambda tree: tree | {"spec": {}} if tree["kind"] == "Route" else tree)
    assert plan_world(changed, settings).is_empty
    foreign = copy_tree(route)
    foreign["metadata"] |= {"name": "made-by-hand", "ownerReferences": []}
    assert "Route" not in made([action.object for action in creates(plan_world(World(INGRESS).add(foreign), settings))])


def claim_world(change: Tree | None = None, **storage: Any) -> World:
    world = stable(cluster_tree(**rocksdb(**storage)), STORAGE_GATE)
    return world.edit_objects(
        lambda tree: merge_patch(tree, change or {}) if tree["kind"] == "PersistentVolumeClaim" else tree
    )


@pytest.mark.parametrize(
    ("storage", "live", "drift"),
    [
        ({}, {"storageClassName": "standard"}, None),
        ({"size": "2Gi"}, {"resources": {"requests": {"storage": "2048Mi"}}}, None),
        ({"accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}, {"accessModes": ["ReadOnlyMany", "ReadWriteOnce"]}, None),
        ({"size": "2Gi"}, {"resources": {"requests": {"storage": "1Gi"}}}, "requested size 2Gi != current 1Gi"),
        ({"storageClassName": "fast"}, {"storageClassName": "slow"}, "storageClassName fast != current slow"),
        ({}, {"accessModes": ["ReadWriteMany"]}, "accessModes [ReadWriteOnce] != current [ReadWriteMany]"),
        (
            {"size": "2Gi", "storageClassName": "fast"},
            {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": None},
            "requested size 2Gi != current 1Gi; storageClassName fast != current ",
        ),
    ],
)
def test_r4_52_a_claim_that_differs_is_told_and_not_changed(storage: Tree, live: Tree, drift: str | None) -> None:
    plan = plan_world(claim_world({"spec": live}, **storage), STORAGE_GATE)
    assert plan.is_empty
    note = (
        f"GCS storage PVC ns/demo-gcs-pvc already exists and cannot be reconfigured in place ({drift}); "
        "delete the PVC to recreate it with the new settings"
    )
    assert [event.note for event in plan.events] == ([] if drift is None else [note])


def owners(world: World) -> list[str]:
    (claim,) = world.of_kind("PersistentVolumeClaim")
    return [owner["uid"] for owner in claim["metadata"].get("ownerReferences") or []]


def to_policy(policy: str) -> Callable[[World], World]:
    return lambda world: world.edit_spec(gcsFaultToleranceOptions={"storage": {"deletionPolicy": policy}})


def test_r4_53_who_owns_the_claim_follows_the_deletion_policy() -> None:
    world = claim_world()
    assert owners(world) == [UID]
    retained, _plans = run(to_policy("Retain")(world), STORAGE_GATE)
    assert owners(retained) == []
    again, _plans = run(to_policy("DeleteWithCluster")(retained), STORAGE_GATE)
    assert owners(again) == [UID]


def test_r4_53_other_owners_of_the_claim_stay() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "other"}
    world = claim_world({"metadata": {"ownerReferences": [other]}})
    adopted, _plans = run(world, STORAGE_GATE)
    assert owners(adopted) == ["other", UID]
    retained, _plans = run(to_policy("Retain")(adopted), STORAGE_GATE)
    assert owners(retained) == ["other"]


def test_r4_53_a_claim_under_foreign_control_is_not_touched_and_the_pods_wait() -> None:
    controller = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "other", "controller": True}
    world = claim_world({"metadata": {"ownerReferences": [controller]}}).edit_group(replicas=3)
    plan = plan_world(world, STORAGE_GATE)
    assert not patches(plan)
    assert not created_pods(plan)
    assert "NameTaken" in wait_reasons(plan)


def test_r4_50_a_missing_claim_of_the_users_is_told_and_blocks_nothing() -> None:
    world = World(cluster_tree(**rocksdb(claimName="mine")))
    plan = plan_world(world, STORAGE_GATE)
    assert event_reasons(plan) == ["FailedToCreatePVC"]
    assert 'ClaimName "mine" not found in namespace ns' in plan.events[0].note
    assert created_pods(plan)
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}, "spec": {}}
    assert not plan_world(world.add(claim), STORAGE_GATE).events


def test_r4_54_the_redis_backend_has_no_claim() -> None:
    world = stable(cluster_tree(gcsFaultToleranceOptions={"redisAddress": "redis:6379"}), STORAGE_GATE)
    assert not world.of_kind("PersistentVolumeClaim")
