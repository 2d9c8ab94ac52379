"""Read your own writes: what must be in the view before the next decision."""

import pytest

from heliostat.kube.objects import Key, Metadata, Object
from heliostat.kube.plan import Ref
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind, CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.freshness import Freshness, InvisibleWriteError, Unsettled

POD = ResourceType("v1", "Pod", "pods")
SERVICE = ResourceType("v1", "Service", "services")
PODS: CachedKind[Object] = CachedKind(POD, Object)
SELECTED: CachedKind[Object] = CachedKind(POD, Object, label_selector="app=ray")


def written(name: str, revision: int, **labels: str) -> Metadata:
    return Metadata(name=name, namespace="ns", uid=name, resource_version=str(revision), labels=labels)


def prepared(kind: CachedKind[Object] = PODS) -> tuple[Freshness, CacheWriter[Object]]:
    caches = Caches()
    writer = CacheWriter(caches.of(kind))
    writer.replace([], 10)
    return Freshness(caches), writer


def test_a_write_is_seen_when_the_cache_has_passed_it() -> None:
    freshness, writer = prepared()
    freshness.wrote("owner", POD, written("a", 12))
    assert str(freshness.missing("owner")) == "pods at 10, written at 12"
    writer.progress(11)
    assert freshness.missing("owner") is not None
    writer.progress(12)
    assert freshness.missing("owner") is None


def test_one_owner_does_not_wait_for_another() -> None:
    freshness, _ = prepared()
    freshness.wrote("one", POD, written("a", 12))
    assert freshness.missing("other") is None


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(None, id="gone"),
        pytest.param(Metadata(name="a", namespace="ns", uid="another", resource_version="14"), id="another-uid"),
        pytest.param(
            Metadata(
                name="a", namespace="ns", uid="a", resource_version="14", deletion_timestamp="2026-01-01T00:00:00Z"
            ),
            id="terminating",
        ),
    ],
)
def test_a_delete_is_seen_when_the_uid_is_gone_or_going(seen: Metadata | None) -> None:
    freshness, writer = prepared()
    writer.put(Object(written("a", 11)))
    freshness.deleted("owner", POD, Key("ns", "a"), "a")
    writer.progress(20)  # never by progress alone
    assert "still shows ns/a" in str(freshness.missing("owner"))
    if seen is None:
        writer.remove(Object(written("a", 21)))
    else:
        writer.put(Object(seen))
    assert freshness.missing("owner") is None


def test_what_the_server_does_not_have_is_missed_until_the_view_has_it_neither() -> None:
    """A RayCluster that is being deleted for a while is seen as terminating all along."""
    freshness, writer = prepared()
    terminating = Metadata(
        name="a", namespace="ns", uid="a", resource_version="11", deletion_timestamp="2026-01-01T00:00:00Z"
    )
    writer.put(Object(terminating))
    freshness.gone("owner", POD, Key("ns", "a"), "a")
    assert str(freshness.missing("owner")) == "pods still shows ns/a, which is gone"
    writer.remove(Object(terminating))
    assert freshness.missing("owner") is None


def test_what_nobody_caches_needs_no_waiting() -> None:
    freshness, _ = prepared()
    freshness.wrote("owner", SERVICE, written("svc", 99))
    assert freshness.missing("owner") is None


def test_a_write_that_the_caches_selector_hides_is_a_bug_told_at_once() -> None:
    freshness, _ = prepared(SELECTED)
    with pytest.raises(InvisibleWriteError, match="no cache of pods would show ns/a"):
        freshness.wrote("owner", POD, written("a", 12))
    freshness.wrote("owner", POD, written("b", 12, app="ray"))
    assert freshness.missing("owner") is not None


def test_a_restored_server_has_forgotten_the_write() -> None:
    freshness, writer = prepared()
    freshness.wrote("owner", POD, written("a", 1000))
    writer.replace([], 20, went_back=True)
    assert freshness.missing("owner") is None


def test_a_view_that_is_lost_is_not_waited_for_and_has_to_show_the_write_when_it_is_back() -> None:
    caches = Caches()
    writer = CacheWriter(caches.questioned(PODS))
    writer.replace([Object(written("b", 9))], 10)
    freshness = Freshness(caches)
    freshness.wrote("owner", POD, written("a", 12))
    freshness.deleted("owner", POD, Key("ns", "b"), "b")
    writer.refuse("pods is forbidden")
    assert freshness.missing("owner") is None
    writer.accept()
    assert str(freshness.missing("owner")) == "pods at 10, written at 12"


def test_readers_that_believe_a_lost_view_wait_for_it() -> None:
    freshness, writer = prepared()
    freshness.wrote("owner", POD, written("a", 12))
    writer.refuse("pods is forbidden")
    assert freshness.missing("owner") is not None


def test_a_condition_of_ones_own_is_waited_for() -> None:
    freshness, _ = prepared()
    bound: list[str] = []
    freshness.until("pod", lambda: bool(bound), "ns/a is not shown as bound")
    assert str(freshness.missing("pod")) == "ns/a is not shown as bound"
    bound.append("node")
    assert freshness.missing("pod") is None


def test_doubts_stay_until_each_is_settled() -> None:
    freshness, _ = prepared()
    one, two = (Unsettled(Ref("v1", "Pod", "ns", name), "", 5.0) for name in "ab")
    freshness.doubt("owner", one)
    freshness.doubt("owner", two)
    freshness.settled("owner", one)
    assert freshness.unsettled("owner") == (two,)
    freshness.forget("owner")
    assert freshness.unsettled("owner") == ()
