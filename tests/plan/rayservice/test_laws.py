"""Laws of a RayService's planner under any history: users, Serve, other controllers and time move in any order.

In every step: requests that go to a cluster go on going to one whose applications were seen running; the active cluster
changes only to the one that requests go to; no cluster goes that requests go to; at most two clusters are in use; a
restart sends nothing that runs. In the end the planner rests.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from plan.rayservice.service_worlds import CONFIG, OTHER_CONFIG, ServiceWorld, act, begin, deploy, run, settle
from plan.worlds import pod_template

pytestmark = pytest.mark.slow

MOVES = ("act", "settle", "deploy", "unhealthy", "wait", "wait long", "image a", "image b", "config a", "config b",
         "suspend", "resume", "spoil", "mend", "silence", "voice", "forget", "restart", "lose active", "lose pending",
         "proxies ill", "proxies well")  # fmt: skip


def image(name: str) -> dict[str, object]:
    return {"headGroupSpec": {"template": pod_template("ray-head", nodeName=name)}}


def move(world: ServiceWorld, what: str) -> ServiceWorld:
    match what:
        case "act":
            return act(world)
        case "settle":
            return settle(world)
        case "deploy" | "unhealthy":
            return deploy(world, "RUNNING" if what == "deploy" else "UNHEALTHY")
        case "wait" | "wait long":
            return world.after(7 if what == "wait" else 400)
        case "restart":
            return world.restart()
        case "lose active" | "lose pending":
            name = world.active if what == "lose active" else world.pending
            return world.without("RayCluster", name) if name in world.names("RayCluster") else world
    return _edit(world, what) if what in EDITS else structs.replace(world, **_OUTSIDE[what])


EDITS: dict[str, dict[str, object]] = {
    "image a": {"rayClusterConfig": image("a")},
    "image b": {"rayClusterConfig": image("b")},
    "config a": {"serveConfigV2": CONFIG},
    "config b": {"serveConfigV2": OTHER_CONFIG},
    "suspend": {"suspend": True},
    "resume": {"suspend": False},
    "spoil": {"rayClusterDeletionDelaySeconds": -1},
    "mend": {"rayClusterDeletionDelaySeconds": 10},
}
_OUTSIDE: dict[str, dict[str, object]] = {
    "silence": {"is_silent": True},
    "voice": {"is_silent": False},
    "forget": {"serve": {}},
    "proxies ill": {"are_proxies_healthy": False},
    "proxies well": {"are_proxies_healthy": True},
}


def _edit(world: ServiceWorld, what: str) -> ServiceWorld:
    return world.edit(**EDITS[what])


def check(before: ServiceWorld, after: ServiceWorld) -> None:
    is_suspending = after.condition("Suspending")[0] == "True"
    if before.routed and after.routed != before.routed and after.routed:
        told = before.serve[after.routed].applications
        assert told
        assert all(each.status == "RUNNING" for each in told.values())
    if before.routed and before.routed == before.pending and not is_suspending:
        assert after.routed == before.routed, "requests never go back to what is on its way out"
    if after.active != before.active and after.active:
        assert after.active == before.routed
    if before.routed in before.names("RayCluster") and not is_suspending:
        assert before.routed in after.names("RayCluster")
    if not is_suspending:
        used = {after.active, after.pending} - {""}
        noted = {each["metadata"]["name"] for each in after.of_kind("RayCluster")} - used
        assert len(used) <= 2
        assert after.routed not in noted or after.routed == before.routed


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(MOVES), max_size=40), st.sampled_from([None, "None", "NewCluster"]))
def test_whatever_happens_requests_go_where_applications_run_and_the_planner_comes_to_rest(
    moves: list[str], strategy: str | None
) -> None:
    world = run(begin(**({} if strategy is None else {"upgradeStrategy": {"type": strategy}})))
    for what in moves:
        after = move(world, what)
        if what == "act":
            check(world, after)
        world = after
    world = structs.replace(world, is_silent=False, are_proxies_healthy=True)
    world = world.edit(suspend=False, rayClusterDeletionDelaySeconds=10, serveConfigV2=CONFIG)
    for _ in range(3):
        world = run(world).after(60)
    world = run(world)
    assert world.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert world.routed == world.active
    assert world.names("RayCluster") == {world.active}
    assert world.plan().is_empty
    assert run(world.restart()).configured == world.configured
