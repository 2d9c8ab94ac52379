"""What is sent to Serve, and when its applications count as ready: by its own report."""

import json

import pytest
from msgspec import structs

from heliostat.plan.rayservice.answers import ApplicationInfo, ServeInfo
from heliostat.plan.rayservice.observed import Remembered
from heliostat.plan.rayservice.same_config import is_same_application
from heliostat.plan.rayservice.serving import REFUSED_AGAIN_AFTER, SEND_AGAIN_AFTER
from plan.rayservice.service_worlds import OTHER_CONFIG, ServiceWorld, act, begin, run, settle

APP = {"name": "app", "import_path": "m:a", "route_prefix": "/"}


def deployed(world: ServiceWorld, config: dict[str, object], status: str = "RUNNING") -> ServiceWorld:
    info = ServeInfo({"app": ApplicationInfo(status, config=dict(config))}, 1.0)
    return structs.replace(world, serve=dict.fromkeys(world.names("RayCluster"), info))


def test_a_restart_sends_nothing_that_runs_already() -> None:
    world = run(begin())
    before = world.configured
    assert run(world.restart()).configured == before


def test_a_configuration_that_somebody_else_changed_is_sent_again() -> None:
    world = run(begin())
    drifted = deployed(world, {"name": "app", "import_path": "m:other", "route_prefix": "/"}).restart()
    assert act(drifted).configured == (*world.configured, world.active)


def test_applications_that_a_lost_head_forgot_are_sent_again() -> None:
    world = run(begin())
    assert act(structs.replace(world, serve={}).after(60)).configured == (*world.configured, world.active)


def test_applications_of_another_configuration_are_not_ready() -> None:
    world = settle(act(settle(act(act(begin())))))
    assert world.pending
    stale = deployed(world, {"name": "app", "import_path": "m:before", "route_prefix": "/"})
    for _ in range(3):
        stale = settle(act(deployed(stale, {"name": "app", "import_path": "m:before", "route_prefix": "/"})))
    assert stale.routed == ""
    assert stale.active == ""


def test_a_configuration_that_was_taken_and_is_not_followed_is_sent_again_later() -> None:
    world = run(begin())
    edited = world.edit(serveConfigV2=OTHER_CONFIG)
    forgotten = structs.replace(act(edited), serve=world.serve)
    assert act(forgotten).configured == forgotten.configured
    assert "ServesOthers" in act(forgotten).waits
    later = act(forgotten.after(SEND_AGAIN_AFTER))
    assert later.configured == (*forgotten.configured, world.active)


def test_a_configuration_that_was_refused_is_told_and_sent_again_later_and_another_one_at_once() -> None:
    world = run(begin())
    sent = act(world.edit(serveConfigV2=OTHER_CONFIG))
    noted = structs.replace(sent.remembered.sent[world.active], refusal="400: no")
    refused = structs.replace(sent, serve=world.serve, remembered=Remembered({world.active: noted}))
    assert act(refused).configured == sent.configured
    assert "ConfigRefused" in act(refused).waits
    assert act(refused.after(REFUSED_AGAIN_AFTER)).configured == (*sent.configured, world.active)
    mended = refused.edit(serveConfigV2=OTHER_CONFIG.replace("m:b", "m:c"))
    assert act(mended).configured == (*sent.configured, world.active)


def test_serve_may_word_a_configuration_differently() -> None:
    world = run(begin())
    sent = act(world.edit(serveConfigV2=OTHER_CONFIG).after(5))
    worded = ServeInfo({"app": ApplicationInfo("RUNNING", config={"name": "app", "told": "otherwise"})}, sent.world.now)
    settled = structs.replace(sent, serve={world.active: worded})
    assert act(settled.after(600)).configured == sent.configured


