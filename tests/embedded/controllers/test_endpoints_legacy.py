"""Endpoints of the core group: subsets, labels, what goes with the Service, and the limit of a thousand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.service_world import HTTP, KEY, SERVICE_REF, Services, serving_pod
from heliostat.embedded.controllers.endpoints.subsets import cut_subsets
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Plan, Ref, ref_of

ENDPOINTS_REF = Ref("v1", "Endpoints", "ns", "web")


def subsets_of(world: Services) -> list[JsonObject]:
    found: list[JsonObject] = world.one("Endpoints").get("subsets", [])
    return found


def test_ready_and_not_ready_addresses() -> None:
    world = Services()
    world.add(serving_pod(1))
    world.add(serving_pod(2, ready=False))
    world.look()
    found = world.one("Endpoints")
    assert found["metadata"]["labels"] == {"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert list(found["metadata"]["annotations"]) == ["endpoints.kubernetes.io/last-change-trigger-time"]
    target = {"kind": "Pod", "namespace": "ns", "name": "pod-0001", "uid": "pod-1"}
    (subset,) = found["subsets"]
    assert subset["addresses"] == [{"ip": "10.1.0.1", "nodeName": "n", "targetRef": target}]
    assert [address["ip"] for address in subset["notReadyAddresses"]] == ["10.1.0.2"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert world.look()[1] == Plan()


def test_ports_with_the_same_addresses_share_a_subset() -> None:
    named = {"name": "admin", "protocol": "TCP", "port": 81, "targetPort": "admin"}
    world = Services(ports=[HTTP, named, {**HTTP, "name": "again", "targetPort": 8081}])
    world.add(serving_pod(1, containers=[{"name": "c", "ports": [{"name": "admin", "containerPort": 9}]}]))
    world.add(serving_pod(2))
    world.look()
    shown = {
        tuple(address["ip"] for address in subset["addresses"]): [port["port"] for port in subset["ports"]]
        for subset in subsets_of(world)
    }
    assert {key: sorted(ports) for key, ports in shown.items()} == {
        ("10.1.0.1", "10.1.0.2"): [8080, 8081],
        ("10.1.0.1",): [9],
    }


@pytest.mark.parametrize(("publish", "count"), [(False, 0), (True, 1)])
def test_pods_that_are_being_deleted(*, publish: bool, count: int) -> None:
    world = Services(publishNotReadyAddresses=publish)
    world.delete(ref_of(world.add(serving_pod(1))))
    world.look()
    assert len(subsets_of(world)) == count


def test_the_first_family_counts() -> None:
    world = Services(ipFamilies=["IPv6", "IPv4"])
    world.add(serving_pod(1))
    world.look()
    assert subsets_of(world)[0]["addresses"][0]["ip"] == "fd00::2"


def test_a_headless_service_without_ports_has_addresses() -> None:
    world = Services(ports=[], clusterIP="None")
    world.add(serving_pod(1))
    world.look()
    (subset,) = subsets_of(world)
    assert list(subset) == ["addresses"]
    assert world.one("Endpoints")["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_changes_are_followed_and_nothing_else() -> None:
    world = Services()
    tree = world.add(serving_pod(1))
    world.look()
    world.change(ref_of(tree), metadata={"annotations": {"a": "b"}})
    assert world.look()[1] == Plan()
    world.change(SERVICE_REF, metadata={"labels": {"team": "b"}})
    world.remove(ref_of(tree))
    world.look()
    assert "subsets" not in world.one("Endpoints")
    assert world.one("Endpoints")["metadata"]["labels"]["team"] == "b"


def test_they_go_with_their_service() -> None:
    world = Services()
    world.look()
    world.remove(SERVICE_REF)
    world.look()
    assert world.of("Endpoints") == []


def test_those_that_somebody_else_made_stay() -> None:
    world = Services(selector=None)
    tree = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "ns"}}
    world.add(tree)
    world.remove(SERVICE_REF)
    assert world.endpoints.subject(KEY) is None
    assert ENDPOINTS_REF in world.trees


def _subset(ready: int, not_ready: int) -> JsonObject:
    return {"addresses": list(range(ready)), "notReadyAddresses": list(range(not_ready))}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5), st.integers(1, 40))
def test_no_more_than_allowed_and_ready_ones_first(sizes: list[tuple[int, int]], most: int) -> None:
    ready, total = sum(size[0] for size in sizes), sum(map(sum, sizes))
    subsets, is_cut = cut_subsets([_subset(*size) for size in sizes], most)
    kept = [(len(subset.get("addresses", ())), len(subset.get("notReadyAddresses", ()))) for subset in subsets]
    assert is_cut == (total > most)
    assert sum(map(sum, kept)) == min(total, most)
    assert sum(size[0] for size in kept) == min(ready, most)


def test_a_cut_is_told() -> None:
    world = Services(clusterIP="None")
    for number in range(1001):
        world.add(serving_pod(number, ready=number != 7))
    world.reconcile(world.endpoints, KEY)
    found = world.one("Endpoints")
    assert found["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"] == "truncated"
    assert len(found["subsets"][0]["addresses"]) == 1000
    assert world.reconcile(world.endpoints, KEY) == Plan()
