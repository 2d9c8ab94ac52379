"""A cache against a dictionary: whatever is put, removed and replaced, readers, indexes and listeners agree."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.objects import Key, Metadata, Object, OwnerReference
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import Cache, CachedKind, CacheWriter
from heliostat.runtime.caches import Caches

PODS: CachedKind[Object] = CachedKind(ResourceType("v1", "Pod", "pods"), Object)


def pod(name: str, revision: int, owner: str = "", namespace: str = "ns") -> Object:
    owners = (OwnerReference("batch/v1", "Job", "j", owner, controller=True),) if owner else ()
    return Object(
        Metadata(name=name, namespace=namespace, uid=name, resource_version=str(revision), owner_references=owners)
    )


def filled(*items: Object) -> tuple[Cache[Object], CacheWriter[Object]]:
    cache = Cache(PODS)
    writer = CacheWriter(cache)
    writer.replace(items, 10)
    return cache, writer


def test_a_cache_is_synced_with_its_first_list_even_an_empty_one() -> None:
    cache = Cache(PODS)
    assert not cache.synced.is_set()
    CacheWriter(cache).replace([], 5)
    assert cache.synced.is_set()
    assert cache.revision == 5


def test_owners_and_namespaces_are_indexed() -> None:
    cache, writer = filled(pod("a", 1, "u1"), pod("b", 2, "u1"), pod("c", 3, "u2", namespace="other"))
    assert [item.metadata.name for item in cache.owned_by("u1")] == ["a", "b"]
    assert [item.metadata.name for item in cache.in_namespace("other")] == ["c"]
    writer.put(pod("a", 11, "u2"))
    assert [item.metadata.name for item in cache.owned_by("u1")] == ["b"]
    writer.remove(pod("b", 12, "u1"))
    assert cache.owned_by("u1") == []


def test_an_index_added_later_knows_what_is_there() -> None:
    cache, _ = filled(pod("a", 1))
    index = cache.add_index(lambda item: (item.metadata.name[0],))
    assert [item.metadata.name for item in index.at("a")] == ["a"]
    assert index.has("a")
    assert not index.has("b")


def test_a_relist_tells_the_difference_and_nothing_else() -> None:
    cache, writer = filled(pod("same", 1), pod("changed", 2), pod("gone", 3))
    told: list[tuple[str, str]] = []
    cache.subscribe(lambda before, after: told.append((_name(before), _name(after))))
    told.clear()
    writer.replace([pod("same", 1), pod("changed", 20), pod("new", 21)], 30)
    assert told == [("gone@3", ""), ("changed@2", "changed@20"), ("", "new@21")]


def test_a_later_listener_hears_what_is_there() -> None:
    cache, _ = filled(pod("a", 1))
    told: list[str] = []
    cache.subscribe(lambda _before, after: told.append(_name(after)))
    assert told == ["a@1"]


def test_controllers_that_declare_the_same_kind_share_its_cache() -> None:
    caches = Caches()
    assert caches.of(PODS) is caches.of(CachedKind(ResourceType("v1", "Pod", "pods"), Object))
    selected: CachedKind[Object] = CachedKind(PODS.resource, Object, label_selector="a=b")
    assert caches.of(selected) is not caches.of(PODS)


def _name(item: Object | None) -> str:
    return f"{item.metadata.name}@{item.metadata.resource_version}" if item else ""


OWNERS = st.sampled_from(["", "u1", "u2"])
NAMES = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, OWNERS),
        st.tuples(st.just("remove"), NAMES, OWNERS),
        st.tuples(st.just("replace"), st.lists(st.tuples(NAMES, OWNERS), max_size=4), st.just("")),
    ),
    max_size=30,
)


@given(STEPS)
def test_readers_indexes_and_listeners_agree_with_a_dictionary(steps: list[tuple[str, Any, str]]) -> None:
    cache, writer = filled()
    heard: dict[Key, Object] = {}

    def listen(before: Object | None, after: Object | None) -> None:
        item = after or before
        assert item is not None
        assert heard.get(item.metadata.key) == before
        if after is None:
            del heard[item.metadata.key]
        else:
            heard[item.metadata.key] = after

    cache.subscribe(listen)
    model: dict[Key, Object] = {}
    for revision, (step, value, owner) in enumerate(steps, 11):
        if step == "replace":
            items = [pod(name, revision, its) for name, its in value]
            model = {item.metadata.key: item for item in items}
            writer.replace(items, revision)
        elif step == "put":
            item = pod(value, revision, owner)
            model[item.metadata.key] = item
            writer.put(item)
        else:
            model.pop(Key("ns", value), None)
            writer.remove(pod(value, revision, owner))
    assert {item.metadata.key: item for item in cache} == model == heard
    for uid in ("u1", "u2"):
        expected = {key for key, item in model.items() if any(o.uid == uid for o in item.metadata.owner_references)}
        assert {item.metadata.key for item in cache.owned_by(uid)} == expected
