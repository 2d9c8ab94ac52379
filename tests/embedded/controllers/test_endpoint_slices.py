"""EndpointSlices: who stands behind a Service, in portions of a hundred, rewritten only where something changed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.service_world import HTTP, KEY, SERVICE_REF, Services, node, serving_pod
from heliostat.embedded.controllers.endpoints.packing import pack
from heliostat.embedded.controllers.views.endpoint_slices import Endpoint, EndpointSlice, TargetRef
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Metadata
from heliostat.kube.plan import Patch, Plan, Ref, ref_of

TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


def test_the_slice_of_a_service_with_one_pod() -> None:
    world = Services()
    world.add(serving_pod(1))
    world.look()
    found = world.one("EndpointSlice")
    assert found["metadata"]["name"].startswith("web-")
    assert found["metadata"]["generateName"] == "web-"
    assert found["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Service", "web", True)
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert found["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "ns", "name": "pod-0001", "uid": "pod-1"},
            "nodeName": "n",
            "zone": "z",
        }
    ]
    assert world.look()[0] == Plan()


def conditions(world: Services) -> dict[str, bool]:
    (endpoint,) = world.one("EndpointSlice")["endpoints"]
    found: dict[str, bool] = endpoint["conditions"]
    return found


@pytest.mark.parametrize(
    ("ready", "is_leaving", "publish", "expected"),
    [
        (True, False, False, (True, True, False)),
        (False, False, False, (False, False, False)),
        (True, True, False, (False, True, True)),
        (False, True, True, (True, False, True)),
    ],
)
def test_conditions(*, ready: bool, is_leaving: bool, publish: bool, expected: tuple[bool, bool, bool]) -> None:
    world = Services(publishNotReadyAddresses=publish)
    tree = world.add(serving_pod(1, ready=ready))
    if is_leaving:
        world.delete(ref_of(tree))
    world.look()
    assert tuple(conditions(world).values()) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"labels": {"app": "other"}}},
        {"status": {"phase": "Succeeded"}},
        {"status": {"phase": "Failed"}},
        {"status": {"podIP": None, "podIPs": None}},
    ],
    ids=["other labels", "succeeded", "failed", "no address"],
)
def test_who_is_not_behind_a_service(changes: JsonObject) -> None:
    world = Services()
    world.change(ref_of(world.add(serving_pod(1))), **changes)
    world.look()
    assert world.addresses() == []


def test_a_service_without_pods_has_an_empty_slice_that_is_filled_later() -> None:
    world = Services()
    world.look()
    empty = world.one("EndpointSlice")
    assert (empty["endpoints"], empty["ports"]) == ([], [])
    assert world.look()[0] == Plan()
    tree = world.add(serving_pod(1))
    world.look()
    filled = world.one("EndpointSlice")
    assert filled["metadata"]["name"] == empty["metadata"]["name"]
    assert len(filled["endpoints"]) == 1
    world.remove(ref_of(tree))
    world.look()
    assert (world.one("EndpointSlice")["endpoints"], world.one("EndpointSlice")["ports"]) == ([], [])


class TestPorts:
    def test_named_ports_are_looked_up_in_each_pod(self) -> None:
        world = Services(ports=[{**HTTP, "targetPort": "web"}])
        for number, port in enumerate((8080, 9090)):
            ports = [{"name": "web", "containerPort": port}, {"name": "web", "containerPort": 1, "protocol": "UDP"}]
            world.add(serving_pod(number, containers=[{"name": "c", "ports": ports}]))
        world.look()
        assert {item["ports"][0]["port"]: len(item["endpoints"]) for item in world.of("EndpointSlice")} == {
            8080: 1,
            9090: 1,
        }

    def test_the_port_of_a_sidecar_counts_that_of_an_init_container_does_not(self) -> None:
        world = Services(ports=[{**HTTP, "targetPort": "web"}])
        init = {"name": "i", "ports": [{"name": "web", "containerPort": 1}]}
        sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"name": "web", "containerPort": 2}]}
        world.add(serving_pod(1, initContainers=[init, sidecar]))
        world.look()
        assert world.one("EndpointSlice")["ports"][0]["port"] == 2

    def test_a_changed_port_rewrites_the_slice_in_place(self) -> None:
        world = Services()
        world.add(serving_pod(1))
        world.look()
        name = world.one("EndpointSlice")["metadata"]["name"]
        world.change(SERVICE_REF, spec={"ports": [{**HTTP, "targetPort": 9090}]})
        world.look()
        found = world.one("EndpointSlice")
        assert (found["metadata"]["name"], found["ports"][0]["port"]) == (name, 9090)

    def test_a_headless_service_without_ports(self) -> None:
        world = Services(ports=[], clusterIP="None")
        world.add(serving_pod(1))
        world.look()
        found = world.one("EndpointSlice")
        assert (found["ports"], len(found["endpoints"])) == ([], 1)
        assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


class TestFamilies:
    def test_one_slice_for_each_family(self) -> None:
        world = Services(ipFamilies=["IPv6", "IPv4"])
        world.add(serving_pod(1))
        world.look()
        found = {item["addressType"]: item["endpoints"][0]["addresses"] for item in world.of("EndpointSlice")}
        assert found == {"IPv4": ["10.1.0.1"], "IPv6": ["fd00::2"]}

    @pytest.mark.parametrize(
        ("address", "families"), [("10.0.0.1", {"IPv4"}), ("fd00::1", {"IPv6"}), ("None", {"IPv4", "IPv6"})]
    )
    def test_a_service_that_does_not_say(self, address: str, families: set[str]) -> None:
        world = Services(ipFamilies=[], clusterIP=address)
        world.look()
        assert {item["addressType"] for item in world.of("EndpointSlice")} == families

    def test_slices_of_a_family_that_is_gone_go(self) -> None:
        world = Services(ipFamilies=["IPv4", "IPv6"])
        world.look()
        world.change(SERVICE_REF, spec={"ipFamilies": ["IPv4"]})
        world.look()
        assert world.one("EndpointSlice")["addressType"] == "IPv4"


@pytest.mark.parametrize(
    "spec", [{"selector": None}, {"selector": {}}, {"type": "ExternalName"}], ids=["none", "empty", "external"]
)
def test_services_whose_endpoints_are_somebody_elses(spec: JsonObject) -> None:
    world = Services(**spec)
    world.add(serving_pod(1))
    assert world.look() == (Plan(), Plan())


def test_a_hostname_is_shown_for_pods_of_the_subdomain() -> None:
    world = Services(clusterIP="None")
    world.add(serving_pod(1, hostname="one", subdomain="web"))
    world.add(serving_pod(2, hostname="two", subdomain="other"))
    world.look()
    assert [endpoint.get("hostname") for endpoint in world.one("EndpointSlice")["endpoints"]] == ["one", None]


class TestNodes:
    def test_a_pod_on_a_node_that_is_not_there_is_left_out_and_told(self) -> None:
        world = Services()
        world.add(serving_pod(1, nodeName="gone"))
        world.look()
        assert world.addresses() == []
        assert world.events[-1].note == (
            "Error updating Endpoint Slices for Service ns/web: skipping Pod pod-0001 for Service ns/web:"
            " Node gone Not Found"
        )
        assert world.events[-1].reason == "FailedToUpdateEndpointSlices"

    def test_unless_the_service_wants_everybody(self) -> None:
        world = Services(publishNotReadyAddresses=True)
        world.add(serving_pod(1, nodeName="gone"))
        world.look()
        assert world.addresses() == ["10.1.0.1"]

    def test_the_service_is_woken_when_the_node_comes(self) -> None:
        world = Services()
        world.add(serving_pod(1, nodeName="late"))
        woken: list[Any] = []
        nodes = world.slices.sources()[-1]
        nodes.changes.subscribe(lambda before, after: woken.extend(nodes.keys_of(before, after)))
        tree = world.add(node("late"))
        assert woken == [KEY]
        world.change(ref_of(tree), status={"conditions": []})
        assert woken == [KEY]


def test_labels_of_the_service_are_followed() -> None:
    world = Services()
    world.add(serving_pod(1))
    world.look()
    world.change(SERVICE_REF, metadata={"labels": {"team": None, "tier": "front"}})
    world.look()
    labels = world.one("EndpointSlice")["metadata"]["labels"]
    assert labels["tier"] == "front"
    assert "team" not in labels


def test_slices_of_an_earlier_service_of_the_name_are_replaced_not_used() -> None:
    world = Services()
    world.add(serving_pod(1))
    world.look()
    old = ref_of(world.one("EndpointSlice"))
    world.change(old, metadata={"ownerReferences": [{**owner_of(world), "uid": "earlier"}]})
    world.look()
    new = world.one("EndpointSlice")
    assert ref_of(new) != old
    assert owner_of(world)["uid"] == world.one("Service")["metadata"]["uid"]


def owner_of(world: Services) -> JsonObject:
    (owner,) = world.one("EndpointSlice")["metadata"]["ownerReferences"]
    found: JsonObject = owner
    return found


def test_a_service_that_is_being_deleted_gets_no_new_slices() -> None:
    world = Services()
    world.change(SERVICE_REF, metadata={"finalizers": ["f"], "deletionTimestamp": "2026-01-01T00:00:00Z"})
    world.add(serving_pod(1))
    assert world.look()[0] == Plan()


class TestTriggerTime:
    def test_at_first_it_is_the_service(self) -> None:
        world = Services()
        world.add(serving_pod(1))
        world.look()
        assert world.one("EndpointSlice")["metadata"]["annotations"] == {
            TRIGGER: world.one("Service")["metadata"]["creationTimestamp"]
        }

    def test_then_the_earliest_pod_whose_readiness_is_news(self) -> None:
        world = Services()
        world.add(serving_pod(1))
        world.look()
        world.add(serving_pod(5))
        world.add(serving_pod(3))
        world.look()
        assert world.one("EndpointSlice")["metadata"]["annotations"][TRIGGER] == "2026-01-01T00:00:03Z"

    def test_a_change_that_no_pod_set_off_has_none(self) -> None:
        world = Services()
        trees = [world.add(serving_pod(number)) for number in (1, 2)]
        world.look()
        world.remove(ref_of(trees[0]))
        world.look()
        assert TRIGGER not in world.one("EndpointSlice")["metadata"]["annotations"]


def test_which_changes_of_a_pod_wake_its_services() -> None:
    world = Services()
    tree = world.add(serving_pod(1))
    woken: list[Any] = []
    pods = world.slices.sources()[1]
    pods.changes.subscribe(lambda before, after: woken.extend(pods.keys_of(before, after)))
    assert woken == [KEY]
    world.change(ref_of(tree), metadata={"annotations": {"a": "b"}})
    assert len(woken) == 1
    world.change(ref_of(tree), status={"conditions": [{"type": "Ready", "status": "False"}]})
    world.change(ref_of(tree), metadata={"labels": {"app": "other"}})
    world.change(ref_of(tree), metadata={"labels": {"app": "third"}})
    assert len(woken) == 3


class TestPacking:
    def test_a_hundred_in_a_slice(self) -> None:
        world = Services()
        for number in range(230):
            world.add(serving_pod(number))
        world.look()
        assert sorted(len(item["endpoints"]) for item in world.of("EndpointSlice")) == [30, 100, 100]
        world.add(serving_pod(230))
        plan, _ = world.look()
        (action,) = plan.actions()
        assert isinstance(action, Patch)
        assert sorted(len(item["endpoints"]) for item in world.of("EndpointSlice")) == [31, 100, 100]

    def test_an_exchange_touches_one_slice(self) -> None:
        world = Services()
        trees = [world.add(serving_pod(number)) for number in range(150)]
        world.look()
        world.remove(ref_of(trees[3]))
        world.add(serving_pod(200))
        plan, _ = world.look()
        assert len(list(plan.actions())) == 1


def _slice(name: str, numbers: list[int]) -> EndpointSlice:
    return EndpointSlice(Metadata(name=name), "IPv4", tuple(_endpoint(number) for number in numbers))


def _endpoint(number: int) -> Endpoint:
    return Endpoint(addresses=(f"10.0.0.{number}",), target_ref=TargetRef("Pod", "ns", f"p{number}", f"u{number}"))


@given(
    have=st.lists(st.lists(st.integers(0, 30), max_size=4, unique=True), max_size=4),
    want=st.lists(st.integers(0, 30), unique=True, max_size=20),
)
def test_packing_places_each_endpoint_once_and_no_slice_overflows(have: list[list[int]], want: list[int]) -> None:
    seen: set[int] = set()
    slices = []
    for index, numbers in enumerate(have):
        slices.append(_slice(f"s{index}", [number for number in numbers if number not in seen]))
        seen.update(numbers)
    packing = pack(slices, [_endpoint(number) for number in want], frozenset(), most=4)
    gone = {item.metadata.name for item in packing.emptied}
    after = [
        packing.changed.get(item.metadata.name, item.endpoints or ())
        for item in slices
        if item.metadata.name not in gone
    ]
    after += packing.added
    placed = [endpoint for endpoints in after for endpoint in endpoints]
    assert sorted(placed, key=str) == sorted((_endpoint(number) for number in want), key=str)
    assert all(len(endpoints) <= 4 for endpoints in after)
    unchanged = [item for item in slices if set(item.endpoints or ()) <= {_endpoint(number) for number in want}]
    assert len([item for item in unchanged if item.metadata.name in packing.changed]) <= 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "remove", "break", "leave", "look"]), st.integers(0, 8)), max_size=20)
)
def test_in_the_end_exactly_the_members_are_there(steps: list[tuple[str, int]]) -> None:
    world = Services()
    for what, number in steps:
        ref = Ref("v1", "Pod", "ns", f"pod-{number:04}")
        if what == "look":
            world.look()
        elif what == "add" and ref not in world.trees:
            world.add(serving_pod(number))
        elif ref in world.trees and what == "remove":
            world.remove(ref)
        elif ref in world.trees and what == "break":
            world.change(ref, status={"conditions": [{"type": "Ready", "status": "False"}]})
        elif ref in world.trees and what == "leave":
            world.delete(ref)
    world.look()
    assert world.addresses() == sorted(tree["status"]["podIP"] for tree in world.of("Pod"))
    assert world.look() == (Plan(), Plan())
