"""What ``plan`` says about room for a second cluster, and that the running one is not touched by a bad edit."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import copy_tree, encode_json, merge_patch
from heliostat.plan.against import plan_document
from heliostat.plan.kind import Surroundings
from heliostat.plan.rayservice.room import measure_room
from plan.rayservice.service_worlds import SPLIT, ServiceWorld, begin, begin_incremental, run
from plan.rayservice.test_incremental import live, upgraded_to
from plan.worlds import NAMESPACE, Tree

GPU = "nvidia.com/gpu"


def node(name: str = "n1", *, is_ready: bool = True, **allocatable: Any) -> Tree:
    conditions = [{"type": "Ready", "status": "True" if is_ready else "False"}]
    have = {"cpu": "100", "memory": "100Gi", GPU: "8"} | allocatable
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {},
        "status": {"conditions": conditions, "allocatable": have},
    }  # fmt: skip


def pod(gpus: int, phase: str = "Running", on: str = "n1") -> Tree:
    container = {"name": "c", "resources": {"limits": {GPU: str(gpus)}}}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{gpus}", "namespace": "elsewhere"},
        "spec": spec, "status": {"phase": phase},
    }  # fmt: skip


def workers_with(gpus: int, replicas: int) -> Tree:
    container = {"name": "ray-worker", "image": "ray", "resources": {"limits": {GPU: str(gpus)}}}
    template = {"spec": {"containers": [container]}}
    group = {"groupName": "w", "replicas": replicas, "minReplicas": 1, "maxReplicas": 9, "rayStartParams": {}}
    return {"workerGroupSpecs": [{**group, "template": template}]}


def notes_of(world: ServiceWorld, edit: Tree, *around: Tree) -> str:
    assert world.service is not None
    wanted = {key: copy_tree(world.service[key]) for key in ("apiVersion", "kind", "spec")}
    wanted["metadata"] = {"name": world.service["metadata"]["name"], "namespace": NAMESPACE}
    (document,) = read_documents(encode_json(merge_patch(wanted, {"spec": edit})), "edit.yaml")
    there = Surroundings(objects=(*world.world.trees(), *around))
    planned = plan_document(document, there, NAMESPACE, Settings(), world.world.now)
    assert planned is not None
    return "\n".join(planned.notes)


def test_an_edit_that_finds_no_room_says_what_is_missing_and_who_goes_on_serving() -> None:
    world = run(begin())
    told = notes_of(world, {"rayClusterConfig": workers_with(2, 4)}, node(), pod(6))
    assert f"the new RayCluster needs 8 {GPU}, 2 free: it waits until nodes have room" in told
    assert f"{world.active} goes on serving meanwhile" in told


def test_an_upgrade_in_steps_begins_with_its_least_workers() -> None:
    world = live(begin_incremental(), 8)
    edit = {"rayClusterConfig": workers_with(2, 4)}
    assert "needs" not in notes_of(world, edit, node(), pod(6))
    assert f"needs 2 {GPU}, 1 free" in notes_of(world, edit, node(), pod(7))


def test_with_room_and_with_nodes_that_nobody_read_nothing_is_said() -> None:
    world = run(begin())
    edit = {"rayClusterConfig": workers_with(2, 4)}
    assert "needs" not in notes_of(world, edit, node())
    assert "needs" not in notes_of(world, edit)


def test_only_nodes_that_take_pods_and_pods_that_hold_something_count() -> None:
    closed = {**node("n3"), "spec": {"unschedulable": True}}
    room = measure_room([node(), node("n2", is_ready=False), closed, pod(1), pod(2, "Succeeded"), pod(4, on="")])
    assert room is not None
    assert str(room[GPU]) == "7"
    assert measure_room([pod(1)]) is None


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"stepSizePercent": 60}, "stepSizePercent must be less than or equal to maxSurgePercent"),
        ({"intervalSeconds": 0}, "intervalSeconds must be greater than 0"),
        ({"gatewayClassName": ""}, "gatewayClassName is required"),
    ],
)
def test_a_bad_edit_of_the_steps_is_told_and_moves_nothing(edit: Tree, said: str) -> None:
    world = upgraded_to((50, 25, 100, 75))
    refused = live(world.edit(upgradeStrategy={"clusterUpgradeOptions": {**SPLIT, **edit}}), 8)
    assert refused.condition("Ready") == ("False", "ValidationFailed")
    (message,) = [each["message"] for each in refused.status["conditions"] if each["type"] == "Ready"]
    assert said in message
    assert (refused.weights, refused.names("RayCluster")) == (world.weights, world.names("RayCluster"))
