"""Lives of RayServices whose requests move in steps: forward, back, to a third spec, and with something broken."""

from itertools import pairwise

import pytest
from msgspec import structs

from heliostat.api.settings import Settings, default_gates
from heliostat.kube.lookups import GATEWAY, HTTP_ROUTE
from heliostat.plan.rayservice.suspend import SIGHT_SECONDS
from plan.rayservice.service_worlds import (
    NAME,
    OTHER_CONFIG,
    ServiceWorld,
    accept_routing,
    act,
    begin_incremental,
    deploy,
    settle,
)
from plan.rayservice.test_lives import NEW_IMAGE, OTHER_PORT, list_ports
from plan.worlds import pod_template

THIRD_IMAGE = {"headGroupSpec": {"template": pod_template("ray-head", image="ray:third")}}
OLD_IMAGE = {"headGroupSpec": {"template": {"spec": {"image": None}}}}


def tick(world: ServiceWorld, seconds: float = 1.0) -> ServiceWorld:
    return deploy(settle(act(world))).after(seconds)


def live(world: ServiceWorld, ticks: int) -> ServiceWorld:
    for _ in range(ticks):
        world = tick(world)
    return world


def served(**options: int) -> ServiceWorld:
    world = live(begin_incremental(**options), 8)
    assert world.weights == {world.active: 100}
    return world


def pass_through(world: ServiceWorld, most: int = 60) -> tuple[ServiceWorld, list[tuple[int | None, ...]]]:
    """Until the upgrade is over, with the shares that the status told on the way."""
    told: list[tuple[int | None, ...]] = []
    for _ in range(most):
        world = tick(world)
        if world.shares not in told[-1:]:
            told.append(world.shares)
        if told and world.condition("UpgradeInProgress")[0] == "False":
            break
    return world, told


def upgraded_to(shares: tuple[int | None, ...], **options: int) -> ServiceWorld:
    """In the middle of an upgrade, where the status tells this."""
    world = served(**options).edit(rayClusterConfig=NEW_IMAGE)
    for _ in range(60):
        world = tick(world)
        if world.shares == shares:
            return world
    raise AssertionError(f"never at {shares}")


def test_a_first_deployment_has_a_gateway_and_all_requests() -> None:
    world = served()
    assert world.names("Gateway") == {f"{NAME}-gateway"}
    assert f"{world.active}-serve-svc" in world.names("Service")
    assert f"{NAME}-serve-svc" not in world.names("Service")
    assert world.shares == (None, None, 100, 100)
    assert world.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert world.plan().is_empty


def test_an_upgrade_passes_through_kuberays_steps() -> None:
    world = served()
    before = world.active
    moved, told = pass_through(world.edit(rayClusterConfig=NEW_IMAGE))
    assert told == [
        (0, None, 100, 100), (50, None, 100, 100), (50, 0, 100, 100), (50, 25, 100, 75), (50, 50, 50, 50),
        (100, 50, 50, 50), (100, 75, 50, 25), (100, 100, 50, 0), (None, None, 100, 100),
    ]  # fmt: skip
    assert moved.active != before
    assert tick(moved).weights == {moved.active: 100}
    assert live(live(moved, 3).after(60), 3).names("RayCluster") == {moved.active}


@pytest.mark.parametrize(("step", "interval", "surge"), [(100, 1, 100), (25, 5, 50), (5, 10, 25)])
def test_who_looks_once_a_second_sees_every_step(step: int, interval: int, surge: int) -> None:
    """KubeRay's own tests follow an upgrade so: they ask for one after the other, the last one included."""
    world = served(surge=surge, step=step, interval=interval).edit(rayClusterConfig=NEW_IMAGE)
    for place, value in list_steps(step, surge):
        for _ in range(60):
            if world.shares[place] == value:
                break
            for _ in range(4):
                world = tick(world, 0.25)
        assert world.shares[place] == value, f"{world.shares} before {value}"
        world = tick(world, 0.25)  # a request between two looks
    assert live(world, 8).condition("UpgradeInProgress") == ("False", "NoPendingCluster")


def list_steps(step: int, surge: int) -> list[tuple[int, int]]:
    """Where in the shares, and what is told there."""
    steps, capacity, traffic, left = list[tuple[int, int]](), 0, 0, 100
    while traffic < 100:
        capacity = min(capacity + surge, 100)
        steps.append((0, capacity))
        while traffic < capacity:
            traffic = min(traffic + step, 100)
            steps += [(1, traffic), (3, 100 - traffic)]
        left = max(left - surge, 0)
        steps += [(2, left)] if left else []
    return steps


