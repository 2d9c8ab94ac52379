"""Lives of RayServices in memory: upgrades, suspension, what goes wrong, and what people see of it."""

import pytest
from msgspec import structs

from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Delete, Effect, Patch
from heliostat.plan.kind import UNKNOWN_POLL
from heliostat.plan.rayservice.kind import RAY_SERVICE
from heliostat.plan.rayservice.unused import UNUSED_SINCE
from plan.rayservice.service_worlds import NAME, OTHER_CONFIG, ServiceWorld, act, begin, deploy, run, settle
from plan.worlds import NAMESPACE, Tree, plan_by_row, pod_template

NEW_IMAGE = {"headGroupSpec": {"template": pod_template("ray-head", image="ray:new")}}


def list_ports(world: ServiceWorld, name: str) -> list[Tree]:
    """The ports of a Service."""
    (found,) = [each for each in world.of_kind("Service") if each["metadata"]["name"] == name]
    return list(found["spec"]["ports"])


def start_upgrade(**spec: object) -> ServiceWorld:
    """The pending cluster is there, and its applications do not run yet."""
    world = run(begin(**spec)).edit(rayClusterConfig=NEW_IMAGE)
    return settle(act(settle(act(world))))


def test_a_service_comes_up_and_rests() -> None:
    world = run(begin())
    assert world.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert world.condition("UpgradeInProgress") == ("False", "NoPendingCluster")
    assert world.status["numServeEndpoints"] == 2
    assert world.status["serviceStatus"] == "Running"
    assert world.routed == world.active
    assert world.plan().is_empty


