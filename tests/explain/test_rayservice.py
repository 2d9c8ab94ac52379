"""What ``explain`` says of a RayService: how it is, and what it waits for."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, Sentence, format_explanation
from heliostat.explain.rayservice.service import explain_service
from heliostat.explain.scene import OperatorPresence, Scene
from heliostat.plan.rayservice.answers import ServeInfo
from plan.rayservice.service_worlds import NAME, OTHER_CONFIG, ServiceWorld, act, begin, deploy, run, settle
from plan.worlds import pod_template

NEW_IMAGE = {"headGroupSpec": {"template": pod_template("ray-head", nodeName="other")}}


def explain(
    world: ServiceWorld,
    *,
    cluster: str = "",
    operator: OperatorPresence = OperatorPresence.UNKNOWN,
    silence: str = "",
    serve: ServeInfo | None = None,
    events: tuple[dict[str, Any], ...] = (),
) -> Explanation:
    assert world.service is not None
    trees = tuple(world.world.trees())
    found = next((tree for tree in trees if tree["kind"] == "RayCluster" and tree["metadata"]["name"] == cluster), {})
    scene = Scene(
        tree=world.service,
        cluster=found,
        objects=trees,
        now=world.world.now,
        operator=operator,
        silence=silence,
        serve=serve,
        events=events,
    )
    return explain_service(scene, Settings())


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


@pytest.mark.parametrize("config", ["", "applications: []"])
def test_a_service_that_asks_for_no_application_is_told_that_it_never_gets_ready(config: str) -> None:
    explained = explain(run(begin(serveConfigV2=config)))
    assert not explained.is_ready
    (sentence,) = explained.sentences
    assert sentence.what == "spec.serveConfigV2 asks for no application"
    assert "never gets ready" in str(sentence)
    assert sentence.fix.startswith("name one there")


def test_what_people_have_to_mend_is_told() -> None:
    world = run(begin())
    foreign = world.change("Service", f"{NAME}-head-svc", {"metadata": {"ownerReferences": None}})
    assert "svc-head-svc" in texts(foreign)
    off = run(begin(upgradeStrategy={"type": "None"})).edit(rayClusterConfig=NEW_IMAGE)
    assert "upgrades are turned off" in texts(off)


def test_a_suspended_service_says_so() -> None:
    assert explain(run(run(begin()).edit(suspend=True))).verdict == "is suspended"


def fail_with(message: str) -> Sentence:
    """What is told of an application that failed so on the next cluster."""
    world = run(begin()).edit(rayClusterConfig=NEW_IMAGE)
    for _ in range(4):
        world = deploy(settle(act(world)), "DEPLOY_FAILED")
    assert world.service is not None
    world.service["status"]["pendingServiceStatus"]["applicationStatuses"]["app"]["message"] = message
    explained = explain(world)
    assert "   its last lines:\n     Traceback" in format_explanation(explained)
    return explained.sentences[0]


def test_what_an_application_says_last_is_told_as_it_is_without_the_frames_of_ray() -> None:
    sentence = fail_with(
        "Deploying app 'app' failed with exception:\nTraceback (most recent call last):\n"
        '  File "/x/site-packages/ray/serve/_private/application_state.py", line 672, in _reconcile\n'
        "    args = ray.get(task)\n"
        '  File "/home/ray/code/stand.py", line 3, in <module>\n'
        "    import prices\nModuleNotFoundError: No module named 'prices'\n"
    )
    assert sentence.why == "Deploying app 'app' failed with exception"
    assert sentence.lines == (
        "Traceback (most recent call last):",
        '  File "/home/ray/code/stand.py", line 3, in <module>',
        "    import prices",
        "ModuleNotFoundError: No module named 'prices'",
    )


def test_a_bare_traceback_is_no_reason_in_words() -> None:
    sentence = fail_with(
        'Traceback (most recent call last):\n  File "/x/site-packages/ray/serve/api.py", line 6, in bind\n    run()\n'
        "ValueError: Deployment 'Ecco' does not exist. Available: ['Echo']\n"
    )
    assert sentence.why == ""
    assert sentence.lines[-1] == "ValueError: Deployment 'Ecco' does not exist. Available: ['Echo']"


def test_a_dashboard_that_does_not_answer_is_told_before_what_follows_from_it() -> None:
    world = run(begin()).edit(rayClusterConfig=NEW_IMAGE)
    for _ in range(4):
        world = settle(act(world))
    explained = explain(world, cluster=world.pending, silence="connection refused")
    told = [sentence.what for sentence in explained.sentences]
    assert f"the dashboard of {world.pending} does not answer for Serve" in told


REFUSED = (
    "Failed to update serve applications to the RayCluster {}/{}: PUT /api/v1/namespaces/default/services/x-head-svc"
    ":dashboard/proxy/api/serve/applications/: 400: 1 validation error for ServeDeploySchema\napplications.0"
    ".import_path\n  Field required [type=missing]\n    For further information visit https://errors.pydantic.dev/2/v/missing"
)


def test_what_serve_said_to_a_configuration_that_it_did_not_take_is_told_while_it_has_another_one() -> None:
    world = run(begin())
    assert world.service is not None
    about = {"kind": "RayService", "name": NAME, "uid": world.service["metadata"]["uid"]}
    note = REFUSED.format(world.service["metadata"]["namespace"], world.active)
    event = {"type": "Warning", "reason": "FailedToUpdateServeApplications", "regarding": about, "note": note}
    has = world.serve[world.active]
    assert explain(world, cluster=world.active, serve=has, events=(event,)).sentences == ()
    (sentence,) = explain(
        world.edit(serveConfigV2=OTHER_CONFIG), cluster=world.active, serve=has, events=(event,)
    ).sentences
    assert sentence.what == f"Serve on {world.active} did not take spec.serveConfigV2"
    words = "400: 1 validation error for ServeDeploySchema applications.0.import_path Field required [type=missing]"
    assert (sentence.why, sentence.fix) == (words, "correct it, and apply it again")


def test_replicas_that_no_node_has_room_for_are_not_to_be_waited_for() -> None:
    world = run(begin())
    assert world.service is not None
    message = (
        "Deployment 'D' in application 'app' has 1 replicas that have taken more than 30s to be scheduled. Resources"
        ' required for each replica: {"CPU": 64.0}, total resources available: {"CPU": 2.0}.'
    )
    app = {"status": "DEPLOYING", "serveDeploymentStatuses": {"D": {"status": "UPDATING", "message": message}}}
    world.service["status"]["activeServiceStatus"]["applicationStatuses"]["app"] = app
    (sentence,) = explain(world).sentences
    assert '{"CPU": 64.0}' in sentence.why
    assert sentence.fix.startswith("ask for less in spec.serveConfigV2 (ray_actor_options")


def test_an_absent_operator_is_told_first() -> None:
    explained = explain(begin(), operator=OperatorPresence.ABSENT)
    assert explained.sentences[0].what == "no operator seems to be running"
