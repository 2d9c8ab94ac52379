"""Laws of where requests go, for any situation in the middle of an upgrade: one pass is made, and judged.

A situation: what Serve says on each cluster, whether a Pod of it could answer, whether the spec is of the pending
cluster, where the Services point. Whatever it is, requests move only to a cluster that runs what the spec asks for and
could answer; they do move there; and they never move away from one that serves to one that does not.
"""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from heliostat.desired import labels
from heliostat.plan.rayservice.unused import UNUSED_SINCE
from plan.rayservice.service_worlds import NAME, ServiceWorld, act, deploy, settle
from plan.rayservice.test_incremental import upgraded_to
from plan.rayservice.test_lives import start_upgrade
from plan.worlds import pod_template

pytestmark = pytest.mark.slow

THIRD = {"headGroupSpec": {"template": pod_template("ray-head", image="ray:third")}}
RUNNING, SILENT, FORGOTTEN = "RUNNING", "silent", "forgotten"
SHARES = ((50, 0, 100, 100), (50, 25, 100, 75), (100, 50, 50, 50), (100, 75, 50, 25))


class Side(Struct, frozen=True):
    """Of one cluster: the state of its applications or Serve's silence, what they run, whether a Pod could answer."""

    state: str
    is_current: bool
    can_answer: bool

    @property
    def serves(self) -> bool:
        return self.state == RUNNING and self.can_answer

    @property
    def is_ready(self) -> bool:
        return self.state == RUNNING and self.is_current


class Situation(Struct, frozen=True):
    active: Side
    pending: Side
    has_active: bool
    is_third: bool  # the spec is of neither
    routed: str  # active, pending, or nobody yet


# What runs comes up as often as all else together: most laws are about it.
STATES = [RUNNING, RUNNING, RUNNING, RUNNING, "DEPLOYING", "UNHEALTHY", SILENT, FORGOTTEN]
sides = st.builds(Side, st.sampled_from(STATES), st.booleans(), st.booleans())
situations = st.builds(
    Situation, sides, sides, st.booleans(), st.booleans(), st.sampled_from(["active", "pending", ""])
)


@cache
def upgrading() -> ServiceWorld:
    return deploy(settle(act(start_upgrade())))


@cache
def splitting(shares: tuple[int | None, ...]) -> ServiceWorld:
    world = upgraded_to(shares)
    return world.after(60)  # the next step is due


def put_into(world: ServiceWorld, situation: Situation) -> ServiceWorld:
    if situation.is_third:
        world = world.edit(rayClusterConfig=THIRD)
    for name, side in ((world.active, situation.active), (world.pending, situation.pending)):
        world = _put_side(world, name, side)
    return world if situation.has_active else world.without("RayCluster", world.active)


def _put_side(world: ServiceWorld, name: str, side: Side) -> ServiceWorld:
    silent = world.silent_clusters | {name} if side.state == SILENT else world.silent_clusters
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True" if side.can_answer else "False"}]}}
    for pod in (f"{name}-head", f"{name}-worker"):
        world = world.change("Pod", pod, ready)
    told = world.serve[name]
    config = {"name": "app", "import_path": "m:a" if side.is_current else "m:before", "route_prefix": "/"}
    applications = {
        app: structs.replace(each, status=side.state, config=config) for app, each in told.applications.items()
    }
    told = structs.replace(told, applications={} if side.state == FORGOTTEN else applications)
    return structs.replace(world, serve={**world.serve, name: told}, silent_clusters=silent).restart()


def point(world: ServiceWorld, routed: str) -> ServiceWorld:
    for service in (f"{NAME}-serve-svc", f"{NAME}-head-svc"):
        if not routed:
            world = world.without("Service", service)
        else:
            name = world.active if routed == "active" else world.pending
            world = world.change("Service", service, {"spec": {"selector": {labels.CLUSTER: name}}})
    return world


@settings(max_examples=200, deadline=None)
@given(situations)
def test_requests_move_at_once_only_to_a_cluster_that_runs_what_is_asked_for(situation: Situation) -> None:
    world = point(put_into(upgrading(), situation), situation.routed)
    after = act(world)
    can_take = situation.pending.is_ready and not situation.is_third
    can_follow = situation.pending.can_answer or not situation.has_active
    has_moved = situation.routed == "pending"
    if after.routed == world.pending and not has_moved:
        assert can_take
        assert can_follow
    if can_take and can_follow:
        assert after.routed == world.pending, "nothing is left to wait for"
    if has_moved:
        assert after.routed == world.pending, "requests never go back to what is on its way out"
    if not has_moved and not (can_take and can_follow) and situation.has_active:
        assert after.routed == world.active, "who serves goes on serving"
    assert _head_target(after) in (after.routed, "")
    _check_kept(world, after, {after.routed, world.routed})


@settings(max_examples=200, deadline=None)
@given(situations, st.sampled_from(SHARES))
def test_requests_move_in_steps_only_to_a_cluster_that_could_take_them(
    situation: Situation, shares: tuple[int | None, ...]
) -> None:
    before = splitting(shares)
    world = put_into(before, situation)
    after = act(world)
    weights = after.weights
    assert sum(weights.values()) == 100
    gained = {name: weight - world.weights.get(name, 0) for name, weight in weights.items()}
    if gained.get(world.pending, 0) > 0:
        assert gained[world.pending] <= 25
        assert situation.pending.is_ready
        assert situation.pending.can_answer
        assert not situation.is_third
        assert weights[world.pending] <= (after.shares[0] or 0), "capacity covers what it gets"
    if gained.get(world.active, 0) > 0:
        assert situation.is_third, "forward nothing comes back"
        assert situation.active.can_answer or not situation.pending.serves
    if situation.has_active:
        assert after.active == world.active, "all requests have to be there first"
    elif situation.pending.is_ready and not situation.is_third and (before.shares[0] or 0) > 0:
        assert after.active == world.pending, "nobody else could serve"
    _check_kept(world, after, {name for name, weight in world.weights.items() if weight})


def _head_target(world: ServiceWorld) -> str:
    found = [each for each in world.of_kind("Service") if each["metadata"]["name"] == f"{NAME}-head-svc"]
    return str(found[0]["spec"]["selector"][labels.CLUSTER]) if found else ""


def _check_kept(world: ServiceWorld, after: ServiceWorld, routed: set[str]) -> None:
    """What gets requests is neither deleted nor counted as unused."""
    for name in routed & world.names("RayCluster"):
        (cluster,) = [each for each in after.of_kind("RayCluster") if each["metadata"]["name"] == name]
        assert UNUSED_SINCE not in cluster["metadata"].get("annotations", {})


def test_the_situations_are_in_the_middle_of_an_upgrade() -> None:
    assert upgrading().routed == upgrading().active
    assert upgrading().pending
    assert [splitting(shares).shares for shares in SHARES] == list(SHARES)