@pytest.mark.parametrize(("metadata", "generation"), [(None, 2), ({}, 1), ({"labels": {"a": "b"}}, 1)])
def test_with_its_finalizer_comes_the_generation_that_kuberays_tests_ask_for(
    metadata: Tree | None, generation: int
) -> None:
    world = begin()
    assert world.service is not None
    config: Tree = world.service["spec"]["rayClusterConfig"]
    head = config["headGroupSpec"]
    template = head["template"] | ({"metadata": metadata} if metadata is not None else {})
    world = run(begin(rayClusterConfig=config | {"headGroupSpec": head | {"template": template}}))
    assert world.service is not None
    assert world.service["metadata"]["finalizers"] == ["ray.io/rayservice-finalizer"]
    kept = world.service["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]
    assert kept == {"metadata": {}, **template}
    assert world.service["metadata"]["generation"] == world.status["observedGeneration"] == generation


def test_requests_go_to_the_former_cluster_until_the_next_one_runs_the_applications() -> None:
    world = start_upgrade()
    before = world.active
    for _ in range(3):
        world = settle(act(world))
        assert (world.active, world.routed) == (before, before)
    moved = run(world)
    assert moved.routed == moved.active != before
    assert moved.condition("UpgradeInProgress") == ("False", "NoPendingCluster")


def test_requests_move_only_when_a_pod_could_answer() -> None:
    world = deploy(settle(act(start_upgrade())))
    not_ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    pods = [f"{world.pending}-head", f"{world.pending}-worker"]
    unready = world
    for pod in pods:
        unready = unready.change("Pod", pod, not_ready)
    waiting = act(unready)
    assert waiting.routed == world.active
    assert "NoEndpoint" in waiting.waits
    assert act(world).routed == world.pending


def test_requests_that_have_moved_stay_when_serve_falls_silent_before_the_status_tells() -> None:
    world = deploy(settle(act(start_upgrade())))
    moved = act(world)
    assert (moved.routed, moved.active) == (world.pending, world.active)
    silent = act(structs.replace(moved, is_silent=True))
    assert silent.routed == silent.active == world.pending


def with_port(number: int) -> Tree:
    container = pod_template("ray-head")["spec"]["containers"][0]
    ports = [{"name": "serve", "containerPort": number}]
    return {"headGroupSpec": {"template": {"spec": {"containers": [{**container, "ports": ports}]}}}}


OTHER_PORT = with_port(9000)
NODE_PORT, CLUSTER_IP = ({"headGroupSpec": {"serviceType": each}} for each in ("NodePort", "ClusterIP"))


@pytest.mark.parametrize(
    ("before", "edit", "serve", "head"),
    [
        ({}, {"rayVersion": "2.53.0"}, {}, {}),
        ({}, NODE_PORT, {"type": "NodePort"}, {}),  # the head's has no address, and cannot be given one
        (NODE_PORT, CLUSTER_IP, {"type": "ClusterIP"}, {}),
        ({}, with_port(8000), {}, {"ports": [("metrics", 8080), ("serve", 8000)]}),
        ({}, with_port(9000), {"ports": [("serve", 9000)]}, {"ports": [("metrics", 8080), ("serve", 9000)]}),
    ],
)
def test_what_an_edit_asks_of_the_services_is_taken_up_when_requests_move(
    before: Tree, edit: Tree, serve: Tree, head: Tree
) -> None:
    world = run(run(begin()).edit(rayClusterConfig=before)).edit(rayClusterConfig=edit)
    waiting = settle(act(settle(act(world))))
    services = {f"{NAME}-serve-svc": serve, f"{NAME}-head-svc": head}
    changed = {
        action.ref.name: action.changes["spec"]
        for action in deploy(settle(act(waiting))).plan().actions()
        if isinstance(action, Patch) and action.ref.kind == "Service"
    }
    assert changed.keys() == services.keys()
    assert not any(isinstance(action, Patch) and action.ref.kind == "Service" for action in waiting.plan().actions())
    for name, more in services.items():
        assert changed[name].pop("selector")["ray.io/cluster"] == waiting.pending
        assert _plain(changed[name]) == more


def test_a_nodes_port_follows_the_spec_only_where_that_chooses_one() -> None:
    chosen = {"spec": {"type": "NodePort", "ports": [{"name": "serve", "port": 8000, "nodePort": 30777}]}}
    world = run(begin(serveService=chosen))
    assert [port["nodePort"] for port in list_ports(world, f"{NAME}-serve-svc")] == [30777]
    other = {"spec": {"ports": [{"name": "serve", "port": 8000, "nodePort": 30778}]}}
    world = run(world.edit(serveService=other, rayClusterConfig=NEW_IMAGE))
    assert [port["nodePort"] for port in list_ports(world, f"{NAME}-serve-svc")] == [30778]
    unchosen = {"spec": {"ports": [{"name": "serve", "port": 8000}]}}
    world = run(world.edit(serveService=unchosen, rayClusterConfig={"rayVersion": "2.53.0"}))
    assert [port["nodePort"] for port in list_ports(world, f"{NAME}-serve-svc")] == [30778]


def _plain(spec: Tree) -> Tree:
    ports = [(port["name"], port["port"]) for port in spec.get("ports") or ()]
    return {**spec, "ports": ports} if ports else spec


@pytest.mark.parametrize("strategy", ["None", "NewCluster"])
def test_services_that_were_lost_come_back_with_the_ports_of_the_cluster_that_serves(strategy: str) -> None:
    world = run(begin(upgradeStrategy={"type": strategy})).edit(rayClusterConfig=OTHER_PORT)
    world = settle(act(settle(act(world))))
    for name in (f"{NAME}-serve-svc", f"{NAME}-head-svc"):
        world = world.without("Service", name)
    world = act(world)
    assert [port["port"] for port in list_ports(world, f"{NAME}-serve-svc")] == [8000]
    assert 8000 in [port["port"] for port in list_ports(world, f"{NAME}-head-svc")]


def test_an_unhealthy_cluster_is_never_moved_to() -> None:
    world = start_upgrade()
    for _ in range(5):
        world = deploy(settle(act(world)), "UNHEALTHY")
    assert world.routed == world.active
    assert world.condition("UpgradeInProgress") == ("True", "BothActivePendingClustersExist")


def test_a_third_spec_takes_the_place_of_the_pending_one() -> None:
    world = start_upgrade()
    third = {"headGroupSpec": {"template": pod_template("ray-head", image="ray:third")}}
    edited = act(deploy(world).edit(rayClusterConfig=third))
    assert edited.pending not in ("", world.pending)
    assert edited.routed == world.active, "nothing that is outdated already gets requests"
    assert run(edited).active == edited.pending


def test_the_configuration_of_a_third_spec_is_not_sent_to_the_cluster_that_requests_have_just_moved_to() -> None:
    """The status does not call it the active one yet, and it is not what the edit asks for."""
    moved = act(deploy(settle(act(start_upgrade()))))
    assert (moved.routed, moved.status["activeServiceStatus"]["rayClusterName"] != moved.routed) == (
        moved.pending,
        True,
    )
    third = {"headGroupSpec": {"template": pod_template("ray-head", image="ray:third")}}
    edited = moved.edit(rayClusterConfig=third, serveConfigV2=OTHER_CONFIG)
    assert not [action for action in edited.plan().actions() if isinstance(action, Effect)]
    assert act(edited).active == moved.pending
    assert run(edited).active not in (moved.active, moved.pending)
    in_place = moved.edit(serveConfigV2=OTHER_CONFIG)
    assert [action for action in in_place.plan().actions() if isinstance(action, Effect)]


def test_the_former_cluster_goes_after_the_delay_also_when_the_operator_was_restarted() -> None:
    world = run(start_upgrade(rayClusterDeletionDelaySeconds=30))
    (former,) = world.names("RayCluster") - {world.active}
    noted = [tree for tree in world.of_kind("RayCluster") if UNUSED_SINCE in tree["metadata"]["annotations"]]
    assert [tree["metadata"]["name"] for tree in noted] == [former]
    early = world.restart().after(31)
    assert former in act(early).names("RayCluster")
    assert early.plan().wake_after == pytest.approx(1.0, abs=1.0)
    assert former not in act(early.after(2)).names("RayCluster")


@pytest.mark.parametrize("delay", [0, 10, 60])
@pytest.mark.parametrize("fraction", [0.0, 0.4, 0.99])
def test_who_sees_requests_move_and_counts_the_delay_still_finds_the_former_cluster(
    delay: int, fraction: float
) -> None:
    """KubeRay's own test looks once a second, then asks for it throughout the delay, and 5 s later for its end."""
    world = deploy(settle(act(start_upgrade(rayClusterDeletionDelaySeconds=delay)))).after(fraction)
    former = world.active
    while world.active == former:
        world = deploy(settle(act(world)))
    noted = act(world)
    for seconds in range(delay + 2):
        assert former in act(noted.after(seconds)).names("RayCluster")
    assert former not in act(noted.after(delay + 4)).names("RayCluster")


def test_a_cluster_that_requests_go_to_is_never_unused() -> None:
    world = run(start_upgrade(rayClusterDeletionDelaySeconds=0))
    former = "svc-stray"
    stray = world.of_kind("RayCluster")[0]
    stray = {**stray, "metadata": {**stray["metadata"], "name": former, "uid": "uid-stray"}}
    selector = {"spec": {"selector": {"ray.io/cluster": former}}}
    routed = world.with_world(world.world.hold(stray)).change("Service", f"{NAME}-serve-svc", selector)
    assert act(routed).of_kind("RayCluster") == routed.of_kind("RayCluster")
    assert former not in act(run(routed).after(3)).names("RayCluster")


def test_a_head_service_of_somebody_else_does_not_keep_requests_from_moving() -> None:
    world = run(begin()).change("Service", f"{NAME}-head-svc", {"metadata": {"ownerReferences": None}})
    selector = world.world.objects[("v1", "Service", NAMESPACE, f"{NAME}-head-svc")]["spec"]["selector"]
    moved = run(world.edit(rayClusterConfig=NEW_IMAGE))
    assert moved.routed == moved.active != world.active
    assert moved.world.objects[("v1", "Service", NAMESPACE, f"{NAME}-head-svc")]["spec"]["selector"] == selector
    assert "NameTaken" in act(moved).waits


def test_with_upgrades_off_only_the_configuration_follows() -> None:
    world = run(begin(upgradeStrategy={"type": "None"}))
    edited = act(world.edit(rayClusterConfig=NEW_IMAGE))
    assert edited.pending == ""
    assert "UpgradeOff" in edited.waits
    assert edited.of_kind("RayCluster") == world.of_kind("RayCluster")


def test_an_active_cluster_that_was_deleted_by_hand_is_followed_by_another() -> None:
    world = run(begin())
    lost = run(world.without("RayCluster", world.active))
    assert lost.active not in ("", world.active)
    assert lost.routed == lost.active


def test_suspended_means_that_nothing_is_left_and_resume_makes_it_anew() -> None:
    world = run(begin())
    suspended = run(world.edit(suspend=True))
    assert suspended.condition("Suspended") == ("True", "SuspendComplete")
    assert suspended.condition("Ready") == ("False", "SuspendComplete")
    assert suspended.names("RayCluster") == set()
    assert f"{NAME}-serve-svc" not in suspended.names("Service")
    assert suspended.plan().is_empty
    resumed = run(suspended.edit(suspend=False))
    assert resumed.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert resumed.active != world.active


def test_a_suspension_that_was_begun_is_finished_whatever_is_asked_for_meanwhile() -> None:
    world = run(begin())
    suspending = act(world.edit(suspend=True))
    for wish in (False, True, False):
        suspending = suspending.edit(suspend=wish)
        assert suspending.condition("Suspending")[0] == "True"
        assert any(isinstance(action, Delete) for action in suspending.plan().actions())
    resumed = run(suspending)
    assert resumed.condition("Suspended") == ("False", "RayServiceResumed")
    assert resumed.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert resumed.active not in ("", world.active)


def test_a_service_born_suspended_has_nothing_until_it_is_resumed() -> None:
    suspended = run(begin(suspend=True))
    assert suspended.condition("Suspended") == ("True", "SuspendComplete")
    assert suspended.names("RayCluster") == suspended.names("Service") == set()
    assert run(suspended.edit(suspend=False)).condition("Ready") == ("True", "NonZeroServeEndpoints")


@pytest.mark.parametrize("delay", [0, 60])
def test_a_suspended_service_deletes_each_cluster_once_whatever_the_delay(delay: int) -> None:
    world = act(start_upgrade(rayClusterDeletionDelaySeconds=delay).edit(suspend=True))
    assert world.condition("Suspending") == ("True", "SuspendRequested")
    actions = [action for action in world.plan().actions() if isinstance(action, Patch | Delete)]
    written = [action for action in actions if action.ref.kind == "RayCluster"]
    assert [type(action) for action in written] == [Delete, Delete]
    assert {action.ref.name for action in written} == world.names("RayCluster")


def test_a_service_that_does_not_get_ready_in_time_is_given_up_and_revived_by_suspend_and_resume() -> None:
    annotated = {"annotations": {"ray.io/initializing-timeout": "30"}}
    world = begin(metadata=annotated, rayClusterDeletionDelaySeconds=5)
    for _ in range(4):
        world = deploy(settle(act(world)), "UNHEALTHY")
    assert world.plan().wake_after == pytest.approx(30, abs=1)
    given_up = act(world.after(31))
    assert given_up.condition("Ready") == ("False", "InitializingTimeout")
    assert "RayServiceInitializingTimeout" in given_up.told
    assert (given_up.active, given_up.pending) == ("", "")
    gone = act(act(given_up).after(8))
    assert gone.names("RayCluster") == set()
    assert run(run(gone.edit(suspend=True)).edit(suspend=False)).condition("Ready")[0] == "True"


def test_a_service_that_is_given_up_with_an_active_cluster_tells_of_none_any_more() -> None:
    world = begin(metadata={"annotations": {"ray.io/initializing-timeout": "2m"}})
    for _ in range(8):
        world = without_endpoints(deploy(settle(act(world))))
    assert world.active
    assert world.condition("Ready") == ("False", "Initializing")
    assert world.condition("UpgradeInProgress") == ("False", "NoPendingCluster")
    given_up = act(world.after(150))
    assert (given_up.active, given_up.condition("Ready")) == ("", ("False", "InitializingTimeout"))
    assert given_up.condition("UpgradeInProgress") == ("Unknown", "NoActiveCluster")
    (message,) = [each["message"] for each in given_up.status["conditions"] if each["type"] == "Ready"]
    assert message.endswith("within the configured timeout of 2m0s. Time spent initializing: 2m30s")


def without_endpoints(world: ServiceWorld) -> ServiceWorld:
    for slices in world.of_kind("EndpointSlice"):
        world = world.change("EndpointSlice", slices["metadata"]["name"], {"endpoints": []})
    return world


def test_a_refused_edit_touches_nothing_that_runs() -> None:
    world = run(begin())
    refused = run(world.edit(rayClusterDeletionDelaySeconds=-1))
    assert refused.condition("Ready") == ("False", "ValidationFailed")
    others = {key: value for key, value in world.status.items() if key not in ("conditions", "lastUpdateTime")}
    assert refused.status.items() >= others.items(), "only the condition is touched"
    assert (refused.routed, refused.names("RayCluster")) == (world.active, world.names("RayCluster"))
    assert run(refused.edit(rayClusterDeletionDelaySeconds=1)).condition("Ready")[0] == "True"


def test_it_goes_when_its_clusters_are_gone() -> None:
    world = run(begin())
    deleted = world.change("RayService", NAME, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert act(deleted).names("RayCluster") == set()
    assert act(act(deleted)).service is None


def test_a_head_is_left_out_when_asked_and_while_its_proxy_is_not_well() -> None:
    assert run(begin(excludeHeadPodFromServeSvc=True)).status["numServeEndpoints"] == 1
    world = run(begin())
    ill = run(structs.replace(world, are_proxies_healthy=False))
    assert ill.status["numServeEndpoints"] == 1
    assert run(structs.replace(ill, are_proxies_healthy=True)).status["numServeEndpoints"] == 2


def test_a_service_whose_pods_the_server_does_not_show_is_looked_at_again() -> None:
    """When they are shown again, none of them need have changed: nothing else would requeue it."""
    world = run(begin())
    observed = world.observe()
    hidden = structs.replace(observed, pods=dict.fromkeys(observed.pods, Unknown("the right to do so was taken")))
    remembered, settings, now = world.remembered, world.settings, world.world.now
    plans = [plan_by_row(RAY_SERVICE, each, each.service, remembered, settings, now) for each in (observed, hidden)]
    assert [plan.wake_after for plan in plans] == [None, UNKNOWN_POLL]
