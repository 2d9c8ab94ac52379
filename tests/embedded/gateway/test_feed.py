"""What the directory takes from Services and EndpointSlices as they change."""

from typing import Any, cast

import msgspec
import pytest

from heliostat.embedded.gateway.directory import ServicePort
from heliostat.embedded.gateway.feed import DirectoryFeed, NodeSlice

HTTP = ServicePort(80, "http")


class OneCache:
    """Hands what changed to whoever subscribed; there is nothing in it."""

    def of(self, _kind: object) -> "OneCache":
        return self

    def subscribe(self, _listener: object) -> None:
        return


def slice_(
    service: str, address: str = "10.244.0.2", kind: str = "IPv4", conditions: dict[str, bool] | None = None
) -> NodeSlice:
    tree = {
        "metadata": {"name": "s", "namespace": "ns", "labels": {"kubernetes.io/service-name": service}},
        "addressType": kind,
        "endpoints": [{"addresses": [address], "conditions": conditions or {}}],
        "ports": [{"name": "http", "port": 8000}],
    }
    return msgspec.convert(tree, NodeSlice)


@pytest.fixture
def feed() -> DirectoryFeed:
    return DirectoryFeed(cast("Any", OneCache()), ("127.0.0.1", 6443))


def targets(feed: DirectoryFeed, service: str) -> list[str]:
    return [str(address) for address, _ in feed.directory.targets("ns", service, HTTP)]


def test_a_slice_that_changes_its_label_leaves_nothing_with_the_former_service(feed: DirectoryFeed) -> None:
    feed._slice_changed(None, slice_("old"))
    feed._slice_changed(slice_("old"), slice_("new"))
    assert (targets(feed, "old"), targets(feed, "new")) == ([], ["10.244.0.2"])
    feed._slice_changed(slice_("new"), slice_(""))
    assert targets(feed, "new") == []


def test_a_slice_of_another_kind_of_address_or_a_deleted_one_leaves_nothing(feed: DirectoryFeed) -> None:
    feed._slice_changed(None, slice_("web"))
    feed._slice_changed(slice_("web"), slice_("web", "fd00::1", "IPv6"))
    assert targets(feed, "web") == []
    feed._slice_changed(None, slice_("web"))
    feed._slice_changed(slice_("web"), None)
    assert targets(feed, "web") == []


CONDITIONS: list[tuple[dict[str, bool], bool]] = [
    ({}, True),
    ({"ready": True}, True),
    ({"ready": False}, False),  # whether it serves is as whether it is ready, where it is not told
    ({"ready": False, "serving": True, "terminating": True}, True),
    ({"ready": False, "serving": False, "terminating": True}, False),
    ({"ready": False, "serving": True}, False),
]


@pytest.mark.parametrize(("conditions", "is_reached"), CONDITIONS)
def test_who_is_reached_by_what_a_slice_says(
    feed: DirectoryFeed, conditions: dict[str, bool], *, is_reached: bool
) -> None:
    feed._slice_changed(None, slice_("web", conditions=conditions))
    assert bool(targets(feed, "web")) is is_reached
