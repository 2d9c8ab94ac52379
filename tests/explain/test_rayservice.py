"""What ``explain`` says of a RayService: how it is, and what it waits for."""

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation
from heliostat.explain.raycluster.cluster import Scene
from heliostat.explain.rayservice.service import ServiceScene, explain_service
from plan.rayservice.service_worlds import NAME, ServiceWorld, act, begin, deploy, run, settle
from plan.worlds import pod_template

NEW_IMAGE = {"headGroupSpec": {"template": pod_template("ray-head", nodeName="other")}}


def explain(world: ServiceWorld) -> Explanation:
    assert world.service is not None
    scene = Scene(cluster={}, objects=tuple(world.world.trees()), now=world.world.now)
    return explain_service(ServiceScene(world.service, scene), Settings())


def texts(world: ServiceWorld) -> str:
    return "\n".join(str(sentence) for sentence in explain(world).sentences)


def test_a_service_that_serves_has_nothing_to_tell() -> None:
    explained = explain(run(begin()))
    assert (explained.verdict, explained.is_ready) == ("serves with 2 Pods", True)
    assert explained.sentences == ()


def test_an_upgrade_tells_where_it_goes_and_which_application_it_waits_for() -> None:
    world = run(begin()).edit(rayClusterConfig=NEW_IMAGE)
    for _ in range(4):
        world = deploy(settle(act(world)), "DEPLOY_FAILED")
    explained = explain(world)
    assert explained.verdict == f"serves with 2 Pods, and moves from {world.active} to {world.pending}"
    assert f"application app is DEPLOY_FAILED on {world.pending}" in texts(world)


def test_what_people_have_to_mend_is_told() -> None:
    world = run(begin())
    foreign = world.change("Service", f"{NAME}-head-svc", {"metadata": {"ownerReferences": None}})
    assert "svc-head-svc" in texts(foreign)
    off = run(begin(upgradeStrategy={"type": "None"})).edit(rayClusterConfig=NEW_IMAGE)
    assert "upgrades are turned off" in texts(off)


def test_a_suspended_service_says_so() -> None:
    assert explain(run(run(begin()).edit(suspend=True))).verdict == "is suspended"