def test_the_first_capacity_of_a_pending_cluster_is_told_with_its_applications() -> None:
    """KubeRay: rayservice.md §6.4; it sends them without any first, and the capacity in a second call."""
    world = served()
    assert "UpdatedServeTargetCapacity" not in world.told
    upgrading = upgraded_to((50, None, 100, 100))
    assert upgrading.told[-2:] == ("UpdatedServeApplications", "UpdatedServeTargetCapacity")
    assert upgrading.configured == (upgrading.active, upgrading.pending)
    stuck = live(structs.replace(world, has_gateways=False).without("Gateway", f"{NAME}-gateway"), 2)
    stuck = live(stuck.edit(rayClusterConfig=NEW_IMAGE), 8)
    assert (stuck.shares[0], stuck.configured[-1]) == (0, stuck.pending)
    assert "UpdatedServeTargetCapacity" not in stuck.told


def test_replicas_are_left_to_the_autoscaler_while_another_cluster_serves() -> None:
    world = live(served().edit(rayClusterConfig=NEW_IMAGE), 3)
    groups = {
        each["metadata"]["name"]: each["spec"]["workerGroupSpecs"][0].get("replicas")
        for each in world.of_kind("RayCluster")
    }
    assert groups == {world.active: 1, world.pending: None}


def test_a_group_that_is_added_in_place_begins_with_the_autoscalers_minimum() -> None:
    """KubeRay: rayservice.md §4.7; what the autoscaler chose for the others stays (rayservice-kept-replicas)."""
    world = served()
    assert world.service is not None
    (first,) = world.service["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    grown = live(world.edit(rayClusterConfig={"workerGroupSpecs": [first, {**first, "groupName": "h"}]}), 3)
    (cluster,) = grown.of_kind("RayCluster")
    groups = cluster["spec"]["workerGroupSpecs"]
    assert [(each["groupName"], each.get("replicas")) for each in groups] == [("g", 1), ("h", None)]
    assert grown.active == world.active


def test_requests_move_only_after_each_interval_and_only_as_far_as_there_is_capacity() -> None:
    world, moves = served(surge=30, step=25, interval=7).edit(rayClusterConfig=NEW_IMAGE), list[float]()
    while world.condition("UpgradeInProgress")[0] != "False" or not moves:
        after = tick(world)
        if after.pending == world.pending and after.weights.get(after.pending) != world.weights.get(world.pending):
            moves.append(world.world.now)
        world = after
    gaps = [later - earlier for earlier, later in pairwise(moves)]
    assert len(moves) == 8, "its first appearance counts"
    assert min(gaps) >= 7


def test_nothing_moves_without_a_gateway_that_somebody_serves_and_the_plan_says_so() -> None:
    world = live(structs.replace(begin_incremental(), has_gateways=False), 8)
    assert world.condition("Ready")[0] == "True"
    stuck = live(world.edit(rayClusterConfig=NEW_IMAGE), 20)
    assert stuck.shares[0] == 0
    assert stuck.weights[stuck.active] == 100
    assert "GatewayNotReady" in stuck.waits
    (wait,) = [each for each in stuck.plan().waits if each.reason == "GatewayNotReady"]
    assert "gatewayClassName is any" in wait.message
    freed, _ = pass_through(structs.replace(stuck, has_gateways=True))
    assert freed.active == stuck.pending


def test_a_route_that_was_not_taken_up_holds_the_next_step_for_a_while() -> None:
    world = upgraded_to((50, 25, 100, 75))
    held = live(structs.replace(world, has_gateways=False), 8)  # nobody looks at the route any more
    assert held.shares == (50, 50, 100, 50)
    assert "RouteNotReady" in held.waits
    assert live(held, 12).shares[0] == 100


def test_capacity_that_serve_does_not_have_yet_gets_no_requests() -> None:
    world = upgraded_to((50, 0, 100, 100))
    for _ in range(12):
        world = deploy(settle(act(world)), "DEPLOYING").after(1)
    assert world.weights[world.pending] == 0
    assert "UpgradeStep" in world.waits
    assert live(world, 4).weights[world.pending] == 25


def test_a_cluster_without_a_pod_that_could_answer_gets_no_requests() -> None:
    world = upgraded_to((50, 0, 100, 100))
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    for _ in range(8):
        world = act(deploy(world)).after(1)
        for pod in (f"{world.pending}-head", f"{world.pending}-worker"):
            world = world.change("Pod", pod, unready)
    assert world.weights[world.pending] == 0
    assert "NoEndpoint" in world.waits


def test_a_silent_dashboard_of_the_active_cluster_does_not_stop_requests_from_moving() -> None:
    world = upgraded_to((50, 25, 100, 75))
    before = world.active
    quiet = structs.replace(world, silent_clusters=frozenset({before}))
    moved, told = pass_through(quiet)
    assert moved.active == world.pending
    assert (100, 75, 50, 25) in told


def test_each_cluster_is_reached_at_its_own_port_while_the_port_changes() -> None:
    world = served().edit(rayClusterConfig=OTHER_PORT)
    former = world.active
    for _ in range(30):
        world = tick(world)
        assert world.route_ports[former] == 8000
        if len(world.weights) == 2:
            break
    world = live(world.without("Service", f"{former}-serve-svc"), 2)
    assert world.route_ports == {former: 8000, world.pending: 9000}
    ports = {name: [port["port"] for port in list_ports(world, f"{name}-serve-svc")] for name in world.weights}
    assert ports == {former: [8000], world.pending: [9000]}


def test_weights_that_somebody_else_wrote_are_put_right() -> None:
    world = upgraded_to((50, 25, 100, 75))
    route = world.of_kind("HTTPRoute")[0]
    refs = route["spec"]["rules"][0]["backendRefs"]
    spoilt = [{**refs[0], "weight": 3}, {**refs[1], "weight": 97}]
    rules = [{**route["spec"]["rules"][0], "backendRefs": spoilt}]
    world = accept_routing(world.change("HTTPRoute", f"{NAME}-httproute", {"spec": {"rules": rules}}))
    mended = act(world)
    assert mended.shares == (50, 25, 100, 75)
    assert mended.weights == {world.active: 75, world.pending: 25}


def test_what_a_server_fills_in_is_no_reason_to_write() -> None:
    world = served()
    listener = {"name": "http", "protocol": "HTTP", "port": 80, "allowedRoutes": {"namespaces": {"from": "Same"}}}
    filled = world.change("Gateway", f"{NAME}-gateway", {"spec": {"listeners": [listener]}})
    route = filled.of_kind("HTTPRoute")[0]
    (rule,) = route["spec"]["rules"]
    refs = [{"group": "", "kind": "Service", **ref} for ref in rule["backendRefs"]]
    parents = [{"group": "gateway.networking.k8s.io", "kind": "Gateway", **ref} for ref in route["spec"]["parentRefs"]]
    spec = {"parentRefs": parents, "rules": [{**rule, "backendRefs": refs}]}
    filled = filled.change("HTTPRoute", f"{NAME}-httproute", {"spec": spec})
    assert accept_routing(filled).plan().is_empty


@pytest.mark.parametrize(
    "shares", [(0, None, 100, 100), (50, 0, 100, 100), (50, 25, 100, 75), (100, 50, 50, 50), (100, 75, 50, 25)]
)
def test_an_edit_back_leads_to_the_former_routing(shares: tuple[int | None, ...]) -> None:
    world = upgraded_to(shares)
    former, left = world.active, world.pending
    edited = act(world.edit(rayClusterConfig=OLD_IMAGE))
    assert not shares[1] or edited.condition("RollbackInProgress")[1] == "DesiredClusterSpecChanged"
    back, told = pass_through(deploy(settle(edited)))
    assert (back.active, back.pending) == (former, "")
    assert back.condition("RollbackInProgress") == ("", "")
    assert back.condition("UpgradeInProgress") == ("False", "NoPendingCluster")
    assert back.shares == (None, None, 100, 100)
    settled = live(back, 2)
    assert settled.weights == {former: 100}
    assert left not in live(settled.after(60), 4).names("RayCluster")
    traffic = [each[3] for each in told]
    assert traffic == sorted(traffic, key=lambda each: each or 0)


@pytest.mark.parametrize("is_alive", [True, False])
def test_who_looks_once_a_second_sees_the_way_back_also_when_it_is_a_single_step(*, is_alive: bool) -> None:
    """KubeRay's own tests wait for the condition; its passes are 2 s apart."""
    world = upgraded_to((50, 25, 100, 75)).after(60).edit(rayClusterConfig=OLD_IMAGE)
    seen: list[tuple[str, tuple[int | None, ...]]] = []
    for _ in range(4):
        for _ in range(10):
            world = act(world)
            world = accept_routing(world) if not is_alive else deploy(settle(world))
            world = world if is_alive else lose_head(world)
            world = world.after(0.1)
        seen.append((world.condition("RollbackInProgress")[0], world.shares))
    assert seen[0] == ("True", (50, 0, 100, 100))
    assert seen[-1] == ("", (None, None, 100, 100))


def lose_head(world: ServiceWorld) -> ServiceWorld:
    if not world.pending:
        return world
    return world.change("RayCluster", world.pending, {"status": {"conditions": []}})


def test_a_change_of_mind_on_the_way_back_goes_forward_again() -> None:
    world = upgraded_to((100, 50, 50, 50))
    turned = live(world.edit(rayClusterConfig=OLD_IMAGE), 4)
    assert turned.condition("RollbackInProgress")[0] == "True"
    again = act(turned.edit(rayClusterConfig=NEW_IMAGE))
    assert again.condition("RollbackInProgress") == ("", "")
    moved, _ = pass_through(deploy(settle(again)))
    assert moved.active == world.pending


def test_a_third_spec_goes_back_first_and_then_to_a_third_cluster() -> None:
    world = upgraded_to((100, 50, 50, 50))
    former, second = world.active, world.pending
    edited = world.edit(rayClusterConfig=THIRD_IMAGE, serveConfigV2=OTHER_CONFIG)
    for _ in range(30):
        edited = tick(edited)
        if edited.pending != second:
            break
        assert edited.active == former
        assert "m:b" not in str(edited.serve[former]), "the third configuration is for the third cluster"
    assert edited.weights[former] == 100
    moved, _ = pass_through(edited)
    assert moved.active not in (former, second)
    assert "m:b" in str(moved.serve[moved.active])


def test_the_configuration_of_the_next_cluster_does_not_reach_the_one_that_serves() -> None:
    world = served()
    edited = live(world.edit(rayClusterConfig=NEW_IMAGE, serveConfigV2=OTHER_CONFIG), 16)
    assert edited.shares[2] == 50, "its capacity was changed"
    assert "m:a" in str(edited.serve[world.active])
    assert "m:b" in str(edited.serve[edited.pending])


def test_a_pending_cluster_that_died_does_not_hold_up_the_way_back() -> None:
    world = upgraded_to((100, 75, 50, 25))
    dead = world.without("RayCluster", world.pending).edit(rayClusterConfig=OLD_IMAGE)
    back, _ = pass_through(dead)
    assert (back.active, back.pending) == (world.active, "")
    assert world.pending not in back.names("RayCluster"), "it is not made again"


def test_a_pending_cluster_that_died_gives_its_requests_back_and_starts_anew() -> None:
    world = upgraded_to((100, 75, 50, 25))
    lost = live(world.without("RayCluster", world.pending), 1)
    assert lost.shares[2] == 100
    again = live(lost, 1)
    assert again.weights[world.active] == 100
    moved, _ = pass_through(live(again, 2))
    assert moved.active == world.pending


def test_without_the_active_cluster_the_pending_one_takes_everything_as_soon_as_it_runs() -> None:
    world = upgraded_to((50, 25, 100, 75))
    lost = tick(world.without("RayCluster", world.active))
    assert lost.active == world.pending
    assert "RollbackImpossible" in lost.told
    after = live(lost, 2)
    assert after.weights == {after.active: 100}
    assert after.shares[2] == 100


def test_suspended_in_the_middle_nothing_is_left_and_it_comes_back_whole() -> None:
    world = upgraded_to((50, 25, 100, 75))
    suspended = live(world.edit(suspend=True), 5)
    assert suspended.condition("Suspended") == ("True", "SuspendComplete")
    for kind in ("RayCluster", "Gateway", "HTTPRoute"):
        assert suspended.names(kind) == set()
    assert {"DeletedGateway", "DeletedHTTPRoute"} <= set(suspended.told)
    resumed = live(suspended.edit(suspend=False), 10)
    assert resumed.weights == {resumed.active: 100}
    assert resumed.condition("Ready")[0] == "True"


def test_without_the_gateway_api_a_suspension_ends_all_the_same_and_can_be_resumed() -> None:
    world = structs.replace(begin_incremental(), unread=frozenset({GATEWAY, HTTP_ROUTE}))
    suspending = live(live(world, 8).edit(suspend=True), 5)
    assert suspending.condition("Suspending") == ("True", "SuspendInProgress")
    assert suspending.names("RayCluster") == set()
    suspended = live(suspending.after(SIGHT_SECONDS), 2)
    assert suspended.condition("Suspended") == ("True", "SuspendComplete")
    resumed = live(suspended.edit(suspend=False), 8)
    assert resumed.condition("Suspended")[0] == "False"
    assert resumed.active in resumed.names("RayCluster")


def test_a_gateway_that_cannot_be_seen_for_a_moment_is_not_forgotten_by_a_suspension() -> None:
    suspending = live(structs.replace(served().edit(suspend=True), unread=frozenset({GATEWAY, HTTP_ROUTE})), 5)
    suspended = live(structs.replace(suspending, unread=frozenset()), 3)
    assert suspended.condition("Suspended") == ("True", "SuspendComplete")
    assert suspended.names("Gateway") | suspended.names("HTTPRoute") == set()


def test_an_edit_right_after_a_step_goes_on_from_where_requests_are() -> None:
    """The route was moved, and nobody told it in the status for a minute: the way back, and onwards, begin there."""
    world = moved_unseen(upgraded_to((50, 25, 100, 75)))
    back, weights = follow_weights(world.edit(rayClusterConfig=OLD_IMAGE).after(60))
    assert weights == [50, 25, 0]
    assert back.weights == {world.active: 100}

    world = moved_unseen(upgraded_to((50, 50, 50, 50)).edit(rayClusterConfig=OLD_IMAGE))
    onwards, weights = follow_weights(world.edit(rayClusterConfig=NEW_IMAGE).after(60))
    assert weights == [25, 50, 75, 100]
    assert onwards.active == world.pending


def moved_unseen(world: ServiceWorld) -> ServiceWorld:
    """The next step is taken, and the status does not tell it yet."""
    former, told = world.weights, world.shares[1]
    for _ in range(60):
        world = act(world)
        if world.weights != former:
            break
        world = deploy(settle(world)).after(1.0)
    assert world.weights != former
    assert world.shares[1] == told
    return world


def follow_weights(world: ServiceWorld) -> tuple[ServiceWorld, list[int]]:
    """Of the pending cluster, from now until one of them has everything."""
    pending, weights = world.pending, [world.weights[world.pending]]
    for _ in range(60):
        world = tick(world)
        weight = world.weights.get(pending, 0)
        if weight != weights[-1]:
            weights.append(weight)
        if weight in (0, 100):
            break
    return live(world, 8), weights


def test_a_restart_in_the_middle_sends_nothing_again() -> None:
    world = upgraded_to((50, 25, 100, 75))
    assert act(world.restart()).configured == world.configured


def test_without_the_gate_no_gateway_is_made_and_upgrades_are_off() -> None:
    gates = {**default_gates(), "RayServiceIncrementalUpgrade": False}
    world = live(structs.replace(begin_incremental(), settings=Settings(gates=gates)), 8)
    assert world.names("Gateway") == set()
    assert world.routed == world.active
    assert "UpgradeOff" in live(world.edit(rayClusterConfig=NEW_IMAGE), 3).waits


def test_the_route_of_a_service_that_no_longer_moves_in_steps_follows_its_clusters() -> None:
    """Differs from KubeRay: rayservice-former-route."""
    world = served()
    strategy = world.observe().tree["spec"]["upgradeStrategy"]
    whole = live(world.edit(upgradeStrategy={"type": "NewCluster", "clusterUpgradeOptions": None}), 4)
    assert (whole.weights, whole.routed) == ({NAME: 100}, world.active)
    moved = live(whole.edit(rayClusterConfig=NEW_IMAGE), 12)
    assert moved.active != world.active
    assert (moved.weights, moved.routed) == ({NAME: 100}, moved.active)
    assert live(moved.edit(upgradeStrategy=strategy), 6).weights == {moved.active: 100}


def test_the_serve_service_of_before_follows_upgrades_in_steps() -> None:
    """Differs from KubeRay: rayservice-former-route."""
    world = served()
    strategy = world.observe().tree["spec"]["upgradeStrategy"]
    whole = live(world.edit(upgradeStrategy={"type": "NewCluster", "clusterUpgradeOptions": None}), 4)
    begun = whole.edit(upgradeStrategy=strategy, rayClusterConfig=NEW_IMAGE)
    assert live(begun, 4).routed == world.active
    done, _ = pass_through(begun)
    done = live(done, 2)
    assert done.active != world.active
    assert done.routed == done.active


def test_the_route_keeps_its_split_while_two_clusters_share_the_requests() -> None:
    world = upgraded_to((50, 25, 100, 75))
    whole = act(world.edit(upgradeStrategy={"type": "NewCluster", "clusterUpgradeOptions": None}))
    assert whole.weights == {world.active: 75, world.pending: 25}
    done = live(whole, 12)
    assert (done.active, done.weights) == (world.pending, {NAME: 100})


def test_a_surge_of_nothing_is_told() -> None:
    world = live(served(surge=0, step=0).edit(rayClusterConfig=NEW_IMAGE), 12)
    assert world.shares == (0, 0, 100, 100)
    assert "NeverMoves" in world.waits
