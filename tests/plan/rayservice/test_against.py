"""What ``plan`` says before an edit: nothing, in place, or another cluster, and which field decides."""

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import copy_tree, encode_json, merge_patch
from heliostat.plan.against import Planned, plan_document
from heliostat.plan.kind import Surroundings
from plan.rayservice.service_worlds import OTHER_CONFIG, ServiceWorld, begin, begin_incremental, run
from plan.rayservice.test_incremental import OLD_IMAGE, THIRD_IMAGE, live, upgraded_to
from plan.rayservice.test_lives import NEW_IMAGE
from plan.rayservice.test_overdue import ASKED, stall
from plan.worlds import NAMESPACE, Tree


def plan_edit(world: ServiceWorld, edit: Tree) -> Planned:
    assert world.service is not None
    wanted = {key: copy_tree(world.service[key]) for key in ("apiVersion", "kind", "spec")}
    wanted["metadata"] = {"name": world.service["metadata"]["name"], "namespace": NAMESPACE}
    there = Surroundings(objects=tuple(world.world.trees()))
    (document,) = read_documents(encode_json(merge_patch(wanted, {"spec": edit})), "edit.yaml")
    planned = plan_document(document, there, NAMESPACE, Settings(), world.world.now)
    assert planned is not None
    return planned


CONTAINER = {"name": "ray-head", "image": "ray:other"}
IMAGE = {"rayClusterConfig": {"headGroupSpec": {"template": {"spec": {"containers": [CONTAINER]}}}}}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({}, "the RayCluster stays as it is"),
        ({"serveConfigV2": OTHER_CONFIG}, "Serve updates its applications in place, because of spec.serveConfigV2"),
        (IMAGE, "spec.rayClusterConfig.headGroupSpec.template.spec.containers[0].image"),
        (IMAGE, "a new RayCluster is made beside"),
        ({**IMAGE, "upgradeStrategy": {"type": "None"}}, "upgrades are off"),
        ({"rayClusterConfig": {"rayVersion": "2.53.0"}}, "because of spec.rayClusterConfig.rayVersion;"),
    ],
)
def test_the_plan_says_what_an_edit_will_be_and_which_field_decides(edit: Tree, said: str) -> None:
    assert said in "\n".join(plan_edit(run(begin()), edit).notes)


def test_an_added_group_is_told_as_a_change_in_place() -> None:
    world = run(begin())
    assert world.service is not None
    (stored,) = world.service["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    edit = {"rayClusterConfig": {"workerGroupSpecs": [stored, {**stored, "groupName": "second"}]}}
    (note,) = plan_edit(world, edit).notes
    assert note.startswith("the RayCluster is changed in place, because of spec.rayClusterConfig.workerGroupSpecs[1]")


def test_a_new_service_is_told_as_one() -> None:
    world = begin()
    assert world.service is not None
    (document,) = read_documents(encode_json(world.service), "new.yaml")
    planned = plan_document(document, Surroundings(), NAMESPACE, Settings(), world.world.now)
    assert planned is not None
    assert planned.notes == ("a new RayCluster is made; requests are taken when its applications run",)


def test_a_refused_edit_has_its_findings_and_no_word_about_clusters() -> None:
    planned = plan_edit(run(begin()), {"upgradeStrategy": {"type": "Sometimes"}})
    assert planned.notes == ()
    assert any(problem.severity == "error" for problem in planned.problems)


def test_an_upgrade_in_steps_is_told_with_its_pace_and_its_way_back() -> None:
    world = live(begin_incremental(), 8)
    (note,) = plan_edit(world, IMAGE).notes
    assert "requests move there by 25 % every 4 s, with at most 150 % of the capacity in both" in note
    half = upgraded_to((50, 25, 100, 75))
    (note,) = plan_edit(half, {"rayClusterConfig": OLD_IMAGE}).notes
    assert note == f"the upgrade is undone: requests go back to {half.active} step by step"
    (note,) = plan_edit(half, {"rayClusterConfig": THIRD_IMAGE}).notes
    assert "and then to a new RayCluster, because of spec.rayClusterConfig.headGroupSpec" in note


def test_an_upgrade_that_was_given_up_is_told_as_such_and_another_spec_as_a_new_one() -> None:
    given_up = stall(run(begin(**ASKED)).edit(rayClusterConfig=NEW_IMAGE), 36)
    (note,) = plan_edit(given_up, {}).notes
    assert "took too long, and is not tried again" in note
    planned = plan_edit(given_up, {"rayClusterConfig": THIRD_IMAGE})
    assert "a new RayCluster is made beside" in planned.notes[0]
    assert planned.plan is not None
    assert planned.plan.status is not None, "it writes the next cluster's name down"


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ((), ""),
        (("any",), ""),
        (("heliostat",), "gatewayClassName: there is no GatewayClass any, so nobody would serve the Gateway"),
    ],
    ids=["not read", "there", "another one"],
)
def test_a_gateway_class_that_is_not_there_is_told_before_anybody_waits_for_it(
    classes: tuple[str, ...], said: str
) -> None:
    world = begin_incremental()
    assert world.service is not None
    there = tuple(
        {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": name}}
        for name in classes
    )
    (document,) = read_documents(encode_json(world.service), "new.yaml")
    planned = plan_document(document, Surroundings(objects=there), NAMESPACE, Settings(), world.world.now)
    assert planned is not None
    told = [note for note in planned.notes if "GatewayClass" in note]
    assert (said in told[0]) if said else not told
