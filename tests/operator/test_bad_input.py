"""What people and clusters do wrong: it is told in a condition or an event, costs little, and stops nobody else."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

import pytest

from conformance.operator.worlds import DEFINITION
from fleet.troubles import QUOTA, SERVICE, Rights, Tree, Troubled, troubled
from heliostat.api.crds import build_crd
from heliostat.api.settings import Settings, default_gates
from heliostat.kube.lookups import INGRESS
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import RAY_CLUSTER, RESOURCES
from heliostat.plan.raycluster.deletion import DEFAULT_TIMEOUT, FINALIZER
from heliostat.testing import VirtualTimeLoop, run_virtual

pytestmark = pytest.mark.slow

A_WHILE = 240.0
FEW = 30  # looks in a while: back-off, and what the other clusters of the world need
NAMESPACE = ResourceType("v1", "Namespace", "namespaces", is_namespaced=False)
RAY_CLUSTERS = "rayclusters.ray.io"

Play: TypeAlias = Callable[[Troubled], Coroutine[Any, Any, None]]
Run: TypeAlias = Callable[[Play], None]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Plays in a world that the tests of this module share; each has namespaces of its own."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        ends = AsyncExitStack()
        there = runner.run(ends.enter_async_context(troubled()))
        yield lambda play: runner.run(play(there))
        runner.run(ends.aclose())


def run_alone(play: Play, rights: Rights | None = None, settings: Settings | None = None) -> None:
    """In a world of its own, for what changes the whole of it."""

    async def main() -> None:
        async with troubled(rights, settings) as there:
            await play(there)

    run_virtual(main())


def is_there(found: Tree | None) -> bool:
    return found is not None


def is_absent(found: Tree | None) -> bool:
    return found is None


async def expect_hindered(there: Troubled, namespace: str, reason: str, words: str) -> None:
    told = await there.until_condition("Hindered", namespace, is_there)
    assert told is not None
    assert (told["status"], told["reason"]) == ("True", reason)
    assert words in told["message"]
    assert "; this ends when " in told["message"]


async def expect_recovery(there: Troubled, namespace: str) -> None:
    await there.until_ready(namespace)
    await there.until_condition("Hindered", namespace, is_absent)
    await there.until_condition("ReplicaFailure", namespace, is_absent)


def head_of(container: Tree | None, **fields: Any) -> Tree:
    containers = [] if container is None else [{"name": "c", "image": "i", **container}]
    return {"template": {"spec": {"containers": containers}}, "rayStartParams": {}, **fields}


REDIS = {"gcsFaultToleranceOptions": {}, "headGroupSpec": head_of({}, rayStartParams={"redis-password": "x"})}
EMPTY = {"headGroupSpec": head_of(None)}


@pytest.mark.parametrize(
    ("namespace", "name", "spec", "reason", "words"),
    [
        ("long", "a" * 54, {}, "InvalidRayClusterMetadata", "The RayCluster metadata is invalid long/aaa"),
        ("redis", "demo", REDIS, "InvalidRayClusterSpec", "The RayCluster spec is invalid redis/demo: "),
        ("empty", "demo", EMPTY, "InvalidRayClusterSpec", "The RayCluster spec is invalid empty/demo: "),
    ],
    ids=["name", "redis", "containers"],
)
def test_a_refused_spec_gets_kuberays_event_and_nothing_else(
    run: Run, namespace: str, name: str, spec: Tree, reason: str, words: str
) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace(namespace)
        await there.make_cluster(namespace, name, **spec)
        await there.make_cluster(namespace, "sound")
        await there.until_ready(namespace, "sound")
        assert words in (await there.told(namespace))[reason]
        assert await there.status(namespace, name) == {}
        assert await there.count_looks(A_WHILE) < FEW

    run(play)


def test_a_quota_on_pods_is_a_replica_failure_and_no_hot_loop(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("pods")
        await there.set_quota("pods", pods=1)
        await there.make_cluster("pods")
        told = await there.until_condition("ReplicaFailure", "pods", is_there)
        assert told is not None
        assert told["reason"] == "FailedCreateWorkerPod"
        assert "exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1" in told["message"]
        assert "FailedToCreateWorkerPod" in await there.told("pods")
        writes = there.writes
        assert await there.count_looks(A_WHILE) < FEW
        assert there.writes - writes < 2 * FEW
        assert [len(await there.pods("pods")), await there.condition("ReplicaFailure", "pods")] == [1, told]
        await there.admin.merge(QUOTA, "pods", "quota", {"spec": {"hard": {"pods": "5"}}})
        await expect_recovery(there, "pods")

    run(play)


def test_a_quota_on_services_is_told_until_there_is_room(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("services")
        await there.set_quota("services", services=0)
        await there.make_cluster("services")
        await expect_hindered(there, "services", "QuotaExceeded", "exceeded quota: quota, requested: services=1")
        assert await there.pods("services") == []
        assert await there.count_looks(A_WHILE) < FEW
        await there.admin.merge(QUOTA, "services", "quota", {"spec": {"hard": {"services": "5"}}})
        await expect_recovery(there, "services")

    run(play)


def test_a_right_that_is_missing_in_one_namespace_stops_no_other(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("denied")
        await there.make_namespace("allowed")
        there.rights.denied.add(("create", "services", "denied"))
        await there.make_cluster("denied")
        await there.make_cluster("allowed")
        await there.until_ready("allowed")
        words = 'create Service denied/demo-head-svc: services is forbidden: User "operator" cannot create resource'
        await expect_hindered(there, "denied", "Forbidden", words)
        assert await there.count_looks(A_WHILE) < FEW
        there.rights.denied.clear()
        await expect_recovery(there, "denied")

    run(play)


def test_a_status_that_may_not_be_written_is_no_hot_loop_and_stops_no_pod(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("mute")
        there.rights.denied.add(("patch", "rayclusters/status", "mute"))
        await there.make_cluster("mute")
        assert await there.count_looks(A_WHILE) < FEW
        assert len(await there.pods("mute")) == 2
        there.rights.denied.clear()
        await expect_recovery(there, "mute")

    run(play)


def test_a_name_that_is_taken_is_told_until_it_is_free(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("taken")
        spec = {"ports": [{"port": 80}], "selector": {"a": "b"}}
        metadata = {"name": "demo-head-svc", "namespace": "taken"}
        await there.admin.create(SERVICE, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        await there.make_cluster("taken")
        words = "Service taken/demo-head-svc exists and does not belong to this RayCluster"
        await expect_hindered(there, "taken", "NameTaken", words)
        assert "FailedToCreateService" in await there.told("taken")
        assert await there.count_looks(A_WHILE) < FEW
        assert (await there.admin.get(SERVICE, "taken", "demo-head-svc"))["spec"]["selector"] == {"a": "b"}
        await there.admin.delete(SERVICE, "taken", "demo-head-svc")
        await expect_recovery(there, "taken")

    run(play)


def test_a_pod_that_the_server_refuses_is_told_with_its_words(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("invalid")
        head = head_of({"volumeMounts": [{"name": "none", "mountPath": "/x"}]})
        await there.make_cluster("invalid", headGroupSpec=head)
        told = await there.until_condition("ReplicaFailure", "invalid", is_there)
        assert told is not None
        assert told["reason"] == "FailedCreateHeadPod"
        assert 'volumeMounts[0].name: Not found: "none"' in told["message"]
        assert await there.count_looks(A_WHILE) < FEW
        await there.admin.merge(RAY_CLUSTER, "invalid", "demo", {"spec": {"headGroupSpec": head_of({})}})
        await expect_recovery(there, "invalid")

    run(play)


def test_a_namespace_that_is_being_deleted_gets_nothing_new_and_stops_no_other(run: Run) -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("ending")
        await there.make_namespace("staying")
        await there.make_cluster("ending")
        await there.until_ready("ending")
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        await there.admin.merge(RAY_CLUSTER, "ending", "demo", held)
        await there.admin.delete(NAMESPACE, "", "ending")
        await there.make_cluster("staying")
        await there.until_ready("staying")
        assert await there.pods("ending") == []
        assert await there.count_looks(A_WHILE) < FEW
        assert await there.pods("ending") == []
        await there.admin.merge(RAY_CLUSTER, "ending", "demo", {"metadata": {"finalizers": None}})
        await there.until_gone(NAMESPACE, "", "ending")

    run(play)


def test_without_the_right_to_see_ingresses_only_clusters_that_want_one_are_hindered() -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("ns")
        await there.make_cluster("ns", "plain")
        await there.make_cluster("ns", headGroupSpec=head_of({}, enableIngress=True))
        await there.until_ready("ns", "plain")
        await expect_hindered(there, "ns", "NotKnown", 'resource "ingresses" in API group')  # list or watch
        await there.until_ready("ns")
        assert await there.condition("Hindered", "ns", "plain") is None
        there.rights.denied.clear()
        await expect_recovery(there, "ns")
        assert len(await there.admin.items(RESOURCES[INGRESS], "ns")) == 1

    rights = Rights()
    rights.denied = {("list", "ingresses", ""), ("watch", "ingresses", "")}
    run_alone(play, rights)


def test_an_ingress_controller_that_writes_annotations_finds_no_opponent(run: Run) -> None:
    """It writes back whatever is taken away; each answer at once would be a fight without end."""

    async def play(there: Troubled) -> None:
        await there.make_namespace("annotated")
        await there.make_cluster("annotated", headGroupSpec=head_of({}, enableIngress=True))
        await there.until_ready("annotated")
        await asyncio.sleep(10.0)
        ingress, annotation = RESOURCES[INGRESS], {"ingress.kubernetes.io/backends": "x"}
        rounds = there.looks
        for _ in range(20):
            await there.admin.merge(
                ingress, "annotated", "demo-head-ingress", {"metadata": {"annotations": annotation}}
            )
            await asyncio.sleep(1.0)
        assert there.looks - rounds < FEW
        found = await there.admin.get(ingress, "annotated", "demo-head-ingress")
        assert annotation.items() <= found["metadata"]["annotations"].items()
        await there.admin.merge(RAY_CLUSTER, "annotated", "demo", {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(5.0)
        found = await there.admin.get(ingress, "annotated", "demo-head-ingress")
        assert not annotation.items() & (found["metadata"].get("annotations") or {}).items(), "R4-11: the next look"
        await there.admin.delete(ingress, "annotated", "demo-head-ingress")
        await asyncio.sleep(5.0)
        assert await there.admin.items(ingress, "annotated"), "what is gone is made anew at once"

    run(play)


def test_the_definition_of_rayclusters_may_go_and_come_back() -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("ns")
        await there.make_cluster("ns")
        await there.until_ready("ns")
        definition = build_crd("RayCluster")
        await there.admin.delete(DEFINITION, "", RAY_CLUSTERS)
        await there.until_gone(DEFINITION, "", RAY_CLUSTERS)
        await asyncio.sleep(60.0)
        writes = there.writes
        await asyncio.sleep(A_WHILE)
        assert there.writes == writes
        assert await there.pods("ns") == [], "garbage collection has taken them"
        await there.admin.create(DEFINITION, definition)
        await there.until_served(RAY_CLUSTER)
        await there.make_cluster("ns", "again")
        await there.until_ready("ns", "again")

    run_alone(play)


def test_without_cert_managers_definitions_only_clusters_with_certificates_are_hindered() -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("ns")
        await there.admin.delete(DEFINITION, "", "issuers.cert-manager.io")
        await there.until_gone(DEFINITION, "", "issuers.cert-manager.io")
        await asyncio.sleep(60.0)
        await there.make_cluster("ns", "plain")
        await there.make_cluster("ns", tlsOptions={"enabled": True})
        await there.until_ready("ns", "plain")
        await expect_hindered(there, "ns", "NotKnown", "Issuer")
        assert await there.condition("Hindered", "ns", "plain") is None

    gates = default_gates() | {"RayClusterMTLS": True}
    run_alone(play, settings=Settings(gates=gates, cert_manager=True))


def test_a_spec_that_no_raycluster_can_have_is_left_alone_and_can_be_deleted() -> None:
    async def play(there: Troubled) -> None:
        await there.make_namespace("ns")
        definition = build_crd("RayCluster")
        loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        for version in definition["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": loose}
        await there.admin.merge(DEFINITION, "", RAY_CLUSTERS, {"spec": definition["spec"]})
        await asyncio.sleep(10.0)
        await there.make_cluster("ns", workerGroupSpecs=[{"groupName": "g", "replicas": "many"}])
        await there.make_cluster("ns", "sound")
        await there.until_ready("ns", "sound")
        assert await there.count_looks(A_WHILE) < FEW
        assert await there.status("ns") == {}
        note = (await there.told("ns"))["InvalidRayClusterSpec"]
        assert "The RayCluster spec is invalid ns/demo: spec.workerGroupSpecs[0]" in note
        assert {pod["metadata"]["labels"]["ray.io/cluster"] for pod in await there.pods("ns")} == {"sound"}
        await there.admin.merge(RAY_CLUSTER, "ns", "demo", {"metadata": {"finalizers": [FINALIZER]}})
        await there.admin.delete(RAY_CLUSTER, "ns", "demo")
        await asyncio.sleep(DEFAULT_TIMEOUT)
        await there.until_gone(RAY_CLUSTER, "ns", "demo")
        assert "ForceDeletedStuckCluster" in await there.told("ns")

    run_alone(play)
