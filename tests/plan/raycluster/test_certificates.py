"""mTLS: issuers, certificates, and the gate that new Pods wait at."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.because import Because
from heliostat.plan.raycluster.certificates import is_issued
from plan.worlds import (
    NOW,
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    creates,
    event_reasons,
    group,
    is_quiet,
    own_conditions,
    patches,
    plan_world,
    reporters,
    run,
    settle,
    stable,
    told,
    wait_reasons,
    with_gates,
)

GATE = with_gates(RayClusterMTLS=True)
TLS = {"tlsOptions": {"enabled": True}}


def tls_tree(**spec: Any) -> Tree:
    return cluster_tree(group(replicas=2), **TLS, **spec)


def certificate(world: World, node: str) -> Tree:
    return next(tree for tree in world.of_kind("Certificate") if tree["metadata"]["name"] == f"ray-{node}-cert-demo")


def test_r11_3_five_objects_in_order_and_pods_wait_for_them() -> None:
    plan = plan_world(World(tls_tree()), GATE)
    (stage,) = [stage for stage in plan.stages if stage.name == "certificates"]
    assert [action.object["kind"] for action in creates(plan) if action in stage.actions] == [
        "Issuer", "Certificate", "Issuer", "Certificate", "Certificate",
    ]  # fmt: skip
    assert not created_pods(plan)
    assert "demo-head-svc" in [action.ref.name for action in creates(plan)], "everything else goes on"
    assert "CertificatesNotReady" in wait_reasons(plan)
    assert event_reasons(plan) == ["MTLSCertsNotReady"]
    assert plan.wake_after == 30


def test_the_whole_way_up_names_every_pods_address() -> None:
    world, plans = run(World(tls_tree()), GATE)
    assert world.cluster["status"]["state"] == "ready"
    ips = {pod["status"]["podIP"] for pod in world.pods(node_type="worker")}
    assert set(certificate(world, "worker")["spec"]["ipAddresses"]) == {"127.0.0.1", *ips}
    head_ip = world.pods(node_type="head")[0]["status"]["podIP"]
    assert set(certificate(world, "head")["spec"]["ipAddresses"]) == {"127.0.0.1", head_ip}
    notes = [note for plan in plans for note in told(plan)]
    assert f"Updated head certificate SANs (IPs: [{head_ip} 127.0.0.1])" in notes
    quiet = plan_world(world, GATE)
    assert quiet.is_empty
    assert event_reasons(quiet) == ["MTLSPKIReady"]
    assert quiet.wake_after == 60


def test_r11_6_scaling_workers_never_reissues_the_head_certificate() -> None:
    world = stable(tls_tree(), GATE).edit_group(replicas=4)
    world, plans = run(world, GATE)
    changed = [patch.ref.name for plan in plans for patch in patches(plan)]
    assert "ray-worker-cert-demo" in changed
    assert "ray-head-cert-demo" not in changed


@pytest.mark.parametrize(
    "change", [{"metadata": {"deletionTimestamp": "2027-01-15T09:00:00Z"}}, {"status": {"podIP": ""}}]
)
def test_r11_5_a_pod_that_leaves_or_has_no_address_is_not_named(change: Tree) -> None:
    world = stable(tls_tree(), GATE)
    pod = world.pods(node_type="worker")[0]
    world = world.edit_pod(pod["metadata"]["name"], change)
    (patch,) = [patch for patch in patches(plan_world(world, GATE)) if patch.because == Because.ADDRESSES_CHANGED]
    assert pod["status"]["podIP"] not in patch.changes["spec"]["ipAddresses"]


def test_r11_6_the_order_of_addresses_is_no_difference() -> None:
    world = stable(tls_tree(), GATE)

    def reverse(tree: Tree) -> Tree:
        if tree["kind"] == "Certificate" and "ipAddresses" in tree["spec"]:
            tree["spec"]["ipAddresses"].reverse()
        return tree

    assert plan_world(world.edit_objects(reverse), GATE).is_empty


@pytest.mark.parametrize(
    "changed", [{"team": "x"}, {"ray.io/cluster": None}, {"ray.io/cluster": "other", "team": "x"}], ids=str
)
def test_r11_6_labels_are_put_right_in_one_pass_and_nothing_else_is(changed: Tree) -> None:
    world = stable(tls_tree(), GATE)
    before = certificate(world, "head")
    drifted = world.edit_pod("ray-head-cert-demo", {"metadata": {"labels": changed}})
    plan = plan_world(drifted, GATE)
    (patch,) = patches(plan)
    assert (patch.because, set(patch.changes)) == (Because.DRIFTED, {"metadata"})
    assert event_reasons(plan) == ["MTLSPKIReady"], "no address has changed"
    after = apply_plan(drifted, plan)
    assert certificate(after, "head")["metadata"]["labels"] == before["metadata"]["labels"]
    assert plan_world(after, GATE).is_empty


def test_r11_7_the_secret_gets_its_certificate_as_an_owner_once() -> None:
    world = stable(tls_tree(), GATE)
    secret = next(tree for tree in world.of_kind("Secret") if tree["metadata"]["name"] == "ray-head-secret-demo")
    (owner,) = secret["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "name": "ray-head-cert-demo",
        "uid": certificate(world, "head")["metadata"]["uid"],
    }
    assert plan_world(world, GATE).is_empty


@pytest.mark.parametrize(
    ("condition", "issued"),
    [
        ({"type": "Ready", "status": "True", "observedGeneration": 2}, True),
        ({"type": "Ready", "status": "True", "observedGeneration": 1}, False),
        ({"type": "Ready", "status": "False", "observedGeneration": 2}, False),
        ({"type": "Issuing", "status": "True", "observedGeneration": 2}, False),
    ],
)
def test_r11_8_issued_means_ready_for_the_current_generation(condition: Tree, *, issued: bool) -> None:
    assert is_issued({"metadata": {"generation": 2}, "status": {"conditions": [condition]}}) is issued


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ray-head-cert-demo", {"status": None}),
        ("ray-worker-cert-demo", {"metadata": {"generation": 99}}),
        ("ray-head-secret-demo", {"data": {"ca.crt": None}}),
        ("ray-worker-secret-demo", {"data": None}),
    ],
)
def test_16_9_pods_wait_until_certificates_and_secrets_are_complete(name: str, change: Tree) -> None:
    world = stable(tls_tree(), GATE).edit_group(replicas=3)
    assert created_pods(plan_world(world, GATE))
    broken = world.edit_pod(name, change)
    plan = plan_world(broken, GATE)
    assert not created_pods(plan)
    assert "CertificatesNotReady" in wait_reasons(plan)


def test_existing_pods_are_unaffected_by_missing_certificates() -> None:
    world = stable(tls_tree(), GATE)
    world = world.edit_objects(lambda tree: None if tree["kind"] == "Secret" else tree)
    assert len(world.pods()) == 3
    assert plan_world(world, GATE).is_empty


def test_16_9_switching_tls_off_keeps_what_is_there() -> None:
    world = stable(tls_tree(), GATE).edit_spec(tlsOptions={"enabled": False})
    plan = plan_world(world, GATE)
    assert is_quiet(plan, world)
    assert not plan.events
    assert len(world.of_kind("Certificate")) == 3


def test_a_foreign_certificate_under_our_name_is_left_alone() -> None:
    world = stable(tls_tree(), GATE)

    def give_away(tree: Tree) -> Tree:
        foreign = tree["metadata"]["name"] == "ray-head-cert-demo"
        return (
            merge_patch(tree, {"metadata": {"ownerReferences": None}, "spec": {"dnsNames": ["x"]}}) if foreign else tree
        )

    plan = plan_world(world.edit_objects(give_away), GATE)
    assert is_quiet(plan, world)
    assert "NameTaken" in wait_reasons(plan)
    assert own_conditions(plan) == {"Hindered": "NameTaken"}
    (event,) = [event for event in plan.events if event.reason == "MTLSFailedToReconcile"]
    assert (event.type, event.action, event.reporter) == ("Warning", "Reconcile", "raycluster-mtls-controller")
    assert event.note == (
        "Failed to reconcile mTLS head certificate: Certificate ns/ray-head-cert-demo exists and does not belong to "
        "this RayCluster"
    )


def test_a_certificate_that_ends_soon_is_told() -> None:
    world = stable(tls_tree(), GATE)
    soon = {"status": {"notAfter": format_timestamp(NOW + 5.5 * 3600)}}
    plan = plan_world(world.edit_pod("ray-head-cert-demo", soon), GATE)
    assert "MTLSCertificateExpiringSoon" in event_reasons(plan)
    assert "TLS certificate ray-head-cert-demo expires in 5.5 hours;" in plan.events[-1].note


def test_r1_6_a_refused_spec_gets_its_certificates_and_nothing_else() -> None:
    tree = cluster_tree(group(minReplicas=5, maxReplicas=1), **TLS)
    world = settle(apply_plan(World(tree), plan_world(World(tree), GATE)))
    assert {tree["kind"] for tree in world.objects} == {"Issuer", "Certificate", "Secret"}


def test_without_cert_manager_tls_is_refused() -> None:
    without = Settings(gates=GATE.gates, cert_manager=False)
    plan = plan_world(World(tls_tree()), without)
    assert wait_reasons(plan) == ["Refused"]
    assert plan.is_empty
    assert event_reasons(plan) == ["InvalidRayClusterSpec"], "nobody waits for certificates that nobody issues"
    assert plan.wake_after is None


def test_14_3_everything_about_certificates_is_told_in_the_name_of_their_controller() -> None:
    name = "raycluster-mtls-controller"
    first = plan_world(World(tls_tree()), GATE)
    assert reporters(first, "certificates") == {name}
    world = stable(tls_tree(), GATE).edit_group(replicas=4)
    soon = {"status": {"notAfter": format_timestamp(NOW + 3600)}}
    plans = [first, *run(world.edit_pod("ray-head-cert-demo", soon), GATE)[1]]
    told_of = {event.reason: event.reporter for plan in plans for event in plan.events}
    assert told_of == dict.fromkeys(
        ("MTLSCertsNotReady", "MTLSPKIReady", "MTLSCertificatesUpdated", "MTLSCertificateExpiringSoon"), name
    )