@pytest.mark.parametrize(
    "config",
    [
        "applications: [",
        "- just\n- a list",
        "applications: {}",
        "applications: [{name: a, route_prefix: /x}, {name: b, route_prefix: /x}]",
        "applications: [{name: a, route_prefix: /x}, {name: a, route_prefix: /y}]",
        "applications: [{name: app, route_prefix: [/x]}]",
        "applications: [{name: {app: 1}, route_prefix: /}]",
        "applications: [{name: app, route_prefix: /, deployments: {d: {num_replicas: 1}}}]",
        "applications: [{name: app, route_prefix: /, deployments: [d]}]",
        "applications: [{name: app, route_prefix: /, deployments: [{name: [d]}]}]",
    ],
)
def test_a_configuration_that_cannot_be_is_told_and_not_sent(config: str) -> None:
    world = run(begin())
    spoilt = run(world.edit(serveConfigV2=config))
    assert spoilt.configured == world.configured
    assert "FailedToUpdateServeApplications" in spoilt.told
    assert (spoilt.active, spoilt.routed) == (world.active, world.active)
    assert spoilt.condition("Ready") == ("True", "NonZeroServeEndpoints")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"logging_config": {"log_level": "DEBUG"}}, {"logging_config": {"log_level": "INFO"}}),
        ({"logging_config": {"log_level": "DEBUG"}}, {}),
        ({}, {"logging_config": {"encoding": "JSON"}}),
        ({}, {"target_capacity": 50}),
    ],
)
def test_an_edit_outside_the_applications_is_sent_once(before: dict[str, object], after: dict[str, object]) -> None:
    world = run(begin(serveConfigV2=json.dumps({**before, "applications": [APP]}))).restart()
    edited = run(world.edit(serveConfigV2=json.dumps({**after, "applications": [APP]})))
    assert edited.configured == (*world.configured, world.active)
    assert set(edited.told[len(world.told) :]) == {"UpdatedServeApplications"}
    assert run(edited.restart()).configured == edited.configured


def test_silence_keeps_what_is_shown_and_sends_nothing() -> None:
    world = run(begin())
    silent = act(structs.replace(world, is_silent=True))
    assert silent.status == world.status
    assert silent.configured == world.configured


@pytest.mark.parametrize(
    ("wanted", "reported", "is_same"),
    [
        ({"name": "a"}, {"name": "a", "route_prefix": "/", "external_scaler_enabled": False}, True),
        ({}, {"name": "default"}, True),
        ({"name": "a"}, {"name": "a", "route_prefix": "/x"}, False),
        ({"name": "a", "route_prefix": None}, {"name": "a", "route_prefix": "/x"}, False),
        ({"name": "a", "route_prefix": None}, {"name": "a", "route_prefix": None}, True),
        ({"name": "a"}, {"name": "a", "external_scaler_enabled": True}, False),
        ({"name": "a"}, {"name": "a", "logging_config": {"encoding": "TEXT"}}, False),
        ({"name": "a"}, {"name": "a", "args": {"x": 1}}, False),
        ({"args": {"x": 1}}, {"args": {"x": 1, "y": 2}}, False),
        ({"deployments": []}, {}, True),
        (
            {"deployments": [{"name": "d", "num_replicas": 1}]},
            {"deployments": [{"name": "d", "num_replicas": 2}]},
            False,
        ),
        (
            {"deployments": [{"name": "d", "autoscaling_config": {"min_replicas": 1}}]},
            {"deployments": [{"name": "d", "autoscaling_config": {"min_replicas": 1.0, "policy": None}}]},
            True,
        ),
        (
            {"deployments": [{"name": "d", "autoscaling_config": {"min_replicas": 1}}]},
            {"deployments": [{"name": "d", "autoscaling_config": {"min_replicas": 1, "max_replicas": 9}}]},
            False,
        ),
        (
            {"deployments": [{"name": "d", "ray_actor_options": {"num_gpus": 1}}]},
            {"deployments": [{"name": "d", "ray_actor_options": {"num_gpus": 1, "num_cpus": 0}}]},
            False,
        ),
        ({"deployments": [{"name": "d"}]}, {"deployments": [{"name": "d", "num_replicas": 2}]}, False),
        ({"deployments": [{"name": "d"}]}, {"deployments": [{"name": "e"}]}, False),
        ({"import_path": "m:a"}, None, False),
    ],
)
def test_what_serve_reports_is_compared_by_what_was_asked(
    wanted: dict[str, object], reported: dict[str, object] | None, is_same: bool
) -> None:
    assert is_same_application(wanted, reported) is is_same
